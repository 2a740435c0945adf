//! What the user agreed to when the loop started, as digests. `evidence::pinned` compares them.

use super::Extra;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Digests of what the user agreed to.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Frozen {
    /// When the user agreed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// SHA-256 of the criteria (ids, descriptions, commands, paths) and of the tasks' commands.
    pub criteria: String,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}
