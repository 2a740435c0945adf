//! One-line messages for people.

use crate::evidence::receipt::{self, ReceiptStatus};
use crate::modes::mode;
use crate::state::{Criterion, EndingKind, LoopState, PauseCause};
use crate::{evidence::completion_feedback, tasks::graph, text::plural};
use jiff::Timestamp;

/// A message with our name in front, as the client shows it.
pub fn line(text: &str) -> String {
    format!("Ralph: {text}")
}

/// `paused at 3/25 (interrupted); /ralph continues`. If a person must do something, says what.
pub fn paused(state: &LoopState) -> String {
    let (cause, what) = match &state.pause {
        Some(pause) if pause.cause == PauseCause::BlockedOnHuman => {
            (format!(" ({})", pause.cause), format!(" {}\nWhen it is done,", pause.detail))
        }
        Some(pause) if pause.cause != PauseCause::Person => {
            (format!(" ({});", pause.cause), String::new())
        }
        _ => (";".to_owned(), String::new()),
    };
    let colon = if what.is_empty() { "" } else { ":" };
    let (_, position) = what_and_where(state);
    format!(
        "paused at {position}{cause}{colon}{what} {} continues",
        mode::of(&state.mode).resume_command()
    )
}

/// The noun for the loop and its position in its own count: consensus planning counts
/// rejections.
pub fn what_and_where(state: &LoopState) -> (&'static str, String) {
    let mode = mode::of(&state.mode);
    (mode.noun(), mode.position(state))
}

/// How the loop ended, what was and was not achieved, how long it took, and what to do next.
pub fn ended(state: &LoopState) -> String {
    let Some(ending) = &state.ending else { return line("the loop has ended") };
    let kind = match &ending.cause {
        Some(cause) => format!("{} ({cause})", ending.kind),
        None => ending.kind.to_string(),
    };
    let detail =
        if ending.detail.is_empty() { String::new() } else { format!(": {}", ending.detail) };
    let (what, position) = what_and_where(state);
    let mut text = line(&format!(
        "{what} {} ended {kind} at {position} after {}{detail}.",
        state.loop_id,
        lasted(state, ending.at)
    ));
    for part in [achieved(state), warnings(state), next_command(state)] {
        if !part.is_empty() {
            text.push('\n');
            text.push_str(&part);
        }
    }
    text
}

/// Added if the loop ended before the model had received all signals from the user.
pub fn undelivered(n: usize) -> String {
    match n {
        0 => String::new(),
        1 => "\nOne signal was not delivered: the loop ended before.".to_owned(),
        n => format!("\n{n} signals were not delivered: the loop ended before."),
    }
}

/// The time since the start of the loop: `40 s`, `12 min`, `7 h 5 min`.
pub fn lasted(state: &LoopState, until: Timestamp) -> String {
    let began = state.started_at.unwrap_or(state.created_at);
    plural::lasted(until.duration_since(began).as_secs())
}

/// The finished tasks, the proven criteria, and what is wrong with the others.
pub fn achieved(state: &LoopState) -> String {
    let mut parts = Vec::new();
    let at = state.ending.as_ref().map_or(state.updated_at, |ending| ending.at);
    let tasks = graph::summary(&state.task_graph, at).describe();
    if !tasks.is_empty() {
        parts.push(format!("{tasks}."));
    }
    let (holding, open): (Vec<_>, Vec<_>) =
        state.acceptance_criteria.iter().partition(|criterion| criterion.verified);
    if !holding.is_empty() {
        let ids: Vec<&str> = holding.iter().map(|criterion| criterion.id.as_str()).collect();
        parts.push(format!("Proven: {}.", ids.join(", ")));
    }
    if !open.is_empty() {
        let told: Vec<String> = open.iter().map(|criterion| unproven(criterion)).collect();
        parts.push(format!("Not proven: {}.", told.join("; ")));
    }
    parts.join(" ")
}

fn unproven(criterion: &Criterion) -> String {
    match receipt::standing(criterion, None) {
        // It held in its last run and has not been checked since.
        ReceiptStatus::Holds if receipt::is_of_proof(criterion) => {
            format!("{} held when it was last run", criterion.id)
        }
        ReceiptStatus::Holds => format!("{} passed in `ralph verify` only", criterion.id),
        standing => {
            format!("{} {}", criterion.id, completion_feedback::why(criterion, standing, &[]))
        }
    }
}

/// What the user must know besides `complete`.
pub fn warnings(state: &LoopState) -> String {
    let mut parts = completion_feedback::changes(state);
    let environments = completion_feedback::environments(state);
    if !environments.is_empty() {
        parts.push(environments);
    }
    let before: Vec<&str> = state
        .acceptance_criteria
        .iter()
        .filter(|criterion| criterion.held_before)
        .map(|criterion| criterion.id.as_str())
        .collect();
    if !before.is_empty() {
        parts.push(format!(
            "Held already before the work, so no proof of it: {}.",
            before.join(", ")
        ));
    }
    parts.join(" ")
}

/// The command to type after the loop has ended.
pub fn next_command(state: &LoopState) -> String {
    let id = &state.loop_id;
    let Some(ending) = &state.ending else { return String::new() };
    if let Some(command) = mode::of(&state.mode).after_end(state, &ending.kind) {
        return command;
    }
    match ending.kind {
        EndingKind::CompleteUnverified => {
            format!("Check the work yourself; `ralph explain --loop {id}` tells the last decision.")
        }
        EndingKind::MaxIterations | EndingKind::Budget => {
            let is_open = state.acceptance_criteria.iter().any(|criterion| !criterion.verified);
            let look = if is_open {
                format!("`ralph verify --loop {id}` runs the criteria")
            } else {
                format!("`ralph explain 3 --loop {id}` tells the last decisions")
            };
            format!("{look}; /ralph \"…\" with a higher bound starts again.")
        }
        EndingKind::Approved => {
            "/ralph in Claude Code carries the plan out, or `ralph build` in a terminal.".to_owned()
        }
        EndingKind::Stalled => format!(
            "`ralph explain 3 --loop {id}` tells the last decisions; change the task before \
             starting again."
        ),
        EndingKind::Complete
        | EndingKind::Cancelled
        | EndingKind::Plateau
        | EndingKind::Discarded
        | EndingKind::AwaitingFeedback
        | EndingKind::Failed
        | EndingKind::Other(_) => format!("`ralph status --loop {id}` shows it."),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_was_not_delivered_is_counted() {
        let told = [0, 1, 2].map(super::undelivered);
        assert_eq!(told[0], "");
        assert!(told[1].starts_with("\nOne signal was not delivered"), "{}", told[1]);
        assert!(told[2].starts_with("\n2 signals were not delivered"), "{}", told[2]);
    }

    use super::*;
    use crate::state::{CriterionRunner, Phase, Receipt, Signal};

    #[test]
    fn a_pause_names_where_why_and_how_to_continue() {
        let mut state =
            LoopState { phase: Phase::Implementation, iteration: 3, ..LoopState::default() };
        state.pause(PauseCause::Person, "", Timestamp::UNIX_EPOCH);
        assert_eq!(paused(&state), "paused at 3/25; /ralph continues");
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

    #[test]
    fn an_ending_names_its_kind_and_what_to_do() {
        let mut state = LoopState {
            loop_id: "L".to_owned(),
            iteration: 5,
            max_iterations: 5,
            ..LoopState::default()
        };
        state.end(EndingKind::MaxIterations, "went on 5 times", Timestamp::UNIX_EPOCH);
        let text = ended(&state);
        assert!(
            text.starts_with(
                "Ralph: loop L ended max_iterations at 5/5 after 0 s: went on 5 times."
            ),
            "{text}"
        );
        assert!(text.contains("ralph explain"));
        state.ending.as_mut().unwrap().cause = Some(Signal::Cycle);
        assert!(ended(&state).contains("max_iterations (cycle) at"));
    }

    #[test]
    fn an_ending_says_what_was_proven_and_what_not() {
        let criterion = |id: &str, verified| Criterion {
            id: id.to_owned(),
            verified,
            held_before: id == "AC-1",
            verification_command: "make".to_owned(),
            ..Criterion::default()
        };
        let mut state = LoopState {
            acceptance_criteria: vec![criterion("AC-1", true), criterion("AC-2", false)],
            changed_tests: vec!["tests/a.py".to_owned()],
            ..LoopState::default()
        };
        state.end(EndingKind::Stalled, "nothing moved", Timestamp::UNIX_EPOCH);
        let text = ended(&state);
        assert!(text.contains("\nProven: AC-1. Not proven: AC-2 was never run.\n"), "{text}");
        assert!(text.contains("changed since the start: tests/a.py."), "{text}");
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
    fn an_ending_of_which_nothing_is_to_say_is_one_line_and_the_next_command() {
        let mut state = LoopState { loop_id: "L".to_owned(), ..LoopState::default() };
        assert_eq!(ended(&state), "Ralph: the loop has ended");
        assert_eq!(next_command(&state), "");
        state.end(EndingKind::Complete, "", Timestamp::UNIX_EPOCH);
        assert_eq!(
            ended(&state),
            "Ralph: loop L ended complete at 0/25 after 0 s.\n`ralph status --loop L` shows it."
        );
    }

    #[test]
    fn each_kind_of_ending_has_its_next_command() {
        let next = |kind| {
            let mut state = LoopState { loop_id: "L".to_owned(), ..LoopState::default() };
            state.end(kind, "", Timestamp::UNIX_EPOCH);
            next_command(&state)
        };
        assert_eq!(
            next(EndingKind::CompleteUnverified),
            "Check the work yourself; `ralph explain --loop L` tells the last decision."
        );
        let bound = "`ralph explain 3 --loop L` tells the last decisions; /ralph \"…\" with a \
                     higher bound starts again.";
        assert_eq!([EndingKind::MaxIterations, EndingKind::Budget].map(next), [bound, bound]);
        assert_eq!(
            next(EndingKind::Stalled),
            "`ralph explain 3 --loop L` tells the last decisions; change the task before \
             starting again."
        );
        assert_eq!(next(EndingKind::Cancelled), "`ralph status --loop L` shows it.");
    }

    #[test]
    fn what_was_achieved_leaves_out_what_there_is_none_of() {
        let criterion = |verified, receipt| Criterion {
            id: "AC-1".to_owned(),
            verified,
            receipt,
            ..Criterion::default()
        };
        let with = |acceptance_criteria, task_graph| {
            achieved(&LoopState { acceptance_criteria, task_graph, ..LoopState::default() })
        };
        let by = CriterionRunner::Hook;
        let held = Some(Receipt { passed: true, by, ..Receipt::default() });
        assert_eq!(with(vec![], vec![]), "");
        assert_eq!(with(vec![], vec![crate::state::Task::default()]), "0 of 1 task done.");
        assert_eq!(with(vec![criterion(true, None)], vec![]), "Proven: AC-1.");
        assert_eq!(
            with(vec![criterion(false, held)], vec![]),
            "Not proven: AC-1 held when it was last run."
        );
        assert_eq!(warnings(&LoopState::default()), "");
    }
}
