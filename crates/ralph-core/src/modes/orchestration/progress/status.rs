//! The six statuses and their marks.

use serde::Serialize;
use std::fmt;

/// The status of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskMark {
    /// `[ ]`: not started.
    Open,
    /// `[/]`: in progress.
    InProgress,
    /// `[P]`: waiting for a review.
    ReviewPending,
    /// `[x]`: done.
    Done,
    /// `[F]`: failed.
    Failed,
    /// `[C]`: cancelled.
    Cancelled,
}

impl TaskMark {
    /// All statuses, in the order of the legend.
    pub const ALL: [TaskMark; 6] = [
        TaskMark::Open,
        TaskMark::InProgress,
        TaskMark::ReviewPending,
        TaskMark::Done,
        TaskMark::Failed,
        TaskMark::Cancelled,
    ];

    /// The mark, with its brackets.
    pub fn mark(self) -> &'static str {
        match self {
            TaskMark::Open => "[ ]",
            TaskMark::InProgress => "[/]",
            TaskMark::ReviewPending => "[P]",
            TaskMark::Done => "[x]",
            TaskMark::Failed => "[F]",
            TaskMark::Cancelled => "[C]",
        }
    }

    /// The words for the legend.
    pub fn words(self) -> &'static str {
        match self {
            TaskMark::Open => "Not started",
            TaskMark::InProgress => "In progress",
            TaskMark::ReviewPending => "Pending review",
            TaskMark::Done => "Completed",
            TaskMark::Failed => "Failed",
            TaskMark::Cancelled => "Cancelled",
        }
    }

    /// The status of a mark, with or without its brackets.
    pub fn of(mark: &str) -> Option<TaskMark> {
        let inner = mark.strip_prefix('[').and_then(|mark| mark.strip_suffix(']'));
        let inner = inner.unwrap_or(mark);
        TaskMark::ALL.into_iter().find(|status| status.mark()[1..2] == *inner)
    }

    /// True for done and cancelled tasks, which nothing more happens to.
    pub fn is_settled(self) -> bool {
        matches!(self, TaskMark::Done | TaskMark::Cancelled)
    }
}

impl fmt::Display for TaskMark {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.mark())
    }
}
