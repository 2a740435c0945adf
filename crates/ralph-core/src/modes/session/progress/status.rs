//! The six statuses and their marks.

use serde::Serialize;
use std::fmt;

/// How far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// `[ ]`: nobody has begun.
    Open,
    /// `[/]`: somebody works on it.
    InProgress,
    /// `[P]`: to be reviewed.
    ReviewPending,
    /// `[x]`: done.
    Done,
    /// `[F]`: failed.
    Failed,
    /// `[C]`: cancelled.
    Cancelled,
}

impl Status {
    /// All of them, in the order of the legend.
    pub const ALL: [Status; 6] = [
        Status::Open,
        Status::InProgress,
        Status::ReviewPending,
        Status::Done,
        Status::Failed,
        Status::Cancelled,
    ];

    /// The mark, with its brackets.
    pub fn mark(self) -> &'static str {
        match self {
            Status::Open => "[ ]",
            Status::InProgress => "[/]",
            Status::ReviewPending => "[P]",
            Status::Done => "[x]",
            Status::Failed => "[F]",
            Status::Cancelled => "[C]",
        }
    }

    /// In words, for the legend.
    pub fn words(self) -> &'static str {
        match self {
            Status::Open => "Not started",
            Status::InProgress => "In progress",
            Status::ReviewPending => "Pending review",
            Status::Done => "Completed",
            Status::Failed => "Failed",
            Status::Cancelled => "Cancelled",
        }
    }

    /// The status of a mark, with or without its brackets.
    pub fn of(mark: &str) -> Option<Status> {
        let inner = mark.strip_prefix('[').and_then(|mark| mark.strip_suffix(']'));
        let inner = inner.unwrap_or(mark);
        Status::ALL.into_iter().find(|status| status.mark()[1..2] == *inner)
    }

    /// True for done and for cancelled: nothing more is to happen.
    pub fn is_settled(self) -> bool {
        matches!(self, Status::Done | Status::Cancelled)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.mark())
    }
}
