//! The text that the model receives: the loop prompt, and at each stop one line and its details.
//!
//! The whole contract is repeated whenever the model may have lost it (start, continue, resume,
//! compaction, `/clear`), so its length is limited. The goal is cut before the rules are.

use crate::evidence::receipt::{self, Proof, ReceiptStatus};
use crate::evidence::tests_run::without_frames;
use crate::evidence::{completion_feedback, pinned};
use crate::modes::{build, mode};
use crate::state::{Completion, Criterion, LoopState, Progress, Signal, Task, TaskDigest, Worker};
use crate::stop::NextStep;
use crate::stop::progress::in_a_row;
use crate::tasks::graph;
use crate::text::plural::{counted, noun};
use crate::text::token::CompletionRequest;
use crate::text::truncate::{self, bounded};
use jiff::Timestamp;
use std::fmt::Write;

/// Maximum length of the whole contract, in bytes.
pub const CONTRACT_LIMIT: usize = 2_048;

/// Maximum length of the details after a stop, in UTF-16 units.
pub const STEP_LIMIT: usize = 2_000;

/// Maximum length of the goal in bytes, if there is room and if there is little.
const GOAL_LIMIT: usize = 420;
const GOAL_AT_LEAST: usize = 160;

const LINE_LIMIT: usize = 120;
const CRITERIA_SHOWN: usize = 4;
const TAIL_LIMIT: usize = 200;
const STEER_LIMIT: usize = 160;

/// The next step for the session of a parallel loop.
const NEXT_OF_WORKERS: &str = "Next: run `ralph parallel next` and do what it says.";

/// The next step for the session of a parallel loop that has no tasks yet.
const NO_TASKS_YET: &str = "Next: there are no tasks yet, and without tasks this loop cannot \
    complete. Read what the goal names, bring its work into the graph with `ralph plan-sync`, and then run \
    `ralph parallel next`.";

/// A criterion that held before the work proves nothing about the work.
const PROVES_NOTHING: &str = "Ralph runs them without your change, too, and there they must fail: if all pass already, \
    first add a test that fails today.\n";

/// Maximum length, in bytes, of the text before a contract that is repeated at a stop.
const BEFORE_CONTRACT: usize = 600;

/// The prompt of a plain loop.
pub(super) fn of_loop(
    heading: &str,
    state: &LoopState,
    steers: &[String],
    now: Timestamp,
) -> String {
    let mut rest = criteria(state);
    if state.baseline_pending {
        rest.push_str(
            "First of all run `ralph verify`: the user asked for a baseline before anything changes.\n",
        );
    }
    rest.push_str(&tasks(state, now));
    for steer in steers {
        let _ = writeln!(rest, "The user said: STEER: {}", one_line(steer, STEER_LIMIT));
    }
    rest.push_str(&failed_last(state));
    if !state.refused.is_empty() {
        let _ = writeln!(rest, "Refused last: {}", bounded(&state.refused, 400));
    }
    within(CONTRACT_LIMIT, heading, state, &rest)
}

/// Fits goal, `rest` and rules into `limit` bytes: cuts the goal first, then the end of `rest`.
fn within(limit: usize, heading: &str, state: &LoopState, rest: &str) -> String {
    let (rules, rest) = (rules(state), rest.trim_end());
    let room = limit.saturating_sub(rules.len() + 1);
    let for_goal = room.saturating_sub(heading.len() + "\nGoal: \n".len() + rest.len());
    let goal = one_line(&state.prompt, GOAL_LIMIT);
    let goal = in_bytes(&goal, for_goal.clamp(GOAL_AT_LEAST, GOAL_LIMIT));
    let top = format!("{heading}\nGoal: {goal}\n{rest}");
    format!("{}\n{rules}", in_bytes(&top, room))
}

fn criteria(state: &LoopState) -> String {
    let all = &state.acceptance_criteria;
    let mut text = String::new();
    if all.is_empty() {
        return "Done means: the goal is reached (no acceptance criteria are set).\n".to_owned();
    }
    text.push_str("Done means all of these hold:\n");
    for criterion in all.iter().take(CRITERIA_SHOWN) {
        let _ = writeln!(text, "- {}{}", criterion_line(criterion), last_run(criterion));
    }
    if all.len() > CRITERIA_SHOWN {
        let _ = writeln!(text, "- and {} more: `ralph status`", all.len() - CRITERIA_SHOWN);
    }
    if state.completion != Completion::Token {
        text.push_str(PROVES_NOTHING);
    }
    text
}

/// What the criterion's last receipt recorded. Whether it still holds depends on the work tree, and
/// is checked only when completion is requested.
fn last_run(criterion: &Criterion) -> String {
    match receipt::criterion_status(criterion, None) {
        ReceiptStatus::NotRun => String::new(),
        ReceiptStatus::Passes => ": passed when it was last run".to_owned(),
        ReceiptStatus::Reviewed => ": held when it was last reviewed".to_owned(),
        standing => {
            format!(": {}", bounded(&completion_feedback::why(criterion, standing, &[]), 60))
        }
    }
}

/// The end of the output of the command that failed most recently.
fn failed_last(state: &LoopState) -> String {
    let failed = state.acceptance_criteria.iter().filter_map(|criterion| {
        let receipt = criterion.receipt.as_ref().filter(|receipt| !receipt.passed)?;
        Some((receipt.started_at, criterion, receipt))
    });
    let Some((_, criterion, receipt)) = failed.max_by_key(|(at, ..)| *at) else {
        return String::new();
    };
    if criterion.review.is_some() {
        let why =
            completion_feedback::why(criterion, receipt::criterion_status(criterion, None), &[]);
        return format!("Failed last: {} {why}\n", criterion.id);
    }
    let failing = completion_feedback::failing_tests(criterion);
    let tail = truncate::tail(&without_frames(&receipt.tail), TAIL_LIMIT);
    let id = match receipt.ended.as_str() {
        "" => criterion.id.clone(),
        ended => format!("{} ({ended})", criterion.id),
    };
    match (failing.as_str(), tail.as_str()) {
        ("", "") => format!("Failed last: {id}.\n"),
        ("", tail) => format!("Failed last: {id}, which printed at its end: {tail}\n"),
        (failing, _) => format!("Failed last: {failing}"),
    }
}

fn criterion_line(criterion: &Criterion) -> String {
    let line = format!(
        "{} {}: {}",
        criterion.id,
        one_line(&criterion.description, 80),
        criterion.decided_by_quoted()
    );
    one_line(&line, LINE_LIMIT)
}

fn tasks(state: &LoopState, now: Timestamp) -> String {
    let digest = graph::digest(&state.task_graph, now);
    match &digest.current {
        _ if state.parallel && state.task_graph.is_empty() => format!("{NO_TASKS_YET}\n"),
        _ if state.task_graph.is_empty() => String::new(),
        None => format!("Tasks: {}.\n", digest.summary.describe()),
        Some(_) if state.parallel => {
            format!("Tasks: {}. {NEXT_OF_WORKERS}\n", digest.summary.describe())
        }
        Some(task) => format!("Tasks: {}. {}\n", digest.summary.describe(), next_line(task)),
    }
}

/// The rules of a round for the goal.
fn rules_of_goal_round(state: &LoopState) -> String {
    let end = match state.acceptance_criteria.is_empty() {
        true => how_to_end(state),
        false => {
            "When you end your turn, Ralph itself runs the criteria. If one fails, a new session \
                  goes on from the files; that you say they hold counts for nothing."
                .to_owned()
        }
    };
    format!(
        "Rules: the user is away, so decide yourself and write down what you assumed. This session is \
         one round of at most {}. Work in small steps; after each, check that it works. If you cannot go \
         on without the user, run `ralph blocked 'WHAT THE USER MUST DO'` and stop. {end}",
        state.max_iterations
    )
}

fn rules(state: &LoopState) -> String {
    if build::is_goal_round(state) {
        return rules_of_goal_round(state);
    }
    let of_round = build::task_of_round(state);
    let work = match of_round {
        Some(id) => format!("This session is for task {id} alone: do it and check it."),
        None if state.parallel => format!(
            "Workers do the tasks, at most {} at once, each in a worktree of its own; you start them and \
             merge what they bring, and do no task yourself.",
            state.limits.max_workers
        ),
        None if state.task_graph.is_empty() => {
            "Work in small steps; after each, check that it works.".to_owned()
        }
        None => "Take tasks in order: `ralph task claim`, do the work, `ralph task done ID --note \
                 TEXT` (or `ralph task fail ID --note TEXT`)."
            .to_owned(),
    };
    format!(
        "Rules: the user is away, so decide yourself and write down what you assumed. {work} \
         You are kept going until the work is done, at most {max}; {stall} \
         the loop. If you cannot go on without the user, run \
         `ralph blocked 'WHAT THE USER MUST DO'` and stop. {end}",
        max = counted(state.max_iterations as usize, "time", "times"),
        stall = match state.stall_limit {
            1 => "1 stop without any change ends".to_owned(),
            n => format!("{n} stops in a row without any change end"),
        },
        end = how_to_end(state),
    )
}

/// What the model gets at a stop of a plain loop: one line, and the details.
///
/// If the model requested completion and the loop still goes on, the request was refused; `proof`
/// is the result of the checks, if they could be run.
pub fn next_step(
    state: &LoopState,
    request: CompletionRequest,
    proof: Option<&Proof>,
    now: Timestamp,
) -> NextStep {
    let digest = graph::digest(&state.task_graph, now);
    NextStep::new(
        &state.position(),
        &progress(state, request, &digest),
        &next_in_the_line(state, request, proof, &digest),
        details(state, request, proof, &digest, now),
    )
}

/// The progress in a few words, with what was wrong with the last turn.
fn progress(state: &LoopState, request: CompletionRequest, digest: &TaskDigest) -> String {
    let Progress { signal, standing, same_failure, .. } = &state.progress;
    let mut parts = Vec::new();
    match request {
        CompletionRequest::Made => parts.push("completion refused".to_owned()),
        CompletionRequest::OnlyMentioned => {
            parts.push(format!("{} must stand alone on the last line", state.completion_token));
        }
        CompletionRequest::None => {}
    }
    match signal {
        Signal::SameFailure => parts.push(format!("the same failure {}", in_a_row(*same_failure))),
        Signal::NoChange | Signal::Idle => {
            let limit = counted(state.stall_limit as usize, "stop", "stops");
            parts.push(format!("no change at {standing} of {limit}"));
        }
        _ => {}
    }
    let counts = standing_of(state, digest);
    if !counts.is_empty() {
        parts.push(counts);
    }
    parts.join(", ")
}

/// What to do next, short enough for the line that the user reads as well.
fn next_in_the_line(
    state: &LoopState,
    request: CompletionRequest,
    proof: Option<&Proof>,
    digest: &TaskDigest,
) -> String {
    if state.parallel {
        if state.task_graph.is_empty() {
            return "add tasks with `ralph plan-sync`".to_owned();
        }
        if awaits_workers(state, digest) {
            return "run `ralph parallel next`".to_owned();
        }
    }
    let was_refused = request == CompletionRequest::Made;
    if was_refused && !pinned::is_as_frozen(state) {
        return "`ralph criteria accept` in another terminal, because the criteria changed"
            .to_owned();
    }
    if was_refused && !state.refused.is_empty() {
        return bounded(&state.refused, 240);
    }
    let failed = || completion_feedback::first_failed(state, proof);
    if let Some(criterion) = was_refused.then(failed).flatten() {
        return completion_feedback::what_to_fix(criterion);
    }
    if let Some(task) = &digest.current {
        return format!("{} {}", task.id, one_line(&task.name, LINE_LIMIT));
    }
    if let Some(criterion) = failed() {
        return completion_feedback::what_to_fix(criterion);
    }
    let open = state.acceptance_criteria.iter().find(|criterion| !criterion.verified);
    let last = state
        .acceptance_criteria
        .iter()
        .all(|criterion| receipt::criterion_status(criterion, None).is_met());
    match open {
        Some(_) if last && !was_refused => {
            format!(
                "finish, then end your message with {} alone on its last line",
                state.completion_token
            )
        }
        Some(criterion) if was_refused => {
            let nothing = Proof::default();
            let proof = proof.unwrap_or(&nothing);
            let first = state.acceptance_criteria.iter().find(|one| !proof.proves(one));
            let criterion = first.unwrap_or(criterion);
            let why = completion_feedback::why(criterion, proof.criterion_status(criterion), &[]);
            format!("{} {}", completion_feedback::in_words(criterion), bounded(&why, 160))
        }
        Some(criterion) => {
            let words = completion_feedback::in_words(criterion);
            match receipt::criterion_status(criterion, None) {
                ReceiptStatus::NotRun if criterion.review.is_none() => {
                    format!("{words} has not run yet")
                }
                _ => completion_feedback::to_pass(criterion),
            }
        }
        None => one_line(&state.prompt, LINE_LIMIT),
    }
}

/// The text that follows with the next tool call, which the user does not see.
fn details(
    state: &LoopState,
    request: CompletionRequest,
    proof: Option<&Proof>,
    digest: &TaskDigest,
    now: Timestamp,
) -> String {
    let mut text = match request {
        CompletionRequest::Made => completion_feedback::refusal(state, proof),
        CompletionRequest::OnlyMentioned | CompletionRequest::None => String::new(),
    };
    text.push_str(&completion_feedback::regressions(&state.acceptance_criteria));
    text.push_str(&warning(state));
    if request == CompletionRequest::OnlyMentioned {
        let _ = writeln!(
            text,
            "{token} was in your message, but not alone on its last line, so it requested nothing.",
            token = state.completion_token
        );
    }
    if state.context_lost {
        let before = in_bytes(text.trim_end(), BEFORE_CONTRACT);
        let rest = format!("{}{}{}", criteria(state), tasks(state, now), failed_last(state));
        let room = STEP_LIMIT.saturating_sub(before.len() + 1);
        return format!(
            "{before}\n{}",
            within(room, &mode::rules(&state.mode).continues_line(state), state, &rest)
        )
        .trim_start()
        .to_owned();
    }
    let counts = match standing_of(state, digest).as_str() {
        "" => String::new(),
        counts => format!(" {counts}."),
    };
    let _ = writeln!(text, "Ralph loop at {}.{counts}", state.position());
    let _ = writeln!(text, "{}", next(state, digest));
    let last = how_to_end(state);
    // The last part must not be cut.
    let room = STEP_LIMIT.saturating_sub(last.encode_utf16().count() + 1);
    format!("{}\n{last}", bounded(text.trim_end(), room))
}

/// The warning before a stall ends the loop, while there is still time to work differently.
fn warning(state: &LoopState) -> String {
    let Progress { signal, standing, same_failure, .. } = &state.progress;
    let limit = state.stall_limit;
    match signal {
        Signal::SameFailure => format!(
            "This is the same failure as before, {}; at {limit} the \
             loop ends. Try another way.\n",
            in_a_row(*same_failure)
        ),
        Signal::NoChange | Signal::Idle => format!(
            "Nothing has changed since the stop before ({standing} of {limit} such {}; \
             the last ends the loop). Do the next step with your tools, or tell the user with \
             `ralph blocked 'WHAT'` what they must do.\n",
            noun(limit, "stop", "stops in a row")
        ),
        _ => String::new(),
    }
}

/// How the model ends its work: it closes the task of its round, or requests completion.
fn how_to_end(state: &LoopState) -> String {
    if let Some(id) = build::task_of_round(state) {
        return format!(
            "`ralph task done {id} --note TEXT` (or `ralph task fail {id} --note TEXT`) closes the task; \
             then end your turn."
        );
    }
    let token = &state.completion_token;
    if state.acceptance_criteria.is_empty() || state.completion == Completion::Token {
        return format!(
            "When everything holds and you have seen it hold, end your message with {token} alone \
             on its last line."
        );
    }
    format!(
        "`ralph verify` runs the criteria. When all hold, end your message with {token} alone on \
         its last line; Ralph then runs them itself, and only that is proof."
    )
}

/// `1 of 3 tasks done, 1 of 2 criteria hold`; empty if the loop has neither.
fn standing_of(state: &LoopState, digest: &TaskDigest) -> String {
    let criteria = &state.acceptance_criteria;
    let (hold, reviewed) = receipt::count_met(criteria);
    let mut parts = Vec::new();
    if !state.task_graph.is_empty() {
        parts.push(digest.summary.describe());
    }
    if !criteria.is_empty() {
        let by_review = if reviewed > 0 { format!(", {reviewed} reviewed") } else { String::new() };
        parts.push(format!(
            "{hold} of {} {}{by_review}",
            counted(criteria.len(), "criterion", "criteria"),
            noun(criteria.len(), "holds", "hold")
        ));
    }
    parts.join(", ")
}

/// True while workers have tasks to do or work to be merged.
fn awaits_workers(state: &LoopState, digest: &TaskDigest) -> bool {
    !digest.summary.all_done() || state.workers.iter().any(Worker::awaits_merge)
}

fn next(state: &LoopState, digest: &TaskDigest) -> String {
    if state.parallel {
        if state.task_graph.is_empty() {
            return NO_TASKS_YET.to_owned();
        }
        if awaits_workers(state, digest) {
            return NEXT_OF_WORKERS.to_owned();
        }
    }
    if let Some(task) = &digest.current {
        return next_line(task);
    }
    match state.acceptance_criteria.iter().find(|criterion| !criterion.verified) {
        Some(criterion) => format!("Next: make this hold: {}", criterion_line(criterion)),
        None => format!("Next: continue with the goal: {}", one_line(&state.prompt, GOAL_LIMIT)),
    }
}

fn next_line(task: &Task) -> String {
    let until = match task.completion_condition.as_str() {
        "" => String::new(),
        condition => format!(" — done when {}", one_line(condition, LINE_LIMIT)),
    };
    format!("Next: {} {}{until}", task.id, one_line(&task.name, LINE_LIMIT))
}

/// Cuts the text to `most` bytes; a cut text ends in an ellipsis.
fn in_bytes(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(most.saturating_sub("…".len()));
    format!("{}…", &text[..end])
}

/// Folds white space and cuts the text to `limit` UTF-16 units, on one line.
fn one_line(text: &str, limit: usize) -> String {
    // Fold no more of a long text than can be shown.
    let folded = text.split_whitespace().take(limit).collect::<Vec<_>>().join(" ");
    bounded(&folded, limit)
}

#[cfg(test)]
mod whole_tests;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modes::mode::ModeRules;
    use crate::modes::plain::Plain;
    use crate::state::{Phase, Receipt, TaskStatus};

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn state() -> LoopState {
        LoopState {
            loop_id: "L".to_owned(),
            phase: Phase::Implementation,
            prompt: "Fix the parser".to_owned(),
            iteration: 3,
            acceptance_criteria: vec![Criterion {
                id: "AC-1".to_owned(),
                description: "tests pass".to_owned(),
                verification_command: "cargo test".to_owned(),
                ..Criterion::default()
            }],
            task_graph: vec![
                Task { id: "T-1".to_owned(), status: TaskStatus::Done, ..Task::default() },
                Task { id: "T-3".to_owned(), deps: vec!["T-2".to_owned()], ..Task::default() },
                Task {
                    id: "T-2".to_owned(),
                    name: "lexer".to_owned(),
                    deps: vec!["T-1".to_owned()],
                    completion_condition: "it lexes".to_owned(),
                    ..Task::default()
                },
            ]
            .into(),
            ..LoopState::default()
        }
    }

    #[test]
    fn a_loop_for_workers_is_told_to_ask_what_comes_next() {
        let mut state = LoopState { parallel: true, ..state() };
        let text = of_loop(&Plain.started_line(&state), &state, &[], NOW);
        assert!(text.contains("1 of 3 tasks done. Next: run `ralph parallel next`"), "{text}");
        assert!(text.contains("do no task yourself") && !text.contains("T-2 lexer"), "{text}");
        let step = |state: &LoopState| next_step(state, CompletionRequest::None, None, NOW).details;
        assert!(step(&state).contains("Next: run `ralph parallel next`"), "{}", step(&state));
        state.task_graph.iter_mut().for_each(|task| task.status = TaskStatus::Done);
        assert!(step(&state).contains("Next: make this hold: AC-1"), "{}", step(&state));
        state.workers.push(Worker {
            standing: crate::state::WorkerStanding::Done,
            files: vec!["a".to_owned()],
            ..Worker::default()
        });
        assert!(step(&state).contains("Next: run `ralph parallel next`"), "{}", step(&state));
        state.task_graph.clear();
        let text = of_loop(&Plain.started_line(&state), &state, &[], NOW);
        assert!(text.contains("without tasks this loop cannot complete"), "{text}");
        assert!(step(&state).contains("there are no tasks yet"), "{}", step(&state));
    }

    #[test]
    fn the_contract_names_goal_criteria_task_and_token() {
        let text = of_loop(&Plain.started_line(&state()), &state(), &[], NOW);
        for part in [
            "Ralph loop L started\n",
            "Fix the parser",
            "AC-1 tests pass: `cargo test`\n",
            "Next: T-2 lexer — done when it lexes",
            "assumed. Take tasks in order: `ralph task claim`, do the work, ",
            "RALPH_COMPLETE",
            "1 of 3 tasks done",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn a_loop_that_goes_on_says_where() {
        assert_eq!(Plain.continues_line(&state()), "Ralph loop L continues at 3/25");
    }

    #[test]
    fn criteria_that_are_not_named_are_counted() {
        let more = |n: usize| {
            let mut state = state();
            state.acceptance_criteria = vec![state.acceptance_criteria[0].clone(); n];
            let text = of_loop("", &state, &[], NOW);
            text.lines().find(|line| line.starts_with("- and")).map(str::to_owned)
        };
        assert_eq!(more(4), None);
        assert_eq!(more(6).as_deref(), Some("- and 2 more: `ralph status`"));
    }

    #[test]
    fn a_loop_without_tasks_does_not_speak_of_them() {
        let text = of_loop("", &LoopState { task_graph: Vec::new().into(), ..state() }, &[], NOW);
        assert!(!text.to_lowercase().contains("task"), "{text}");
    }

    #[test]
    fn who_ends_the_loop_is_the_receipts_where_there_are_any_to_look_at() {
        let receipts =
            |state: &LoopState| of_loop("", state, &[], NOW).contains("only that is proof");
        assert!(receipts(&state()));
        assert!(!receipts(&LoopState { completion: Completion::Token, ..state() }));
        assert!(!receipts(&LoopState { acceptance_criteria: Vec::new(), ..state() }));
    }

    #[test]
    fn with_no_task_at_hand_the_first_criterion_that_is_open_is_next() {
        let mut state = LoopState { task_graph: Vec::new().into(), ..state() };
        let open = Criterion { id: "AC-2".to_owned(), ..state.acceptance_criteria[0].clone() };
        state.acceptance_criteria[0].verified = true;
        state.acceptance_criteria.push(open);
        let next = |state: &LoopState| {
            let text = next_step(state, CompletionRequest::None, None, NOW).details;
            text.lines().find(|line| line.starts_with("Next: ")).map(str::to_owned)
        };
        let criterion = "Next: make this hold: AC-2 tests pass: `cargo test`";
        assert_eq!(next(&state).as_deref(), Some(criterion));
        state.acceptance_criteria[1].verified = true;
        assert_eq!(next(&state).as_deref(), Some("Next: continue with the goal: Fix the parser"));
    }

    #[test]
    fn before_a_stall_ends_the_loop_it_is_told_how_near_that_is() {
        let warned = |signal: Signal| {
            let mut state = state();
            state.progress =
                Progress { signal, standing: 1, same_failure: 2, ..Progress::default() };
            let details = next_step(&state, CompletionRequest::None, None, NOW).details;
            details.lines().next().unwrap().to_owned()
        };
        for (signal, begins) in [
            (Signal::SameFailure, "This is the same failure as before, 2 times in a row; at 3 the"),
            (Signal::NoChange, "Nothing has changed since the stop before (1 of 3 such stops"),
            (Signal::Idle, "Nothing has changed since the stop before (1 of 3 such stops"),
            (Signal::Working, "Ralph loop at 3/25."),
            (Signal::Cycle, "Ralph loop at 3/25."),
        ] {
            let line = warned(signal);
            assert!(line.starts_with(begins), "{line}");
        }
    }

    #[test]
    fn a_refusal_of_any_length_leaves_the_way_to_the_end_whole_within_the_limit() {
        let mut long = state();
        let mut criterion = long.acceptance_criteria[0].clone();
        criterion.id = "i".repeat(150);
        long.acceptance_criteria = vec![criterion; 6];
        for criterion in &mut long.acceptance_criteria {
            criterion.turned_red = Some(crate::state::Regression::default());
        }
        let text = next_step(&long, CompletionRequest::Made, None, NOW).details;
        assert_eq!(text.encode_utf16().count(), STEP_LIMIT);
        assert!(text.ends_with(&format!("\n{}", how_to_end(&long))));
    }

    #[test]
    fn a_long_goal_does_not_push_the_rules_out() {
        let mut long = state();
        long.prompt = "x".repeat(100_000);
        long.acceptance_criteria = vec![long.acceptance_criteria[0].clone(); 50];
        for criterion in &mut long.acceptance_criteria {
            criterion.description = "d".repeat(5000);
        }
        long.task_graph[2].name = "n".repeat(5000);
        long.task_graph[2].completion_condition = "c".repeat(5000);
        let text = of_loop(&Plain.continues_line(&long), &long, &["s".repeat(900)], NOW);
        assert!(text.len() <= CONTRACT_LIMIT);
        assert!(text.contains("RALPH_COMPLETE alone on its last line"), "{text}");
        assert!(
            next_step(&long, CompletionRequest::OnlyMentioned, None, NOW)
                .details
                .contains("RALPH_COMPLETE alone")
        );
    }

    #[test]
    fn the_next_step_says_where_the_loop_stands() {
        let text = next_step(&state(), CompletionRequest::None, None, NOW).details;
        assert!(text.starts_with("Ralph loop at 3/25. 1 of 3 tasks done, 0 of 1 criterion holds."));
        assert!(text.contains("Next: T-2"));
    }

    #[test]
    fn a_loop_with_nothing_to_count_has_no_space_at_the_end_of_a_line() {
        let text = next_step(&LoopState::default(), CompletionRequest::None, None, NOW).details;
        assert!(text.starts_with("Ralph loop at 0/25.\n"), "{text}");
    }

    #[test]
    fn a_token_in_the_wrong_place_is_explained() {
        assert!(
            next_step(&state(), CompletionRequest::OnlyMentioned, None, NOW)
                .details
                .starts_with("RALPH_COMPLETE was in your message")
        );
    }

    /// A loop whose criterion's command has run with this result.
    fn ran(passed: bool, tail: &str) -> LoopState {
        let mut state = state();
        let criterion = &mut state.acceptance_criteria[0];
        let command = criterion.verification_command.clone();
        let exit_code = Some(if passed { 0 } else { 101 });
        let tail = tail.to_owned();
        let receipt = Receipt { command, passed, exit_code, tail, ..Receipt::default() };
        receipt::record(criterion, receipt);
        state
    }

    #[test]
    fn the_contract_says_what_the_receipts_said_and_what_failed_last() {
        let text = of_loop("", &ran(false, "left\n  right"), &[], NOW);
        assert!(text.contains("`cargo test`: failed (exit code 101)\n"), "{text}");
        assert!(
            text.contains("Failed last: AC-1, which printed at its end: left right\n"),
            "{text}"
        );
        assert!(of_loop("", &ran(false, ""), &[], NOW).contains("Failed last: AC-1.\n"));
        let text = of_loop("", &ran(true, "ok"), &[], NOW);
        assert!(text.contains(": passed when it was last run"), "{text}");
        assert!(!text.contains("Failed last"), "{text}");
    }

    #[test]
    fn the_contract_repeats_what_the_person_has_said_since() {
        let text = of_loop("", &state(), &["use\ntabs".to_owned()], NOW);
        assert!(text.contains("\nThe user said: STEER: use tabs\n"), "{text}");
    }

    #[test]
    fn the_contract_is_bounded_in_bytes_whatever_the_script() {
        let mut state = ran(false, &"é".repeat(5_000));
        state.prompt = "目".repeat(5_000);
        state.acceptance_criteria[0].description = "目".repeat(5_000);
        for lost in [false, true] {
            state.context_lost = lost;
            let text = match lost {
                true => next_step(&state, CompletionRequest::Made, None, NOW).details,
                false => of_loop("", &state, &["目".repeat(900)], NOW),
            };
            assert!(text.len() <= CONTRACT_LIMIT, "{}", text.len());
            assert!(text.contains("目目") && text.ends_with(&how_to_end(&state)), "{text}");
        }
    }

    #[test]
    fn where_room_is_short_the_goal_gives_way_and_all_of_it_is_used() {
        let mut state = ran(false, "");
        state.prompt = "g".repeat(5_000);
        let rest_of = |n: usize| "r".repeat(n);
        let top = |rest: &str| {
            let text = within(CONTRACT_LIMIT, "heading", &state, rest);
            text.strip_suffix(&format!("\n{}", rules(&state))).unwrap().to_owned()
        };
        let goal = |rest: &str| top(rest).lines().nth(1).unwrap().len() - "Goal: ".len();
        assert_eq!(goal(""), GOAL_LIMIT);
        // Fill everything but the goal, one line longer each time, until the goal is at its
        // shortest.
        let room = CONTRACT_LIMIT - rules(&state).len() - 1 - "heading\nGoal: \n".len();
        assert_eq!(goal(&rest_of(room - GOAL_LIMIT)), GOAL_LIMIT);
        assert_eq!(goal(&rest_of(room - 200)), 200);
        assert_eq!(
            within(CONTRACT_LIMIT, "heading", &state, &rest_of(room - 200)).len(),
            CONTRACT_LIMIT
        );
        assert_eq!(goal(&rest_of(room)), GOAL_AT_LEAST);
        assert_eq!(top(&rest_of(room)).len(), CONTRACT_LIMIT - rules(&state).len() - 1);
    }

    #[test]
    fn what_comes_before_the_contract_takes_its_room_and_no_more() {
        let mut state = LoopState { context_lost: true, ..ran(false, &"t".repeat(900)) };
        state.prompt = "g".repeat(5_000);
        state.acceptance_criteria = vec![state.acceptance_criteria[0].clone(); 4];
        for criterion in &mut state.acceptance_criteria {
            criterion.description = "d".repeat(500);
        }
        let text = next_step(&state, CompletionRequest::Made, None, NOW).details;
        assert_eq!(text.len(), STEP_LIMIT, "{text}");
    }

    #[test]
    fn after_a_compaction_the_next_step_is_the_contract_under_what_must_be_said_first() {
        let lost = LoopState { context_lost: true, ..ran(false, "x") };
        let text = next_step(&lost, CompletionRequest::Made, None, NOW).details;
        assert!(text.starts_with("Completion was requested and is refused"), "{text}");
        assert!(
            text.contains("\nRalph loop L continues at 3/25\nGoal: Fix the parser\n"),
            "{text}"
        );
        let quiet = next_step(&lost, CompletionRequest::None, None, NOW).details;
        assert!(quiet.starts_with("Ralph loop L continues at 3/25\n"), "{quiet}");
    }

    #[track_caller]
    fn check_line(state: &LoopState, request: CompletionRequest, expected: &str) {
        assert_eq!(next_step(state, request, None, NOW).line, expected);
    }

    #[test]
    fn the_line_is_what_a_user_understands_and_a_model_can_act_on() {
        let (none, made) = (CompletionRequest::None, CompletionRequest::Made);
        let tasks = "1 of 3 tasks done, 0 of 1 criterion holds";
        check_line(&state(), none, &format!("Ralph 3/25: {tasks}; next: T-2 lexer"));
        let alone = |state: LoopState| LoopState { task_graph: Vec::new().into(), ..state };
        let open = alone(state());
        check_line(
            &open,
            none,
            "Ralph 3/25: 0 of 1 criterion holds; next: cargo test has not run yet",
        );
        let mut failed = alone(ran(false, "x"));
        check_line(
            &failed,
            none,
            "Ralph 3/25: 0 of 1 criterion holds; next: make cargo test pass (tests pass)",
        );
        let receipt = failed.acceptance_criteria[0].receipt.as_mut().unwrap();
        receipt.error = "error: x".to_owned();
        check_line(
            &failed,
            none,
            "Ralph 3/25: 0 of 1 criterion holds; next: fix cargo test: error: x",
        );
        let receipt = failed.acceptance_criteria[0].receipt.as_mut().unwrap();
        receipt.failing = vec!["parses\nISO weeks".to_owned(), "b".to_owned()];
        receipt.tests_failed = 3;
        let fix = "0 of 1 criterion holds; next: fix `parses ISO weeks` (cargo test)";
        check_line(&failed, none, &format!("Ralph 3/25: {fix}"));
        failed.progress =
            Progress { signal: Signal::SameFailure, same_failure: 2, ..Progress::default() };
        let same = format!("the same failure 2 times in a row, {fix}");
        check_line(&failed, none, &format!("Ralph 3/25: {same}"));
        let passed = alone(ran(true, ""));
        let finish = "finish, then end your message with RALPH_COMPLETE alone on its last line";
        check_line(&passed, none, &format!("Ralph 3/25: 0 of 1 criterion holds; next: {finish}"));
        let goal = LoopState { acceptance_criteria: Vec::new(), ..alone(state()) };
        check_line(&goal, none, "Ralph 3/25: next: Fix the parser");
        let token = "RALPH_COMPLETE must stand alone on the last line; next: Fix the parser";
        check_line(&goal, CompletionRequest::OnlyMentioned, &format!("Ralph 3/25: {token}"));
        let refused = "completion refused, 0 of 1 criterion holds; next: cargo test was not run";
        check_line(&open, made, &format!("Ralph 3/25: {refused}"));
        let mut second = passed.clone();
        let mut other = open.acceptance_criteria[0].clone();
        (other.id, other.verification_command) = ("AC-2".to_owned(), "make x".to_owned());
        second.acceptance_criteria.push(other);
        let receipt = second.acceptance_criteria[0].receipt.as_mut().unwrap();
        receipt.by = crate::state::CriterionRunner::Hook;
        (receipt.tree_before, receipt.tree_after) = ("t".to_owned(), "t".to_owned());
        let trees = [("AC-1".to_owned(), "t".to_owned())].into();
        let proof = Proof { trees, ..Proof::default() };
        assert_eq!(
            next_step(&second, made, Some(&proof), NOW).line,
            "Ralph 3/25: completion refused, 0 of 2 criteria hold; next: make x was not run"
        );
        let mut judged = open;
        judged.acceptance_criteria[0].review = Some("reads well".to_owned());
        check_line(&judged, none, "Ralph 3/25: 0 of 1 criterion holds; next: make tests pass pass");
        judged.acceptance_criteria[0].verified = true;
        check_line(
            &judged,
            none,
            "Ralph 3/25: 0 of 1 criterion holds, 1 reviewed; next: Fix the parser",
        );
    }

    #[test]
    fn the_line_is_one_line_of_at_most_300_characters() {
        let mut long = ran(false, "");
        long.task_graph.clear();
        let receipt = long.acceptance_criteria[0].receipt.as_mut().unwrap();
        receipt.failing = vec!["目\n".repeat(5_000)];
        let mut task = state();
        task.task_graph[2].name = "n\n".repeat(5_000);
        let goal = LoopState { prompt: "g\n".repeat(5_000), ..LoopState::default() };
        for state in [long, task, goal] {
            for request in [CompletionRequest::Made, CompletionRequest::None] {
                let NextStep { line, details } = next_step(&state, request, None, NOW);
                assert!(line.encode_utf16().count() <= 300 && !line.contains('\n'), "{line}");
                assert!(details.encode_utf16().count() <= STEP_LIMIT, "{details}");
            }
        }
    }
}
