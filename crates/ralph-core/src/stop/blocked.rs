//! When `ralph blocked` may pause a loop. What is said is shown to the user at once, who judges it.

use crate::state::{LoopState, TaskStatus};

/// Why `ralph blocked` is refused; `None` if the loop may pause for it. The caller also refuses it
/// while tasks are ready.
pub fn refusal(state: &LoopState, what: &str) -> Option<String> {
    let criterion = state.acceptance_criteria.iter().any(|criterion| !criterion.verified);
    let task = state.task_graph.iter().any(|task| task.status != TaskStatus::Done);
    if !criterion && !task {
        return Some(
            "no criterion and no task of this loop is open, so no person is needed for one: go on with the \
             goal, or ask for completion"
                .to_owned(),
        );
    }
    (what.split_whitespace().count() < 2).then(|| {
        "say in a sentence what the user must do: `ralph blocked 'Create an API key for Stripe and put it into .env'`"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{Criterion, Task};

    #[test]
    fn something_is_open_and_the_reason_is_more_than_a_word() {
        let criterion =
            LoopState { acceptance_criteria: vec![Criterion::default()], ..LoopState::default() };
        let task = LoopState { task_graph: vec![Task::default()].into(), ..LoopState::default() };
        for state in [&criterion, &task] {
            for word in ["", " ", "help", "  unmöglich "] {
                assert!(refusal(state, word).unwrap().contains("in a sentence"), "{word}");
            }
            assert_eq!(refusal(state, "Create the key"), None);
            assert_eq!(refusal(state, "Bitte den Schlüssel anlegen"), None);
        }
        let mut done = criterion;
        done.acceptance_criteria[0].verified = true;
        assert!(refusal(&done, "Create the key").unwrap().contains("no criterion and no task"));
    }
}
