//! Why a loop pauses or ends, and what went wrong in it.

use super::{EndingKind, PauseCause, PlanPhase, Signal, is_false};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Why a loop is paused, and since when.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Pause {
    /// Why the loop paused.
    pub cause: PauseCause,
    /// When the loop paused.
    pub at: Timestamp,
    /// Details for people.
    pub detail: String,
    /// True once the user has been told in the session.
    pub told: bool,
    /// True if the user was at the keyboard: they left the session, or their prompt revealed the
    /// pause.
    #[serde(skip_serializing_if = "is_false")]
    pub attended: bool,
}

/// What a person must do before the work can continue, as reported by the model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Blocked {
    /// The action needed, in words.
    pub what: String,
    /// When the model reported it.
    pub at: Timestamp,
}

/// A prompt whose words a hook has obeyed, and that the client has not recorded yet: only its record tells the user from
/// a mod that speaks in their name.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Obeyed {
    /// The client's id of the prompt.
    pub prompt_id: String,
    /// The command, as the user reads it; empty for another prompt.
    pub words: String,
    /// Where a planning was that the prompt has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planning: Option<PlanPhase>,
}

/// How and when a loop ended.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Ending {
    /// The kind of ending.
    pub kind: EndingKind,
    /// When the loop ended.
    pub at: Timestamp,
    /// Details for people.
    pub detail: String,
    /// For `stalled`: the sign of the stall.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Signal>,
}

/// An error in a loop.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(from = "WrittenError")]
pub struct LoopError {
    /// When the error occurred.
    pub at: Timestamp,
    /// The error, for people.
    pub message: String,
}

/// The original pattern documents an empty list, and its loops wrote plain strings.
#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenError {
    Text(String),
    Whole {
        #[serde(default)]
        at: Timestamp,
        #[serde(default)]
        message: String,
    },
}

impl From<WrittenError> for LoopError {
    fn from(written: WrittenError) -> LoopError {
        match written {
            WrittenError::Text(message) => LoopError { message, ..LoopError::default() },
            WrittenError::Whole { at, message } => LoopError { at, message },
        }
    }
}
