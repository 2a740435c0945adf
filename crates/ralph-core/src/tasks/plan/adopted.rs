//! Reads a state file that another tool or an older loop wrote.
//!
//! Nothing in it counts as evidence: a criterion arrives unverified and without a receipt, and must
//! pass the checks of an imported plan.

use super::{Problem, criteria_problems, unclaimed, unknown_statuses, unverified};
use crate::state::{LoopState, Progress};
use jiff::Timestamp;

/// Prepares the state for its adoption.
///
/// # Errors
/// The criteria that prove nothing and the unknown status words, each with its place.
pub fn adopted(mut state: LoopState) -> Result<LoopState, Vec<Problem>> {
    taken_in(&mut state);
    let mut problems = criteria_problems(&state.acceptance_criteria);
    problems.extend(
        unknown_statuses(&state.task_graph)
            .map(|(at, what)| Problem::new(format!("{}.status", state.task_graph[at].id), what)),
    );
    if problems.is_empty() { Ok(state) } else { Err(problems) }
}

/// Prepares a state that is used in place. As in [`adopted`], nothing in it counts as evidence;
/// items that cannot be used stay and prove nothing.
pub fn taken_in(state: &mut LoopState) {
    state.acceptance_criteria.iter_mut().for_each(unverified);
    super::number(state.acceptance_criteria.iter_mut().map(|one| &mut one.id), "AC-");
    state.task_graph.iter_mut().for_each(unclaimed);
    if state.prompt.is_empty() {
        // The old pattern kept no prompt, and without one the loop's prompt would name no goal.
        state.prompt = "Finish what was begun: the tasks and the criteria say what.".to_owned();
    }
    // A plain text tells no time.
    let undated = |at: &Timestamp| *at == Timestamp::UNIX_EPOCH;
    let errors = state.errors.iter_mut().filter(|error| undated(&error.at));
    errors.for_each(|error| error.at = state.created_at);
    state.frozen = None;
    state.checkpoint = None;
    state.progress = Progress::default();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{LoopError, TaskStatus};
    use serde_json::json;

    fn read(value: serde_json::Value) -> Result<LoopState, Vec<String>> {
        let state = serde_json::from_value(value).unwrap();
        adopted(state).map_err(|problems| problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn status_words_of_real_loops_are_read() {
        for (word, status) in [
            ("completed", TaskStatus::Done),
            ("Done", TaskStatus::Done),
            ("COMPLETE", TaskStatus::Done),
            // No worker is active on it any more.
            ("in-progress", TaskStatus::Pending),
            ("In Progress", TaskStatus::Pending),
            ("not_started", TaskStatus::Pending),
            ("todo", TaskStatus::Pending),
            ("FAILED", TaskStatus::Failed),
            ("on hold", TaskStatus::Blocked),
        ] {
            let state = read(json!({"task_graph": [{"id": "T-1", "name": "n", "status": word}]}));
            assert_eq!(state.unwrap().task_graph[0].status, status, "{word}");
        }
        let refused = read(json!({"task_graph": [{"id": "T-1", "status": "blau"}]})).unwrap_err();
        assert_eq!(
            refused,
            ["T-1.status: `blau` is not a status; write `pending` or `done`, or omit it"]
        );
    }

    #[test]
    fn nothing_in_the_file_is_evidence() {
        let state = read(json!({"acceptance_criteria": [{
            "id": "AC-1", "description": "d", "verification_command": "cargo test",
            "verified": true, "tests_expected": 0, "held_on": "x",
            "receipt": {"command": "cargo test", "passed": true, "tree_after": "x", "tree_before": "x"},
        }]}))
        .unwrap();
        let criterion = &state.acceptance_criteria[0];
        assert!(!criterion.verified && criterion.receipt.is_none(), "{criterion:?}");
        assert_eq!((criterion.tests_expected, &criterion.held_on), (None, &None));
    }

    #[test]
    fn a_criterion_that_proves_nothing_is_named() {
        for command in ["", " ", "true", "echo ok", "npm test || true"] {
            let refused = read(json!({"acceptance_criteria": [{
                "id": "AC-1", "description": "d", "verification_command": command, "verified": true,
            }]}));
            let problems = refused.unwrap_err();
            assert!(problems[0].starts_with("AC-1.verification_command: "), "{problems:?}");
        }
    }

    #[test]
    fn errors_are_read_as_text_and_as_objects() {
        let errors = json!(["tsc failed", {"at": "2026-01-02T03:04:05Z", "message": "stalled"}]);
        let created = "2026-01-02T03:00:00Z";
        let state = read(json!({ "errors": errors, "created_at": created })).unwrap();
        let dated = |error: &LoopError| format!("{} {}", error.at, error.message);
        let errors: Vec<_> = state.errors.iter().map(dated).collect();
        assert_eq!(errors, ["2026-01-02T03:00:00Z tsc failed", "2026-01-02T03:04:05Z stalled"]);
    }
}
