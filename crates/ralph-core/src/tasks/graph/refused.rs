//! Why a change to the task graph was refused, and what to do instead.

use super::GraphFlaw;
use crate::state::{TaskStatus, TaskSummary};
use jiff::Timestamp;
use std::fmt;

/// Why a change was refused. The graph is unchanged.
#[derive(Debug, Clone, PartialEq)]
pub enum TaskError {
    NoSuchTask {
        /// The id as given.
        id: String,
    },
    /// The task depends on one that is not done.
    Waits {
        id: String,
        /// The first unfinished dependency.
        on: String,
        /// Its status; `None` if it does not exist.
        status: Option<TaskStatus>,
    },
    /// Another worker has claimed the task.
    Held {
        id: String,
        owner: String,
        /// When the lease expires, if it does.
        until: Option<Timestamp>,
    },
    /// The task is not in progress, so its claim cannot be renewed.
    NotHeld { id: String },
    /// The task is done, failed, blocked or in a state that this version does not know.
    Closed { id: String, status: TaskStatus },
    /// No task can be worked on now.
    NothingReady(TaskSummary),
    /// The change would introduce this flaw.
    Flawed(GraphFlaw),
    /// A name, an owner or a reason is missing.
    Missing {
        /// What is missing, in words.
        what: &'static str,
    },
}

impl fmt::Display for TaskError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TaskError::NoSuchTask { id } => {
                write!(to, "there is no task `{id}`; `ralph task list --all` shows them")
            }
            TaskError::Waits { id, on, status: Some(status) } => {
                write!(to, "{id} waits for {on}, which is {status}; finish {on} first")
            }
            TaskError::Waits { id, on, status: None } => write!(
                to,
                "{id} waits for {on}, which does not exist; add it, or take it out of {id}'s deps"
            ),
            TaskError::Held { id, owner, until: Some(until) } => {
                write!(to, "{id} is claimed by {owner} until {until}; take another task")
            }
            TaskError::Held { id, owner, until: None } => write!(
                to,
                "{id} is claimed by {owner}; take another task, or `ralph task release {id}`"
            ),
            TaskError::NotHeld { id } => {
                write!(to, "{id} is not claimed; `ralph task claim {id}` first")
            }
            TaskError::Closed { id, status: TaskStatus::Done } => {
                write!(to, "{id} is already done")
            }
            TaskError::Closed { id, status } => {
                write!(to, "{id} is {status}; `ralph task release {id}` makes it pending again")
            }
            TaskError::NothingReady(summary) => nothing_ready(to, summary),
            TaskError::Flawed(flaw) => flaw.fmt(to),
            TaskError::Missing { what } => write!(to, "{what} is missing; say it in words"),
        }
    }
}

impl std::error::Error for TaskError {}

fn nothing_ready(to: &mut fmt::Formatter<'_>, summary: &TaskSummary) -> fmt::Result {
    if summary.total == 0 {
        return to.write_str("there are no tasks; `ralph task add NAME` adds one");
    }
    if summary.all_done() {
        return write!(to, "no open task: {}", summary.describe());
    }
    let counts = [
        (summary.in_progress, "in progress"),
        (summary.waiting, "waiting for others"),
        (summary.blocked, "blocked"),
        (summary.failed, "failed"),
    ];
    let mut parts = vec![summary.describe()];
    parts.extend(
        counts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{count} {word}")),
    );
    write!(to, "no ready task: {}", parts.join(", "))
}
