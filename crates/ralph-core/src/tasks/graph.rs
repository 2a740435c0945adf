//! The task graph: which tasks are ready, who works on them, and their results.
//!
//! A claim with an expired lease counts as free: its worker may be gone, and nothing would ever
//! report that. Task states never complete a loop; they only say what to do next.

mod advice;
mod change;
mod digest;
pub mod draw;
mod lint;
pub mod overlap;
mod refused;
pub mod render;
mod sync;
mod waves;

pub use advice::{Advice, advice};
pub use change::{
    Claim, ClaimTarget, DependencyResult, Lease, NewTask, add, block, claim, depend, done, fail,
    release, renew,
};
pub use digest::digest;
pub use lint::{GraphFlaw, lint, lint_with_places};
pub use refused::TaskError;
pub use sync::{ChangedTask, GraphDiff, LineFlaw, Stays, Synced, TaskLine, sync};
pub use waves::{places as wave_places, waves};

use crate::state::{Task, TaskStatus, TaskSummary};
use jiff::Timestamp;
use serde::Serialize;
use std::collections::HashMap;

/// Rounds or workers after which a task that stays open is given up.
pub const MOST_ATTEMPTS: u32 = 3;

/// Makes a task ready again, with a note for who works on it next, or gives it up. Returns what became of it.
pub fn reopen(task: &mut Task, why: &str, attempts: &str) -> String {
    let gives_up = task.attempts >= MOST_ATTEMPTS;
    task.status = if gives_up { TaskStatus::Failed } else { TaskStatus::Pending };
    (task.owner, task.lease_expires_at) = (None, None);
    task.result = Some(why.to_owned());
    match gives_up {
        true => format!("{} is given up after {} {attempts}", task.id, task.attempts),
        false => format!("{} is ready again", task.id),
    }
}

/// The state of a task after checking its lease and its dependencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskReadiness {
    /// Free, and all dependencies are done.
    Ready,
    /// Free, but a dependency is not done.
    Waiting,
    /// Claimed, and the lease has not expired.
    InProgress,
    Done,
    Failed,
    /// Waiting for something outside the graph.
    Blocked,
    /// A status that this version does not know; Ralph leaves the task alone.
    Unknown,
}

impl TaskReadiness {
    /// The word for it in a list.
    pub fn word(self) -> &'static str {
        match self {
            TaskReadiness::Ready => "ready",
            TaskReadiness::Waiting => "waiting",
            TaskReadiness::InProgress => "in progress",
            TaskReadiness::Done => "done",
            TaskReadiness::Failed => "failed",
            TaskReadiness::Blocked => "blocked",
            TaskReadiness::Unknown => "unknown",
        }
    }
}

/// An index of the tasks by id. It is built once, so that ten thousand tasks take ten thousand
/// steps. If two tasks have the same id, the first one counts.
#[derive(Debug)]
pub struct Graph<'a> {
    tasks: &'a [Task],
    places: HashMap<&'a str, usize>,
    now: Timestamp,
}

impl<'a> Graph<'a> {
    /// Indexes the tasks; `now` decides which leases have expired.
    pub fn new(tasks: &'a [Task], now: Timestamp) -> Graph<'a> {
        let mut places = HashMap::with_capacity(tasks.len());
        for (place, task) in tasks.iter().enumerate() {
            places.entry(task.id.as_str()).or_insert(place);
        }
        Graph { tasks, places, now }
    }

    pub fn get(&self, id: &str) -> Option<&'a Task> {
        self.place(id).map(|place| &self.tasks[place])
    }

    /// The position of the task in the list.
    pub fn place(&self, id: &str) -> Option<usize> {
        self.places.get(id).copied()
    }

    pub fn standing(&self, task: &Task) -> TaskReadiness {
        match &task.status {
            TaskStatus::InProgress if !lease_ran_out(task, self.now) => TaskReadiness::InProgress,
            TaskStatus::Pending | TaskStatus::InProgress => match self.waits_for(task) {
                None => TaskReadiness::Ready,
                Some(_) => TaskReadiness::Waiting,
            },
            TaskStatus::Done => TaskReadiness::Done,
            TaskStatus::Failed => TaskReadiness::Failed,
            TaskStatus::Blocked => TaskReadiness::Blocked,
            TaskStatus::Other(_) => TaskReadiness::Unknown,
        }
    }

    /// The first dependency that is not done; an unknown id counts as not done.
    pub fn waits_for<'t>(&self, task: &'t Task) -> Option<&'t str> {
        task.deps
            .iter()
            .map(String::as_str)
            .find(|id| self.get(id).is_none_or(|dependency| dependency.status != TaskStatus::Done))
    }

    /// The tasks that can be worked on now, in the order of the list.
    pub fn ready(&self) -> impl Iterator<Item = &'a Task> {
        self.tasks.iter().filter(|task| self.standing(task) == TaskReadiness::Ready)
    }

    /// The task to work on: one in progress, otherwise the first that is ready.
    pub fn current(&self) -> Option<&'a Task> {
        let under_way = |task: &&Task| self.standing(task) == TaskReadiness::InProgress;
        self.tasks.iter().find(under_way).or_else(|| self.ready().next())
    }

    pub fn summary(&self) -> TaskSummary {
        let mut summary = TaskSummary { total: self.tasks.len(), ..TaskSummary::default() };
        for task in self.tasks {
            match self.standing(task) {
                TaskReadiness::Ready => summary.ready += 1,
                TaskReadiness::Waiting => summary.waiting += 1,
                TaskReadiness::InProgress => summary.in_progress += 1,
                TaskReadiness::Done => summary.done += 1,
                TaskReadiness::Failed => summary.failed += 1,
                TaskReadiness::Blocked => summary.blocked += 1,
                TaskReadiness::Unknown => {}
            }
        }
        summary
    }
}

/// The tasks that can be worked on now, in the order of the list.
pub fn ready(tasks: &[Task], now: Timestamp) -> Vec<&Task> {
    Graph::new(tasks, now).ready().collect()
}

/// How many tasks are in each state.
pub fn summary(tasks: &[Task], now: Timestamp) -> TaskSummary {
    Graph::new(tasks, now).summary()
}

/// True for a claim whose lease has expired. A claim without a lease lasts until it is released.
fn lease_ran_out(task: &Task, now: Timestamp) -> bool {
    task.lease_expires_at.is_some_and(|end| end <= now)
}

#[cfg(test)]
pub(in crate::tasks) mod tests;
