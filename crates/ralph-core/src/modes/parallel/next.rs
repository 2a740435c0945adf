//! The next step of the session that orchestrates workers, and the prompt of each worker.
//!
//! The session asks again after every step, so the model does not have to remember anything: first
//! start what can be started, then merge what is done, then wait.

use crate::modes::flow::{self, AgentInput};
use crate::modes::parallel::{WORKER, startable, taken};
use crate::state::{LoopState, Task, TaskSummary, Worker};
use crate::tasks::graph::{self, Graph};
use crate::text::plural::noun;
use crate::text::truncate::bounded;
use jiff::Timestamp;
use serde::Serialize;
use std::fmt::Write;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "action")]
pub enum NextParallelStep {
    /// Start these workers, all of them in one message.
    Start { calls: Vec<AgentInput> },
    /// Merge what is done: nothing else can start before.
    Merge {
        /// The tasks whose work to merge.
        tasks: Vec<String>,
    },
    /// End the turn: the session wakes when a worker ends.
    Wait {
        /// The descriptions of the running workers.
        workers: Vec<String>,
    },
    /// Every task is done and merged.
    Finished,
    /// There are no tasks, so nothing can start and nothing was done.
    NoTasks,
    /// Tasks are open, but none of them can start.
    Stuck {
        /// The tasks that block the others, with their results.
        why: Vec<String>,
    },
}

pub fn next(state: &LoopState, now: Timestamp) -> NextParallelStep {
    let running: Vec<&Worker> = state.workers.iter().filter(|worker| worker.is_running()).collect();
    let free = (state.limits.max_workers.max(1) as usize).saturating_sub(running.len());
    let calls: Vec<AgentInput> =
        chosen(state, free, now).into_iter().map(|task| call(state, task)).collect();
    if !calls.is_empty() {
        return NextParallelStep::Start { calls };
    }
    let unmerged: Vec<String> = state
        .workers
        .iter()
        .filter(|worker| worker.awaits_merge())
        .map(|worker| worker.task.clone())
        .collect();
    let summary = graph::summary(&state.task_graph, now);
    if !unmerged.is_empty() && (running.len() < state.limits.max_workers as usize) {
        return NextParallelStep::Merge { tasks: unmerged };
    }
    if !running.is_empty() {
        return NextParallelStep::Wait {
            workers: running.iter().map(|worker| worker.about.clone()).collect(),
        };
    }
    match summary.done == summary.total {
        true if summary.total == 0 => NextParallelStep::NoTasks,
        true => NextParallelStep::Finished,
        false => NextParallelStep::Stuck { why: held_up(state, &summary, now) },
    }
}

/// Chooses up to `room` tasks, no two of which change the same file.
pub(super) fn chosen(state: &LoopState, room: usize, now: Timestamp) -> Vec<&Task> {
    let mut taken = taken(state);
    let mut chosen = Vec::new();
    for task in startable(state, now) {
        if chosen.len() == room {
            break;
        }
        if taken.clash(&task.files).is_none() {
            taken.take(&task.files, &task.id);
            chosen.push(task);
        }
    }
    chosen
}

fn call(state: &LoopState, task: &Task) -> AgentInput {
    let prefix = flow::prefix(state);
    AgentInput {
        description: bounded(&format!("{} {}", task.id, task.name), 60),
        subagent_type: format!("{prefix}{WORKER}"),
        prompt: prompt(state, task),
        run_in_background: true,
    }
}

fn held_up(state: &LoopState, summary: &TaskSummary, now: Timestamp) -> Vec<String> {
    let graph = Graph::new(&state.task_graph, now);
    let holds = |task: &&Task| {
        use graph::TaskReadiness::{Blocked, Failed, InProgress, Unknown};
        matches!(graph.readiness(task), Failed | Blocked | InProgress | Unknown)
    };
    let mut why: Vec<String> = state
        .task_graph
        .iter()
        .filter(holds)
        .take(10)
        .map(|task| {
            let said = task.result.as_deref().or(task.owner.as_deref()).unwrap_or("no word on why");
            format!("{} is {}: {}", task.id, task.status, bounded(said, 300))
        })
        .collect();
    if why.is_empty() {
        why.push(format!(
            "{} of {} {} for tasks that do not exist or for each other: `ralph task lint`",
            summary.waiting,
            summary.total,
            noun(summary.total, "task waits", "tasks wait")
        ));
    }
    why
}

// The prompt of a worker: its task, and the results of the tasks before it.

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
    use super::super::tests::{NOW, loop_of, work};
    use super::*;
    use crate::state::{TaskStatus, WorkerStanding};

    #[track_caller]
    fn check(state: &LoopState, expected: &str) {
        let said = match next(state, NOW) {
            NextParallelStep::Start { calls } => {
                let all: Vec<&str> =
                    calls.iter().filter_map(|call| call.description.split(' ').next()).collect();
                format!("start {}", all.join(" "))
            }
            NextParallelStep::Merge { tasks } => format!("merge {}", tasks.join(" ")),
            NextParallelStep::Wait { workers } => format!("wait {}", workers.join(" ")),
            NextParallelStep::Finished => "finished".to_owned(),
            NextParallelStep::NoTasks => "no tasks".to_owned(),
            NextParallelStep::Stuck { why } => format!("stuck {}", why.join("; ")),
        };
        assert_eq!(said, expected);
    }

    #[test]
    fn two_waves_from_their_start_to_their_end() {
        let mut state = loop_of(&[
            ("T-1", &[], &["a"]),
            ("T-2", &[], &["b"]),
            ("T-3", &[], &["b"]),
            ("T-4", &["T-1"], &[]),
        ]);
        check(&state, "start T-1 T-2");
        work(&mut state, "T-1", WorkerStanding::Running);
        work(&mut state, "T-2", WorkerStanding::Running);
        check(&state, "wait T-1 T-2");
        state.workers[0].standing = WorkerStanding::Done;
        state.task_graph[0].status = TaskStatus::Done;
        check(&state, "merge T-1");
        state.workers[0].merged = "c".to_owned();
        check(&state, "start T-4");
        work(&mut state, "T-4", WorkerStanding::Running);
        for at in [1, 2] {
            state.workers[at].standing = WorkerStanding::Done;
            state.workers[at].merged = "c".to_owned();
        }
        for at in [1, 3] {
            state.task_graph[at].status = TaskStatus::Done;
        }
        check(&state, "start T-3");
        state.task_graph[2].status = TaskStatus::Done;
        check(&state, "finished");
    }

    #[test]
    fn a_graph_without_tasks_is_not_finished() {
        check(&loop_of(&[]), "no tasks");
    }

    #[test]
    fn no_more_are_started_than_there_is_room_for() {
        let mut state = loop_of(&[("T-1", &[], &[]), ("T-2", &[], &[]), ("T-3", &[], &[])]);
        state.limits.max_workers = 2;
        check(&state, "start T-1 T-2");
        work(&mut state, "T-1", WorkerStanding::Running);
        check(&state, "start T-2");
        work(&mut state, "T-2", WorkerStanding::Running);
        check(&state, "wait T-1 T-2");
    }

    #[test]
    fn a_graph_that_cannot_go_on_says_what_holds_it_up() {
        let mut state = loop_of(&[("T-1", &[], &[]), ("T-2", &["T-1"], &[])]);
        state.task_graph[0].status = TaskStatus::Failed;
        state.task_graph[0].result = Some("no grammar".to_owned());
        check(&state, "stuck T-1 is failed: no grammar");
        state.task_graph[0].deps = vec!["T-2".to_owned()];
        state.task_graph[0].status = TaskStatus::Pending;
        check(
            &state,
            "stuck 2 of 2 tasks wait for tasks that do not exist or for each other: `ralph task lint`",
        );
    }

    #[test]
    fn a_call_is_for_the_agent_as_it_is_registered() {
        let mut state = loop_of(&[("T-1", &[], &[])]);
        state.via = Some(crate::state::Registration::Plugin);
        let NextParallelStep::Start { calls } = next(&state, NOW) else { panic!() };
        assert_eq!(calls[0].subagent_type, "ralph:ralph-worker");
        assert!(calls[0].prompt.starts_with("Ralph task T-1\n"));
    }
}

#[cfg(test)]
mod prompt_tests {
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
