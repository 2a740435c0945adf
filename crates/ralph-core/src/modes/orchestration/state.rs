//! The states of an orchestration, and its status in the metadata.

use serde::{Deserialize, Serialize};
use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum State {
    /// There is no plan yet.
    Initializing,
    /// The planning tasks of the first iteration are open.
    Planning,
    /// The user's feedback is being worked into the plan.
    Replanning,
    /// The next wave is being chosen.
    Batching,
    /// The tasks of a wave are being executed.
    ExecutingBatch,
    /// The executed tasks are being reviewed.
    ReviewingBatch,
    SessionReview,
    /// Only the user can continue.
    Complete,
    /// Progress or metadata cannot be read.
    RepairState,
}

impl State {
    pub const ALL: [State; 9] = [
        State::Initializing,
        State::Planning,
        State::Replanning,
        State::Batching,
        State::ExecutingBatch,
        State::ReviewingBatch,
        State::SessionReview,
        State::Complete,
        State::RepairState,
    ];

    pub fn word(self) -> &'static str {
        const WORDS: [&str; 9] = [
            "INITIALIZING",
            "PLANNING",
            "REPLANNING",
            "BATCHING",
            "EXECUTING_BATCH",
            "REVIEWING_BATCH",
            "SESSION_REVIEW",
            "COMPLETE",
            "REPAIR_STATE",
        ];
        WORDS[self as usize]
    }

    pub fn from_word(word: &str) -> Option<State> {
        State::ALL.into_iter().find(|state| state.word() == word)
    }
}

impl fmt::Display for State {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.word())
    }
}

/// `status` of `metadata.yaml`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetadataStatus {
    /// Work remains.
    InProgress,
    /// All tasks are done, and a reviewer confirmed it.
    Completed,
    /// The user has to decide what comes next.
    AwaitingFeedback,
}

impl MetadataStatus {
    pub const ALL: [MetadataStatus; 3] =
        [MetadataStatus::InProgress, MetadataStatus::Completed, MetadataStatus::AwaitingFeedback];

    pub fn word(self) -> &'static str {
        match self {
            MetadataStatus::InProgress => "in_progress",
            MetadataStatus::Completed => "completed",
            MetadataStatus::AwaitingFeedback => "awaiting_feedback",
        }
    }

    pub fn from_word(word: &str) -> Option<MetadataStatus> {
        MetadataStatus::ALL.into_iter().find(|standing| standing.word() == word)
    }
}
