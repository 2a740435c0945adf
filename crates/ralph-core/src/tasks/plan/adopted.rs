//! Reads a state file that another tool or an older loop wrote.
//!
//! Nothing in it counts as evidence: a criterion arrives unverified and without a receipt, and must
//! pass the checks of an imported plan. Status words are accepted as real loops wrote them.

use super::{Problem, criteria_problems, unclaimed, unverified};
use crate::state::{LoopState, Progress, TaskStatus};

/// Prepares the state for its adoption.
///
/// # Errors
/// The criteria that prove nothing and the unknown status words, each with its place.
pub fn adopted(mut state: LoopState) -> Result<LoopState, Vec<Problem>> {
    state.acceptance_criteria.iter_mut().for_each(unverified);
    super::number(state.acceptance_criteria.iter_mut().map(|one| &mut one.id), "AC-");
    let mut problems = criteria_problems(&state.acceptance_criteria);
    for task in &mut state.task_graph {
        match meant(task.status.as_str()) {
            Some(status) => task.status = status,
            None => problems.push(Problem::new(
                format!("{}.status", task.id),
                format!(
                    "`{}` is not a status; write `pending`, `done`, `failed` or `blocked`",
                    task.status.as_str()
                ),
            )),
        }
        unclaimed(task);
    }
    state.frozen = None;
    state.checkpoint = None;
    state.progress = Progress::default();
    match problems.is_empty() {
        true => Ok(state),
        false => Err(problems),
    }
}

/// Prepares a state that is used in place. As in [`adopted`], nothing in it counts as evidence;
/// items that cannot be used stay and prove nothing.
pub fn taken_in(state: &mut LoopState) {
    state.acceptance_criteria.iter_mut().for_each(unverified);
    super::number(state.acceptance_criteria.iter_mut().map(|one| &mut one.id), "AC-");
    for task in &mut state.task_graph {
        if let Some(status) = meant(task.status.as_str()) {
            task.status = status;
        }
        unclaimed(task);
    }
    state.frozen = None;
    state.checkpoint = None;
    state.progress = Progress::default();
}

/// The status for a word, in any case and joined by `-`, `_` or a space.
fn meant(word: &str) -> Option<TaskStatus> {
    let letters = word.chars().filter(char::is_ascii_alphanumeric);
    let word: String = letters.map(|letter| letter.to_ascii_lowercase()).collect();
    Some(match word.as_str() {
        "" | "pending" | "todo" | "open" | "new" | "ready" | "queued" | "planned"
        | "notstarted" | "unstarted" | "backlog" => TaskStatus::Pending,
        "inprogress" | "active" | "started" | "working" | "doing" | "running" | "wip"
        | "claimed" | "current" => TaskStatus::InProgress,
        "done" | "complete" | "completed" | "finished" | "closed" | "success" | "succeeded"
        | "passed" | "verified" | "merged" | "resolved" => TaskStatus::Done,
        "failed" | "failure" | "error" | "errored" | "cancelled" | "canceled" | "abandoned" => {
            TaskStatus::Failed
        }
        "blocked" | "waiting" | "onhold" | "paused" | "stuck" => TaskStatus::Blocked,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
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
            ["T-1.status: `blau` is not a status; write `pending`, `done`, `failed` or `blocked`"]
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
        let state = read(json!({ "errors": errors })).unwrap();
        let messages: Vec<_> = state.errors.iter().map(|error| error.message.as_str()).collect();
        assert_eq!(messages, ["tsc failed", "stalled"]);
    }
}
