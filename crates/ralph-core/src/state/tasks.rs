//! The tasks of a loop, as a whole.

use serde::Serialize;

/// How many tasks are in each state. A task with an expired claim counts as ready or waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct TaskSummary {
    pub total: usize,
    pub done: usize,
    /// Free, and all dependencies are done.
    pub ready: usize,
    /// Claimed, and the lease has not expired.
    pub in_progress: usize,
    pub failed: usize,
    /// Waiting for something outside the graph.
    pub blocked: usize,
    /// Free, but a dependency is not done.
    pub waiting: usize,
}

impl TaskSummary {
    /// `3 of 7 tasks done`; empty for an empty graph.
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
