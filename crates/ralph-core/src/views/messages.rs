//! One-line messages for people.

use crate::evidence::receipt::{self, ReceiptStatus};
use crate::evidence::{completion_feedback, observed, review};
use crate::modes::{mode, shared};
use crate::shell::word;
use crate::state::{Criterion, Ending, EndingKind, LoopState, PauseCause};
use crate::tasks::graph;
use crate::text::plural;
use jiff::Timestamp;

/// A message with our name in front, as the client shows it.
pub fn line(text: &str) -> String {
    format!("Ralph: {text}")
}

/// Names the fields that the client's events lack; a loop that depends on them works worse.
pub fn fields_missing(fields: &[&str]) -> String {
    let names: Vec<String> = fields.iter().map(|field| format!("`{field}`")).collect();
    format!("{SENDS_NO} {}, on which the loop depends; run `ralph doctor`", names.join(", "))
}

const SENDS_NO: &str = "this version of Claude Code sends no";

/// The reports of [`fields_missing`] among the errors of a loop.
pub fn reported_missing(state: &LoopState) -> impl Iterator<Item = &str> {
    let messages = state.errors.iter().map(|error| error.message.as_str());
    messages.filter(|message| message.starts_with(SENDS_NO))
}

/// Who stopped a loop, if it may have been a process that the model has detached; `names` are those of
/// the process and its ancestors.
pub fn unplaced(names: &str) -> String {
    format!("{BY_UNPLACED} ({names})")
}

const BY_UNPLACED: &str = "from the command line, by a process that Ralph cannot place";

/// `paused at 3/25 (interrupted); /ralph continues`. If a person must do something, says what.
pub fn paused(state: &LoopState) -> String {
    let (cause, what) = match &state.pause {
        Some(pause) if pause.cause == PauseCause::BlockedOnHuman => {
            (format!(" ({})", pause.cause), format!(" {}\nWhen it is done,", pause.detail))
        }
        Some(pause) if pause.cause == PauseCause::Tampered => {
            (format!(": {}. If that was not you, undo it;", pause.detail), String::new())
        }
        Some(pause) if pause.cause == PauseCause::Mod => {
            (format!(": {};", pause.detail), String::new())
        }
        Some(pause) if pause.cause != PauseCause::Person => {
            (format!(" ({});", pause.cause), String::new())
        }
        Some(pause) if pause.detail.starts_with(BY_UNPLACED) => {
            (format!(" {};", pause.detail), String::new())
        }
        _ => (";".to_owned(), String::new()),
    };
    let colon = if what.is_empty() { "" } else { ":" };
    let (_, position) = what_and_where(state);
    format!(
        "paused at {position}{cause}{colon}{what} {} continues",
        mode::rules(&state.mode).resume_command(state)
    )
}

/// The noun for the loop and its position in its own count: consensus planning counts
/// rejections.
pub fn what_and_where(state: &LoopState) -> (&'static str, String) {
    let mode = mode::rules(&state.mode);
    (mode.noun(), mode.position(state))
}

/// How the loop ended, which criteria hold, how long it took, and what to do next:
/// `Ralph: done in 4 turns, 12 min. npm test: 41 tests pass; 3 of them fail without the change.`
pub fn ended(state: &LoopState) -> String {
    let Some(ending) = &state.ending else { return line("the loop has ended") };
    let mut facts = vec![turns(state), lasted(state, ending.at)];
    facts.retain(|fact| !fact.is_empty());
    let facts = facts.join(", ");
    let how = how_it_ended(state, ending);
    let mut text = match (&ending.kind, achieved(state)) {
        (EndingKind::Complete, _) if observed::is_any(state) => {
            let tasks = capital(&graph::summary(&state.task_graph, ending.at).describe());
            let parts = [tasks, shown(state)].into_iter().filter(|part| !part.is_empty());
            let parts: String = parts.map(|part| format!(" {part}.")).collect();
            line(&format!("{how} in {facts}.{parts}"))
        }
        (EndingKind::Complete, achieved) if !achieved.is_empty() => {
            line(&format!("{how}. {achieved}, {facts}."))
        }
        (EndingKind::Cancelled, _) if state.started_at.is_none() && state.iteration == 0 => {
            line(&format!("{how} before it started."))
        }
        (EndingKind::Cancelled, _) => line(&format!("{how} after {facts}.")),
        (EndingKind::MaxIterations, achieved) => {
            let (noun, limit) = (mode::rules(&state.mode).noun(), limit(state));
            let noun = if noun == "loop" { String::new() } else { format!("{noun} ") };
            let achieved = if achieved.is_empty() { achieved } else { format!(" {achieved}.") };
            line(&format!("{noun}stopped after {facts}: {limit}.{achieved}"))
        }
        (_, achieved) if achieved.is_empty() => line(&format!("{how}, after {facts}.")),
        (_, achieved) => line(&format!("{how}, after {facts}. {achieved}.")),
    };
    for part in [warnings(state), reviews(state), next_command(state)] {
        if !part.is_empty() {
            text.push('\n');
            text.push_str(&part);
        }
    }
    text
}

/// `4 turns`, or `3 rounds` of fresh clients; empty where there was none, and in a mode that counts
/// something else.
pub fn turns(state: &LoopState) -> String {
    match state.rounds as usize {
        _ if !mode::rules(&state.mode).counts_turns()
            || shared::read_membership(state).is_some() =>
        {
            String::new()
        }
        0 if state.round.is_some() || state.session_id.is_empty() => String::new(),
        0 => plural::counted(state.iteration as usize + 1, "turn", "turns"),
        rounds => plural::counted(rounds, "round", "rounds"),
    }
}

/// How far a loop is: its position, or the turns or rounds of one that has ended.
pub fn place(state: &LoopState) -> String {
    match turns(state) {
        turns if state.ending.is_some() && !turns.is_empty() => turns,
        _ => what_and_where(state).1,
    }
}

/// `loop L is paused after 2 rounds`: the beginning of a run's last line.
pub fn paused_run(state: &LoopState) -> String {
    let after = match turns(state).as_str() {
        "" => String::new(),
        turns => format!(" after {turns}"),
    };
    format!("loop {} is paused{after}", state.loop_id)
}

/// The limit that `max_iterations` is: the loop continues exactly that many times.
fn limit(state: &LoopState) -> String {
    let most = state.max_iterations as usize;
    match mode::rules(&state.mode).counts_turns() && state.rounds == 0 {
        true => format!("continued {}, the limit", plural::counted(most, "time", "times")),
        false => format!("the limit is {most}"),
    }
}

fn how_it_ended(state: &LoopState, ending: &Ending) -> String {
    let detail = ending.detail.trim_end_matches('.');
    let with_detail = |word: &str| match detail {
        "" => word.to_owned(),
        detail => format!("{word}: {detail}"),
    };
    let how = match &ending.kind {
        EndingKind::Complete => "done".to_owned(),
        EndingKind::CompleteUnverified if observed::is_any(state) => {
            with_detail("done, without proof")
        }
        EndingKind::CompleteUnverified => "done, without proof".to_owned(),
        EndingKind::Budget => with_detail("stopped"),
        EndingKind::Cancelled if detail.starts_with(BY_UNPLACED) => format!("cancelled {detail},"),
        // The detail of a usual cancel says who cancelled; the user knows that.
        EndingKind::Cancelled
            if ["by the user", "by a person"].iter().any(|by| detail.starts_with(by))
                || detail == "in a terminal" =>
        {
            "cancelled".to_owned()
        }
        EndingKind::AwaitingFeedback => with_detail("waiting for your feedback"),
        EndingKind::Approved => "plan approved".to_owned(),
        EndingKind::Discarded => "plan discarded".to_owned(),
        kind => with_detail(kind.as_str()),
    };
    match mode::rules(&state.mode).noun() {
        "loop" => how,
        _ if matches!(ending.kind, EndingKind::Approved | EndingKind::Discarded) => how,
        noun => format!("{noun} {how}"),
    }
}

/// Added if the loop ended before the model had received all signals from the user.
pub fn undelivered(n: usize) -> String {
    match n {
        0 => String::new(),
        1 => "\nOne signal was not delivered: the loop ended before.".to_owned(),
        n => format!("\n{n} signals were not delivered: the loop ended before."),
    }
}

/// The loop's working time: `40 s`, `12 min`, `7 h 5 min`.
pub fn lasted(state: &LoopState, until: Timestamp) -> String {
    plural::lasted(i64::try_from(state.worked_seconds(until)).unwrap_or(i64::MAX))
}

/// The finished tasks and the criteria that hold, with what is wrong with the others:
/// `2 of 3 criteria hold: AC-3 fails`.
pub fn achieved(state: &LoopState) -> String {
    let at = state.ending.as_ref().map_or(state.updated_at, |ending| ending.at);
    let mut parts = vec![graph::summary(&state.task_graph, at).describe(), holding(state)];
    parts.retain(|part| !part.is_empty());
    capital(&parts.join(", "))
}

/// Begins a sentence.
fn capital(text: &str) -> String {
    let first = text.chars().next().map_or(0, char::len_utf8);
    format!("{}{}", text[..first].to_uppercase(), &text[first..])
}

/// What the criteria of a complete loop showed, in the figures of their runners.
pub fn shown(state: &LoopState) -> String {
    const MOST: usize = 4;
    let all = &state.acceptance_criteria;
    let reviewed = all.iter().filter(|one| one.review.is_some()).count();
    let commands: Vec<&Criterion> = all.iter().filter(|one| one.review.is_none()).collect();
    let told = commands.iter().take(MOST);
    let told = told.map(|one| observed::sentence(one, receipt::criterion_status(one, None)));
    let mut parts: Vec<String> = told.collect();
    if commands.len() > MOST {
        parts.push(plural::counted(commands.len() - MOST, "more passes", "more pass"));
    }
    if reviewed > 0 {
        parts.push(plural::counted(reviewed, "criterion reviewed", "criteria reviewed"));
    }
    parts.join(". ")
}

/// Which criteria hold, and what is wrong with the others.
pub fn holding(state: &LoopState) -> String {
    let all = &state.acceptance_criteria;
    let open: Vec<String> = all.iter().filter(|one| !one.verified).map(unproven).collect();
    let is_over = state.ending.as_ref().is_some_and(|end| end.kind == EndingKind::Complete);
    let mut commands = all.iter().filter(|one| one.review.is_none());
    let is_proven = is_over
        && commands.all(|one| receipt::criterion_status(one, None) == ReceiptStatus::Proven);
    let (proven, reviewed) = receipt::count_met(all);
    match (all.len(), open.len()) {
        (0, _) => String::new(),
        (_, 0) if reviewed > 0 => match (is_proven, proven) {
            (_, 0) => plural::counted(reviewed, "criterion reviewed", "criteria reviewed"),
            (true, proven) => format!("{proven} proven, {reviewed} reviewed"),
            (false, _) => {
                format!("{}, {reviewed} reviewed", plural::counted(proven, "holds", "hold"))
            }
        },
        (1, 0) if is_proven => "the criterion is proven".to_owned(),
        (1, 0) => "the criterion holds".to_owned(),
        (1, _) => format!("the criterion does not hold: {}", open.join("")),
        (n, 0) => {
            let all = if n == 2 { "both".to_owned() } else { format!("all {n}") };
            let hold = if is_proven { "proven" } else { "hold" };
            format!("{all} {} {hold}", plural::noun(n, "criterion", "criteria"))
        }
        (n, left) => format!("{} of {n} criteria hold: {}", n - left, open.join("; ")),
    }
}

fn unproven(criterion: &Criterion) -> String {
    let id = &criterion.id;
    match receipt::criterion_status(criterion, None) {
        // It held in its last run and has not been checked since.
        ReceiptStatus::Passes if receipt::is_of_proof(criterion) => {
            format!("{id} passed when it was last run")
        }
        ReceiptStatus::Passes => format!("{id} passed in `ralph verify` only"),
        ReceiptStatus::Reviewed if receipt::is_of_proof(criterion) => {
            format!("{id} held when it was last reviewed")
        }
        ReceiptStatus::NotRun if criterion.review.is_some() => format!("{id} was not reviewed"),
        ReceiptStatus::NotRun => format!("{id} was not run"),
        ReceiptStatus::Failed if criterion.review.is_none() => {
            let failing = completion_feedback::failing_tests(criterion);
            match failing.trim_end() {
                "" => format!("{id} fails"),
                failing => failing.to_owned(),
            }
        }
        standing => format!("{id} {}", completion_feedback::why(criterion, standing, &[])),
    }
}

/// What the user must know besides `complete`.
pub fn warnings(state: &LoopState) -> String {
    let mut parts = completion_feedback::changes(state);
    let before: Vec<&str> = state
        .acceptance_criteria
        .iter()
        .filter(|criterion| criterion.held_before && criterion.observed.without.is_none())
        .map(|criterion| criterion.id.as_str())
        .collect();
    if !before.is_empty() {
        parts.push(format!(
            "Held already before the work, so no proof of it: {}.",
            before.join(", ")
        ));
    }
    parts.extend(observed::named(state));
    parts.join(" ")
}

/// What reviewers found; empty without a review.
fn reviews(state: &LoopState) -> String {
    match review::summary(&state.reviews).as_str() {
        "" => String::new(),
        found => format!("{found}; `ralph report --loop {}` lists them.", state.loop_id),
    }
}

/// The command to type after the loop has ended.
pub fn next_command(state: &LoopState) -> String {
    let id = &state.loop_id;
    let Some(ending) = &state.ending else { return String::new() };
    if let Some(command) = mode::rules(&state.mode).after_end(state, &ending.kind) {
        return command;
    }
    match ending.kind {
        EndingKind::Complete | EndingKind::Cancelled => String::new(),
        EndingKind::CompleteUnverified => {
            format!("Check the work yourself; `ralph explain --loop {id}` shows the last decision.")
        }
        EndingKind::MaxIterations | EndingKind::Budget => {
            "/ralph \"…\" with a higher limit starts again.".to_owned()
        }
        EndingKind::Approved => {
            "/ralph in Claude Code carries the plan out, or `ralph run --planned` in a terminal."
                .to_owned()
        }
        EndingKind::Stalled => format!(
            "`ralph explain 3 --loop {id}` shows the last decisions; change the task before you \
             start again."
        ),
        EndingKind::Plateau
        | EndingKind::Discarded
        | EndingKind::AwaitingFeedback
        | EndingKind::Failed
        | EndingKind::Other(_) => format!("`ralph status --loop {id}` shows it."),
    }
}

// What the user reads of a loop whose state cannot be used, and what to type.

/// What the user reads on the screen: the cause, and what to type.
pub fn unusable(why: &str, home: &str) -> String {
    let repair = repair(why, home);
    format!(
        "the state of this session's loop cannot be used: {why}. The session may only read until then. \
         {repair}, then type /ralph; or type /ralph-cancel to end the loop"
    )
}

/// Why no other loop starts in such a session.
pub fn no_start(why: &str, home: &str) -> String {
    let repair = repair(why, home);
    format!(
        "the state of this session's loop cannot be used: {why}. {repair}, or end that loop first with \
         /ralph-cancel; nothing was started"
    )
}

fn repair(why: &str, home: &str) -> String {
    match () {
        () if why.contains("can be written by others") => {
            format!("Type `chmod -R go-w {}` in a terminal", word(home))
        }
        () if why.contains("newer Ralph") => "Update Ralph".to_owned(),
        () if why.contains("belongs to another user") => {
            format!("Give `{home}` back to your user with `chown -R`")
        }
        () => "Repair that file".to_owned(),
    }
}

/// Like [`unusable`], for a step that failed although the state can be read: a full disk, or a lock
/// that is held.
pub fn step_failed(why: &str) -> String {
    let cause = match () {
        () if why.contains("No space left") => "Make room on the disk",
        () if why.contains("Read-only file system") => "Make the disk writable",
        () if why.contains("quota") => "Make room within the quota",
        () => "Repair that",
    };
    format!(
        "{why}. The loop was not continued, and nothing of it is lost. {cause}, then type /ralph; or type \
         /ralph-cancel to end the loop"
    )
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod messages_tests {
    #[test]
    fn what_was_not_delivered_is_counted() {
        let told = [0, 1, 2].map(super::undelivered);
        assert_eq!(told[0], "");
        assert!(told[1].starts_with("\nOne signal was not delivered"), "{}", told[1]);
        assert!(told[2].starts_with("\n2 signals were not delivered"), "{}", told[2]);
    }

    use super::*;
    use crate::state::{CriterionRunner, Observation, Observed, Outcome, Phase, Receipt};

    #[test]
    fn an_observed_end_says_what_was_proven_in_the_figures_of_the_runner() {
        let run = |outcome, tests_run, tests_failed| {
            Some(Observation {
                outcome,
                tests_run: Some(tests_run),
                tests_failed,
                ..Observation::default()
            })
        };
        let observed = Observed {
            tree: "t".to_owned(),
            original: run(Outcome::Passed, 38, 0),
            without: run(Outcome::Failed, 41, 3),
            ..Observed::default()
        };
        let receipt = Receipt {
            command: "npm test".to_owned(),
            passed: true,
            exit_code: Some(0),
            tests_run: Some(41),
            tests_reported: true,
            tree_before: "t".to_owned(),
            tree_after: "t".to_owned(),
            by: CriterionRunner::Hook,
            ..Receipt::default()
        };
        let criterion = Criterion {
            id: "AC-1".to_owned(),
            verification_command: "npm test".to_owned(),
            receipt: Some(receipt),
            observed,
            ..Criterion::default()
        };
        let mut state = LoopState {
            acceptance_criteria: vec![criterion],
            iteration: 3,
            session_id: "s".to_owned(),
            ..LoopState::default()
        };
        state.end(EndingKind::Complete, "1 proven", Timestamp::from_second(720).unwrap());
        assert_eq!(
            ended(&state),
            "Ralph: done in 4 turns, 12 min. npm test: 41 tests pass; 3 of them fail without the change; the 38 \
             original ones still pass."
        );
    }

    #[test]
    fn a_pause_names_where_why_and_how_to_continue() {
        let mut state =
            LoopState { phase: Phase::Implementation, iteration: 3, ..LoopState::default() };
        state.pause(PauseCause::Person, "", Timestamp::UNIX_EPOCH);
        assert_eq!(paused(&state), "paused at 3/25; /ralph continues");
        state.rounds = 3;
        assert_eq!(paused(&state), "paused at 3/25; `ralph run` continues");
        state.rounds = 0;
        state.pause.as_mut().unwrap().cause = PauseCause::HostCapped;
        assert_eq!(paused(&state), "paused at 3/25 (host_capped); /ralph continues");
        let pause = state.pause.as_mut().unwrap();
        pause.cause = PauseCause::BlockedOnHuman;
        pause.detail = "create the key".to_owned();
        assert_eq!(
            paused(&state),
            "paused at 3/25 (blocked_on_human): create the key\nWhen it is done, /ralph continues"
        );
    }

    fn ended_as(kind: EndingKind, detail: &str, state: LoopState) -> String {
        let mut state = LoopState { loop_id: "L".to_owned(), ..state };
        state.end(kind, detail, Timestamp::from_second(120).unwrap());
        ended(&state)
    }

    fn criterion(id: &str, verified: bool) -> Criterion {
        Criterion {
            id: id.to_owned(),
            verified,
            verification_command: "make".to_owned(),
            ..Criterion::default()
        }
    }

    fn with(criteria: &[bool]) -> LoopState {
        let criteria = criteria.iter().enumerate();
        let acceptance_criteria = criteria
            .map(|(at, verified)| criterion(&format!("AC-{}", at + 1), *verified))
            .collect();
        let (iteration, max_iterations, session_id) = (2, 5, "s".to_owned());
        LoopState {
            acceptance_criteria,
            iteration,
            max_iterations,
            session_id,
            ..LoopState::default()
        }
    }

    #[test]
    fn a_proven_end_is_one_line_of_success() {
        let done = |criteria: &[bool]| ended_as(EndingKind::Complete, "x", with(criteria));
        assert_eq!(done(&[true]), "Ralph: done. The criterion holds, 3 turns, 2 min.");
        assert_eq!(done(&[true, true]), "Ralph: done. Both criteria hold, 3 turns, 2 min.");
        assert_eq!(done(&[true; 3]), "Ralph: done. All 3 criteria hold, 3 turns, 2 min.");
        let told = |change: fn(&mut LoopState)| {
            let mut state = LoopState { iteration: 0, ..with(&[true]) };
            change(&mut state);
            ended_as(EndingKind::Complete, "", state)
        };
        assert!(told(|_| ()).contains("holds, 1 turn, 2 min."));
        assert!(told(|state| state.rounds = 2).contains("holds, 2 rounds, 2 min."));
        assert!(told(|state| state.session_id.clear()).contains("holds, 2 min."));
    }

    #[test]
    fn every_other_end_says_why_what_holds_and_what_to_type() {
        let ended = |kind, detail, criteria: &[bool]| ended_as(kind, detail, with(criteria));
        assert_eq!(
            ended(EndingKind::MaxIterations, "went on 5 times", &[true, false]),
            "Ralph: stopped after 3 turns, 2 min: continued 5 times, the limit. 1 of 2 criteria \
             hold: AC-2 was not run.\n/ralph \"…\" with a higher limit starts again."
        );
        assert_eq!(
            ended(EndingKind::Stalled, "no change at 3 stops in a row", &[false]),
            "Ralph: stalled: no change at 3 stops in a row, after 3 turns, 2 min. The criterion \
             does not hold: AC-1 was not run.\n`ralph explain 3 --loop L` shows the last \
             decisions; change the task before you start again."
        );
        assert!(
            ended(EndingKind::Budget, "ran long", &[true])
                .contains("stopped: ran long, after 3 turns, 2 min. The criterion holds.")
        );
        assert_eq!(
            ended(EndingKind::Cancelled, "by a person in this session", &[false]),
            "Ralph: cancelled after 3 turns, 2 min."
        );
        assert!(ended(EndingKind::CompleteUnverified, "", &[]).starts_with(
            "Ralph: done, without proof, after 3 turns, 2 min.\nCheck the work yourself"
        ));
    }

    #[test]
    fn a_criterion_that_fails_names_its_test() {
        let mut failed = criterion("AC-2", false);
        let told = |failed: &Criterion| {
            achieved(&LoopState {
                acceptance_criteria: vec![criterion("AC-1", true), failed.clone()],
                ..LoopState::default()
            })
        };
        let command = "make".to_owned();
        failed.receipt = Some(Receipt { command, ..Receipt::default() });
        assert_eq!(told(&failed), "1 of 2 criteria hold: AC-2 fails");
        failed.receipt.as_mut().unwrap().failing = vec!["parses ISO weeks".to_owned()];
        assert_eq!(told(&failed), "1 of 2 criteria hold: AC-2 fails: `parses ISO weeks`");
    }

    #[test]
    fn what_was_no_proof_stands_below_the_ending() {
        let mut state = with(&[true, false]);
        state.acceptance_criteria[0].held_before = true;
        let text = ended_as(EndingKind::Stalled, "nothing moved", state);
        assert!(text.contains("Held already before the work, so no proof of it: AC-1."), "{text}");
    }

    #[test]
    fn the_time_is_told_in_the_unit_that_fits() {
        let after =
            |seconds| lasted(&LoopState::default(), Timestamp::from_second(seconds).unwrap());
        assert_eq!([after(40), after(720), after(25_500)], ["40 s", "12 min", "7 h 5 min"]);
        assert_eq!(after(-5), "0 s");
    }

    #[test]
    fn what_was_achieved_leaves_out_what_there_is_none_of() {
        let with = |acceptance_criteria, tasks: Vec<_>| {
            let task_graph = tasks.into();
            achieved(&LoopState { acceptance_criteria, task_graph, ..LoopState::default() })
        };
        let by = CriterionRunner::Hook;
        let command = "make".to_owned();
        let held = Criterion {
            receipt: Some(Receipt { passed: true, by, command, ..Receipt::default() }),
            ..criterion("AC-1", false)
        };
        let task = || vec![crate::state::Task::default()];
        assert_eq!(with(vec![], vec![]), "");
        assert_eq!(with(vec![], task()), "0 of 1 task done");
        assert_eq!(
            with(vec![criterion("AC-1", true)], task()),
            "0 of 1 task done, the criterion holds"
        );
        assert_eq!(
            with(vec![held], vec![]),
            "The criterion does not hold: AC-1 passed when it was last run"
        );
        assert_eq!(warnings(&LoopState::default()), "");
        assert_eq!(ended(&LoopState::default()), "Ralph: the loop has ended");
        assert_eq!(next_command(&LoopState::default()), "");
    }
}

#[cfg(test)]
mod unusable_tests {
    use super::*;

    #[test]
    fn the_person_is_told_what_to_type() {
        let text = unusable("`/h/state.json` can be written by others; run", "/h o");
        assert!(
            text.contains("`chmod -R go-w '/h o'`") && text.contains("/ralph-cancel"),
            "{text}"
        );
        assert!(step_failed("could not write `x`: No space left on device").contains("Make room"));
    }
}
