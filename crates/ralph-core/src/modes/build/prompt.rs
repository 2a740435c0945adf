//! The prompt of a round, which Ralph writes whole: the contract, the round's work, how to work.
//!
//! A round is a fresh session. It knows of the earlier ones only what stands here and in the files.

use crate::modes::{build, loop_prompt};
use crate::state::{LoopState, Task};
use crate::text::truncate::bounded;
use jiff::Timestamp;
use std::fmt::Write;

/// Maximum length of what an earlier round left behind, in UTF-16 units.
const EARLIER_LIMIT: usize = 400;

/// How many of the latest rounds the prompt names.
const EARLIER_ROUNDS: usize = 3;

const HOW_TO_DO_A_TASK: &str = "\
How to work:
1. Do this task and no other. `After` has the results of the tasks before it, `Before` what an earlier round found.
2. Change only the files that the task names. If another file must change, change as little as possible.
3. Check the completion condition by running it. Read the output.
4. Close the task: `ralph task done ID --note 'what was done and which check showed it'`. The next task's session reads \
this note and nothing else of yours. If it cannot be done: `ralph task fail ID --note 'what stands in the way'`. If \
something outside must happen first: `ralph task block ID --note 'what'`.
5. Then end your turn. While the task is open, the stop hook makes you continue.";

const HOW_TO_REACH_THE_GOAL: &str = "\
How to work:
1. Read what is there: the files, `git log`, what Ralph says above. Then do the most important open part.
2. Check your work by running it. Read the output.
3. Leave the files so that the next session can go on from them alone.
4. Then end your turn.";

const IN_EVERY_ROUND: &str = "\
A text that begins with `Ralph checked` may follow an edit or a later call. What it lists is new since this work began: fix it now.
A text that begins with `The user says` may come at any time. Follow each `STEER` from then on; an `INFO` is \
information only.
Commit, push or rewrite history only if the task or the project's own rules say so. Never weaken a test or a criterion.";

/// The prompt of the round that this loop is at. `steers` are the user's messages since the start, newest first, and
/// `earlier` is what was noted about the earlier rounds, oldest first.
pub fn of_round(
    state: &LoopState,
    steers: &[String],
    earlier: &[String],
    now: Timestamp,
) -> String {
    let number = state.round.as_ref().map_or(0, |round| round.number);
    let heading = format!("Ralph round {number}, loop {}", state.loop_id);
    let contract = loop_prompt::of_loop(&heading, state, steers, now);
    let (work, how) = match task(state) {
        Some(task) => (describe(state, task), HOW_TO_DO_A_TASK),
        None => (handover(state, earlier), HOW_TO_REACH_THE_GOAL),
    };
    let parts = [contract.trim_end(), work.trim_end(), how, IN_EVERY_ROUND];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

fn task(state: &LoopState) -> Option<&Task> {
    let id = build::task_of_round(state)?;
    state.task_graph.iter().find(|task| task.id == id)
}

fn describe(state: &LoopState, task: &Task) -> String {
    let mut text = format!("Your task: {} {}\n", task.id, bounded(&task.name, 400));
    let mut line = |label: &str, value: &str| {
        if !value.trim().is_empty() {
            let _ = writeln!(text, "{label}: {}", bounded(value.trim(), 800));
        }
    };
    line("Done when", &task.completion_condition);
    line("Files", &task.files.join(", "));
    line("Before", task.result.as_deref().unwrap_or_default());
    for id in &task.deps {
        let done = state.task_graph.iter().find(|other| other.id == *id);
        let result = done.and_then(|other| other.result.as_deref()).unwrap_or_default();
        line(&format!("After {id}"), result);
    }
    text
}

/// What the earlier rounds left, for a round without a task.
fn handover(state: &LoopState, earlier: &[String]) -> String {
    let mut text = match state.task_graph.is_empty() {
        true => String::new(),
        false => "All tasks are closed and not all criteria hold. Make them hold.\n".to_owned(),
    };
    for note in &earlier[earlier.len().saturating_sub(EARLIER_ROUNDS)..] {
        let _ = writeln!(text, "Earlier: {}", bounded(&note.replace('\n', " "), EARLIER_LIMIT));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{BuildRound, Criterion};

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn at_round(task: &str, number: u32) -> LoopState {
        let one = |id: &str, deps: &[&str]| Task {
            id: id.to_owned(),
            name: format!("name of {id}"),
            deps: deps.iter().map(|id| (*id).to_owned()).collect(),
            completion_condition: "it is there".to_owned(),
            ..Task::default()
        };
        LoopState {
            prompt: "Build it".to_owned(),
            loop_id: "L".to_owned(),
            round: Some(BuildRound { task: task.to_owned(), number, ..BuildRound::default() }),
            task_graph: vec![one("T-1", &[]), one("T-2", &["T-1"])].into(),
            ..LoopState::default()
        }
    }

    #[test]
    fn a_round_gets_its_task_and_the_results_of_those_before_it() {
        let mut state = at_round("T-2", 3);
        state.task_graph[0].result = Some("wrote it".to_owned());
        let text = of_round(&state, &["use tabs".to_owned()], &[], NOW);
        assert!(text.starts_with("Ralph round 3, loop L\nGoal: Build it\n"), "{text}");
        assert!(
            text.contains("\n\nYour task: T-2 name of T-2\nDone when: it is there\n"),
            "{text}"
        );
        assert!(text.contains("\nAfter T-1: wrote it\n\nHow to work:\n1. Do this task"), "{text}");
        assert!(text.contains("STEER: use tabs"), "{text}");
        assert!(!text.contains("RALPH_COMPLETE"), "{text}");
    }

    #[test]
    fn a_round_without_a_task_gets_what_the_last_rounds_left() {
        let mut state = at_round("", 5);
        state.acceptance_criteria =
            vec![Criterion { id: "AC-1".to_owned(), ..Criterion::default() }];
        let notes = ["one", "two", "three", "four\nlines"].map(str::to_owned);
        let text = of_round(&state, &[], &notes, NOW);
        assert!(text.contains("\n\nAll tasks are closed and not all criteria hold."), "{text}");
        assert!(text.contains("\nEarlier: two\nEarlier: three\nEarlier: four lines\n"), "{text}");
        assert!(!text.contains("one\nEarlier"), "{text}");
        assert!(!text.contains("RALPH_COMPLETE"), "no word of the model ends it: {text}");
        state.task_graph.clear();
        state.acceptance_criteria.clear();
        let text = of_round(&state, &[], &[], NOW);
        assert!(!text.contains("All tasks are closed"), "{text}");
        assert!(
            text.contains("RALPH_COMPLETE"),
            "without a criterion, only the model can tell: {text}"
        );
    }

    #[test]
    fn a_prompt_is_bounded() {
        let mut state = at_round("T-2", 1);
        let long = "x".repeat(100_000);
        state.task_graph[1].name.clone_from(&long);
        state.task_graph[1].result = Some(long.clone());
        state.task_graph[0].result = Some(long.clone());
        state.prompt.clone_from(&long);
        assert!(of_round(&state, &[], &[], NOW).len() < 8_000);
        state.round = Some(BuildRound::default());
        let notes = vec![long; 9];
        assert!(of_round(&state, &[], &notes, NOW).len() < 8_000);
    }
}
