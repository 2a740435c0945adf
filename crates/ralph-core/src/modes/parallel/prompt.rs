//! The prompt of a worker: its task, and the results of the tasks before it.

use crate::state::{LoopState, Task};
use crate::text::truncate::bounded;
use std::fmt::Write;

/// The first words of a worker's prompt; the hooks read the task's id after them.
const FIRST: &str = "Ralph task ";

pub fn prompt(state: &LoopState, task: &Task) -> String {
    let mut text = format!("{FIRST}{}\nDo: {}\n", task.id, bounded(&task.name, 400));
    let mut line = |label: &str, value: &str| {
        let value = value.trim().replace('\n', " ");
        if !value.is_empty() {
            let _ = writeln!(text, "{label}: {}", bounded(&value, 800));
        }
    };
    line("Done when", &task.completion_condition);
    line("Files", &task.files.join(", "));
    line("Before", task.result.as_deref().unwrap_or_default());
    for id in &task.deps {
        let done = state.task_graph.iter().find(|other| other.id == *id);
        line(
            &format!("After {id}"),
            done.and_then(|other| other.result.as_deref()).unwrap_or_default(),
        );
    }
    line("Part of", &bounded(&state.prompt, 400));
    text.push_str("End with the report that your instructions ask for.");
    text
}

/// Reads the task's id from the first line of a prompt.
pub fn task_of(prompt: &str) -> Option<&str> {
    let line = prompt.trim_start().lines().next()?;
    let id = line.strip_prefix(FIRST)?.trim();
    (!id.is_empty()).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::super::tests::loop_of;
    use super::*;

    #[test]
    fn a_prompt_says_all_that_is_known_and_is_known_by_its_first_line() {
        let mut state = loop_of(&[("T-1", &[], &[]), ("T-2", &["T-1"], &["a", "b"])]);
        state.prompt = "Build it".to_owned();
        state.task_graph[0].result = Some("made\nit".to_owned());
        let text = prompt(&state, &state.task_graph[1]);
        assert_eq!(task_of(&text), Some("T-2"));
        assert_eq!(
            text,
            "Ralph task T-2\nDo: name of T-2\nDone when: T-2 is there\nFiles: a, b\nAfter T-1: made it\n\
             Part of: Build it\nEnd with the report that your instructions ask for."
        );
        assert_eq!(
            (task_of("Ralph task"), task_of("do Ralph task T-1"), task_of("")),
            (None, None, None)
        );
    }
}
