//! A refinement in a conversation, as its loop keeps it.
//!
//! Rounds and what came of them stand in the project's document. Here is only what the hooks decide from:
//! which session of that document it is, and what the conversation has done for it.

use super::Extra;
use crate::text::from_json::from_json;
use serde::{Deserialize, Serialize};

/// What the loop of a conversation knows of its refinement. `iteration` of the loop is the number of rounds
/// that are done.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub struct Refining {
    /// The session's name in the project's document.
    pub name: String,
    /// The same, as a shell reads it.
    pub word: String,
    /// Rounds of that session that were done when this loop began.
    pub from: u32,
    /// Rounds that the same conversation had made before, for other sessions.
    pub earlier: u32,
    /// The round that is open; 0 for none.
    pub open: u32,
    /// The client's ids of all calls of the Agent tool that were let through.
    pub calls: Vec<String>,
    /// How far it was at the last stop: rounds and calls together.
    pub told_at: u32,
    /// At how many stops in a row it stood there, after the first.
    pub still: u32,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

from_json!(Refining { name, word, from, earlier, open, calls, told_at, still; extra });
