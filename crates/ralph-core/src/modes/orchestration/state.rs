//! The states of a session, and how a session stands for whoever reads its metadata.

use std::fmt;

/// Where a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum State {
    /// There is no plan yet.
    Initializing,
    /// The planning tasks of the first iteration.
    Planning,
    /// A person's feedback becomes a changed plan.
    Replanning,
    /// The next wave is chosen.
    Batching,
    /// The tasks of a wave are carried out.
    ExecutingBatch,
    /// What was carried out is judged.
    ReviewingBatch,
    /// The iteration is judged.
    SessionReview,
    /// Nothing is to be done but by a person.
    Complete,
    /// Progress or metadata cannot be read.
    RepairState,
}

impl State {
    /// All of them.
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

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            State::Initializing => "INITIALIZING",
            State::Planning => "PLANNING",
            State::Replanning => "REPLANNING",
            State::Batching => "BATCHING",
            State::ExecutingBatch => "EXECUTING_BATCH",
            State::ReviewingBatch => "REVIEWING_BATCH",
            State::SessionReview => "SESSION_REVIEW",
            State::Complete => "COMPLETE",
            State::RepairState => "REPAIR_STATE",
        }
    }

    /// The state of a word.
    pub fn of(word: &str) -> Option<State> {
        State::ALL.into_iter().find(|state| state.word() == word)
    }
}

impl fmt::Display for State {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.word())
    }
}

/// `status` of `metadata.yaml`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetadataStatus {
    /// Work is to be done.
    InProgress,
    /// All is done, and a reviewer says so.
    Completed,
    /// A person is to say what comes next.
    AwaitingFeedback,
}

impl MetadataStatus {
    /// All of them.
    pub const ALL: [MetadataStatus; 3] =
        [MetadataStatus::InProgress, MetadataStatus::Completed, MetadataStatus::AwaitingFeedback];

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            MetadataStatus::InProgress => "in_progress",
            MetadataStatus::Completed => "completed",
            MetadataStatus::AwaitingFeedback => "awaiting_feedback",
        }
    }

    /// The standing of a word.
    pub fn of(word: &str) -> Option<MetadataStatus> {
        MetadataStatus::ALL.into_iter().find(|standing| standing.word() == word)
    }
}
