//! How long a session waits for background workers, and what wakes it after that.
//!
//! A worker that hangs sends no event, and the client waits for it forever. Ralph neither counts
//! nor ends such a worker: it tells the model, and the model decides.

use crate::protocol::event::BackgroundTask;
use crate::state::LoopState;
use crate::text::plural::noun;
use crate::text::sanitize;
use serde_json::Value;
use std::fmt::Write;

/// Default and maximum of the waiting time: the client ends the hook soon after.
pub const LONGEST_MINUTES: u64 = 30;

/// Longest description of a worker, in characters: the model wrote it.
const LONGEST_NAME: usize = 100;

/// Workers beyond this number are counted but not named.
const MOST_NAMED: usize = 10;

/// Why there is no reason left to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MovedOn {
    /// The loop is paused, has ended, or is gone.
    NotRunning,
    /// The session is working on another prompt.
    AnotherTurn,
    /// The client has news for the session: a worker's report, or a prompt that the user typed.
    News,
    /// Another hook process waits for a later stop.
    LaterStop,
}

/// Minutes that the loop's session waits for its workers, from the settings at the start of the
/// loop.
pub fn minutes(state: &LoopState) -> u64 {
    let set = state.settings.get("background_minutes").and_then(Value::as_u64);
    set.unwrap_or(LONGEST_MINUTES).min(LONGEST_MINUTES)
}

/// Whether the loop has moved on from the stop at which its session began to wait, in the turn of
/// this prompt. While no reply is outstanding, the loop names no turn or still this one.
pub fn moved_on(state: &LoopState, prompt_id: &str) -> Option<MovedOn> {
    match &state.turn {
        _ if !state.is_running() => Some(MovedOn::NotRunning),
        Some(turn) if turn.prompt_id != prompt_id => Some(MovedOn::AnotherTurn),
        _ => None,
    }
}

/// The one-line text for the model when the time is up.
pub fn report(workers: &[BackgroundTask], minutes: u64) -> String {
    let mut names = String::new();
    for (n, worker) in workers.iter().take(MOST_NAMED).enumerate() {
        let separator = if n == 0 { "" } else { ", " };
        // Writing into a `String` cannot fail.
        let _ = write!(names, "{separator}{}", name(worker));
    }
    if let Some(more) = workers.len().checked_sub(MOST_NAMED).filter(|more| *more > 0) {
        let _ = write!(names, " and {more} more");
    }
    format!(
        "Ralph: no news for {minutes} {} from background workers that still run: {names}. \
         Look whether they get on; end the ones that hang (TaskStop) and go on without them, or \
         end your turn to wait again. Nothing was counted.",
        noun(minutes, "minute", "minutes")
    )
}

/// `dig the cellar (general-purpose, a5dc74b7)`.
fn name(worker: &BackgroundTask) -> String {
    let description: String =
        worker.description.chars().filter(|c| !sanitize::acts(*c)).take(LONGEST_NAME).collect();
    let kind: String = worker.agent_type.chars().filter(|c| !sanitize::acts(*c)).collect();
    format!("\"{description}\" ({kind}, {})", worker.id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{DrivenTurn, Phase};
    use jiff::Timestamp;
    use serde_json::json;

    #[track_caller]
    fn check(phase: Phase, turn: Option<&str>, expected: Option<MovedOn>) {
        let turn = turn.map(|id| DrivenTurn::new(id, Timestamp::UNIX_EPOCH));
        let state = LoopState { phase, turn, ..LoopState::default() };
        assert_eq!(moved_on(&state, "p1"), expected);
    }

    #[test]
    fn a_loop_waits_while_it_runs_and_no_other_prompt_is_worked_on() {
        check(Phase::Implementation, None, None);
        check(Phase::Verification, Some("p1"), None);
        check(Phase::Implementation, Some("p2"), Some(MovedOn::AnotherTurn));
        check(Phase::Paused, Some("p1"), Some(MovedOn::NotRunning));
        check(Phase::Ended, None, Some(MovedOn::NotRunning));
    }

    #[test]
    fn the_minutes_are_the_frozen_ones_and_never_outlast_the_hook() {
        let with = |settings| minutes(&LoopState { settings, ..LoopState::default() });
        assert_eq!(with(Value::Null), 30);
        assert_eq!(with(json!({"background_minutes": 7})), 7);
        assert_eq!(with(json!({"background_minutes": 0})), 0);
        assert_eq!(with(json!({"background_minutes": 600})), 30);
        assert_eq!(with(json!({"background_minutes": "soon"})), 30);
    }

    fn worker(description: &str) -> BackgroundTask {
        BackgroundTask {
            id: "a1".to_owned(),
            description: description.to_owned(),
            agent_type: "ralph-worker".to_owned(),
            ..BackgroundTask::default()
        }
    }

    #[test]
    fn the_report_names_each_worker_in_one_line() {
        let told = report(&[worker("dig\nthe cellar"), worker("x")], 30);
        assert!(told.contains("\"digthe cellar\" (ralph-worker, a1), \"x\" ("), "{told}");
        assert!(told.contains("30 minutes") && told.contains("Nothing was counted"), "{told}");
        assert!(!told.contains('\n'));
    }

    #[test]
    fn many_workers_with_long_names_stay_short() {
        let told = report(&vec![worker("x"); MOST_NAMED], 30);
        assert!(told.contains("\"x\" (ralph-worker, a1). Look whether"), "{told}");
        let told = report(&vec![worker(&"é".repeat(5_000)); 12], 30);
        assert!(told.contains(" and 2 more"), "{told}");
        assert!(told.chars().count() < 2_000);
    }
}
