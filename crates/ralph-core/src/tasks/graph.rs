//! The task graph: what is ready, who works on what, and what became of it.
//!
//! A claim whose lease has run out counts as free: the worker that held it may be gone, and
//! nothing would ever tell. Task states never make a loop complete; they say what to do next.

mod advice;
mod change;
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
pub use lint::{GraphFlaw, lint, lint_with_places};
pub use refused::TaskError;
pub use sync::{ChangedTask, GraphDiff, LineFlaw, Stays, Synced, TaskLine, sync};
pub use waves::{places as wave_places, waves};

use crate::state::{Task, TaskStatus};
use jiff::Timestamp;
use serde::Serialize;
use std::collections::HashMap;

/// How many tasks stand where. A claim that has run out counts as what it is: free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Summary {
    /// All tasks.
    pub total: usize,
    /// Done.
    pub done: usize,
    /// Free, with everything they depend on done.
    pub ready: usize,
    /// Claimed, with a lease that has not run out.
    pub in_progress: usize,
    /// Given up.
    pub failed: usize,
    /// Waiting for something outside.
    pub blocked: usize,
    /// Free, but depending on a task that is not done.
    pub waiting: usize,
}

impl Summary {
    /// `3 of 7 tasks done`, or nothing for an empty graph.
    pub fn describe(&self) -> String {
        match self.total {
            0 => String::new(),
            1 => format!("{} of 1 task done", self.done),
            total => format!("{} of {total} tasks done", self.done),
        }
    }

    /// True if there are tasks and all are done.
    pub fn all_done(&self) -> bool {
        self.total > 0 && self.done == self.total
    }
}

/// Where a task stands, once its lease and its dependencies are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskReadiness {
    /// Free, and everything it depends on is done.
    Ready,
    /// Free, but something it depends on is not done.
    Waiting,
    /// Claimed.
    InProgress,
    /// Done.
    Done,
    /// Given up.
    Failed,
    /// Waiting for something outside.
    Blocked,
    /// A status that this version does not know; left alone.
    Unknown,
}

impl TaskReadiness {
    /// In one word, for a list.
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

/// Where tasks are found by their ids; built once, so that ten thousand tasks cost ten thousand
/// steps. Of two tasks with one id the first counts.
#[derive(Debug)]
pub struct Graph<'a> {
    tasks: &'a [Task],
    places: HashMap<&'a str, usize>,
    now: Timestamp,
}

impl<'a> Graph<'a> {
    /// Looks at tasks as they stand now.
    pub fn new(tasks: &'a [Task], now: Timestamp) -> Graph<'a> {
        let mut places = HashMap::with_capacity(tasks.len());
        for (place, task) in tasks.iter().enumerate() {
            places.entry(task.id.as_str()).or_insert(place);
        }
        Graph { tasks, places, now }
    }

    /// The task of this id.
    pub fn get(&self, id: &str) -> Option<&'a Task> {
        self.place(id).map(|place| &self.tasks[place])
    }

    /// Where the task of this id stands in the list.
    pub fn place(&self, id: &str) -> Option<usize> {
        self.places.get(id).copied()
    }

    /// Where a task stands.
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

    /// The first id that a task depends on and that is not done; an unknown id never is.
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

    /// The task to work on: one that is under way, else the first that can be begun.
    pub fn current(&self) -> Option<&'a Task> {
        let under_way = |task: &&Task| self.standing(task) == TaskReadiness::InProgress;
        self.tasks.iter().find(under_way).or_else(|| self.ready().next())
    }

    /// How many tasks stand where.
    pub fn summary(&self) -> Summary {
        let mut summary = Summary { total: self.tasks.len(), ..Summary::default() };
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

/// The first task that can be worked on now.
pub fn next_ready(tasks: &[Task], now: Timestamp) -> Option<&Task> {
    Graph::new(tasks, now).ready().next()
}

/// How many tasks stand where.
pub fn summary(tasks: &[Task], now: Timestamp) -> Summary {
    Graph::new(tasks, now).summary()
}

/// True for a claim that has ended by itself. A claim without a lease lasts until it is released.
fn lease_ran_out(task: &Task, now: Timestamp) -> bool {
    task.lease_expires_at.is_some_and(|end| end <= now)
}

#[cfg(test)]
mod tests;
