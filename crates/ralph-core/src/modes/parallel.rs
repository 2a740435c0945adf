//! Parallel workers: which worker may start, what comes next, and how a report counts.
//!
//! The work of a task that a worker reported as done is on its own branch until it is merged. Tasks
//! that depend on it must wait for the merge, because a worker's worktree starts at a commit of the
//! loop's branch.

pub mod clean;
mod grant;
pub mod headless_worker;
pub mod merge;
mod next;
mod plan;
pub mod report;
mod work;

pub use grant::{AgentCall, Grant, grant, launched, lost};
pub use next::{NextParallelStep, next, prompt, task_of};
pub use plan::{Clash, WavePlan, plan};
pub use work::{TaskSource, work};

use crate::state::{LoopState, Task, Worker};
use crate::tasks::graph::ClaimedFiles;
use crate::tasks::graph::{self, Graph};
use jiff::Timestamp;

/// The agent that does one task, without a plugin's prefix.
pub const WORKER: &str = "ralph-worker";

/// The owner recorded on a worker's task.
pub const OWNER: &str = "ralph-worker";

/// Maximum number of a worker's changed files kept in the state.
pub const FILES_KEPT: usize = 200;

/// True for Ralph's worker agent, whether it comes from settings or from a plugin.
pub fn is_worker(kind: &str) -> bool {
    kind.strip_prefix("ralph:").unwrap_or(kind) == WORKER
}

/// The worker of a dependency of this task whose branch is not merged yet.
fn unmerged_dep<'a>(state: &'a LoopState, task: &Task) -> Option<&'a Worker> {
    let awaits = |worker: &&Worker| worker.awaits_merge() && task.deps.contains(&worker.task);
    state.workers.iter().find(awaits)
}

/// The files of tasks whose worker is running or whose branch awaits its merge.
fn taken(state: &LoopState) -> ClaimedFiles<'_> {
    let mut taken = ClaimedFiles::default();
    for worker in state.workers.iter().filter(|worker| worker.is_running() || worker.awaits_merge())
    {
        if let Some(task) = state.task_graph.iter().find(|task| task.id == worker.task) {
            taken.take(&task.files, &task.id);
        }
        taken.take(&worker.files, &worker.task);
    }
    taken
}

/// The tasks that could start now: they are ready, and all their dependencies are merged.
fn startable(state: &LoopState, now: Timestamp) -> Vec<&Task> {
    let graph = Graph::new(&state.task_graph, now);
    graph.ready().filter(|task| unmerged_dep(state, task).is_none()).collect()
}

/// Makes a task available again with a note for the next worker, or gives it up after
/// [`graph::MOST_ATTEMPTS`] workers. Returns a description of the result.
pub fn reopen(state: &mut LoopState, id: &str, why: &str) -> String {
    let Some(task) = state.task_graph.iter_mut().find(|task| task.id == id) else {
        return String::new();
    };
    format!("{}: {why}", graph::reopen(task, why, "workers"))
}

#[cfg(test)]
mod bounds_tests;

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::state::{TaskStatus, WorkerStanding};

    pub(crate) const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    /// A running parallel loop with these tasks: id, dependencies, files to change.
    pub(crate) fn loop_of(tasks: &[(&str, &[&str], &[&str])]) -> LoopState {
        let words = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        let task = |(id, deps, files): &(&str, &[&str], &[&str])| Task {
            id: (*id).to_owned(),
            name: format!("name of {id}"),
            deps: words(deps),
            files: words(files),
            completion_condition: format!("{id} is there"),
            ..Task::default()
        };
        LoopState {
            phase: crate::state::Phase::Implementation,
            parallel: true,
            task_graph: tasks.iter().map(task).collect(),
            ..LoopState::default()
        }
    }

    /// Adds a worker of this task, either running or with a report.
    pub(crate) fn work(state: &mut LoopState, task: &str, standing: WorkerStanding) {
        let asked = AgentCall {
            call: &format!("call-{task}"),
            kind: WORKER,
            prompt: &format!("Ralph task {task}\n"),
            about: task,
            from_worker: false,
            client: None,
        };
        assert_eq!(grant(state, &asked, NOW), Grant::Granted, "{task}");
        let worker = state.workers.last_mut().unwrap();
        worker.standing = standing.clone();
        worker.files = vec![format!("made-by-{task}")];
        let task = state.task_graph.iter_mut().find(|other| other.id == task).unwrap();
        if standing == WorkerStanding::Done {
            task.status = TaskStatus::Done;
        }
    }

    #[test]
    fn a_task_that_nobody_gets_done_is_given_up() {
        let mut state = loop_of(&[("T-1", &[], &[])]);
        for n in 1..=3 {
            work(&mut state, "T-1", WorkerStanding::Partial);
            state.workers.clear();
            let told = reopen(&mut state, "T-1", "half");
            let expected =
                if n < 3 { "is ready again: half" } else { "is given up after 3 workers: half" };
            assert!(told.ends_with(expected), "{told}");
        }
        assert_eq!(state.task_graph[0].status, TaskStatus::Failed);
    }
}
