//! Why a loop pauses or ends, and what went wrong in it.

use super::{EndingKind, PauseCause, PlanPhase, Signal, is_false};
use crate::text::from_json::{FromJson, Members, Mistake, from_json};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Why a loop is paused, and since when.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Value")]
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

from_json!(Pause { cause, at, detail, told, attended });

/// What a person must do before the work can continue, as reported by the model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub struct Blocked {
    /// The action needed, in words.
    pub what: String,
    /// When the model reported it.
    pub at: Timestamp,
}

from_json!(Blocked { what, at });

/// A prompt whose words a hook has obeyed, and that the client has not recorded yet: only its record tells the user from
/// a mod that speaks in their name.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub struct Obeyed {
    /// The client's id of the prompt.
    pub prompt_id: String,
    /// The command, as the user reads it; empty for another prompt.
    pub words: String,
    /// Where a planning was that the prompt has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planning: Option<PlanPhase>,
}

from_json!(Obeyed { prompt_id, words, planning });

/// How and when a loop ended.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Value")]
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

from_json!(Ending { kind, at, detail, cause });

/// An error in a loop.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub struct LoopError {
    /// When the error occurred.
    pub at: Timestamp,
    /// The error, for people.
    pub message: String,
}

impl FromJson for LoopError {
    fn from_json(value: Value) -> Result<Self, Mistake> {
        // The original pattern documents an empty list, and its loops wrote plain strings.
        if let Value::String(message) = value {
            return Ok(LoopError { message, ..LoopError::default() });
        }
        let mut members = Members::of(value)?;
        let mut read = LoopError::default();
        members.take("at", &mut read.at)?;
        members.take("message", &mut read.message)?;
        Ok(read)
    }
}

impl TryFrom<Value> for LoopError {
    type Error = Mistake;

    fn try_from(value: Value) -> Result<Self, Mistake> {
        FromJson::from_json(value)
    }
}
