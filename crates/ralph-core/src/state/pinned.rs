//! What the user agreed to when the loop started, as digests. `evidence::pinned` compares them.

use crate::text::from_json::from_json;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Digests of what the user agreed to.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub struct Frozen {
    /// When the user agreed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// SHA-256 of the criteria (ids, descriptions, commands, paths) and of the tasks' commands.
    pub criteria: String,
    /// The files that the commands name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub test_files: Vec<TestFile>,
    /// The meaning of the commands; absent if a version that did not determine it pinned the
    /// criteria.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meaning: Option<Vec<PinnedPart>>,
}

from_json!(Frozen { at, criteria, test_files, meaning });

/// A file that an acceptance command names.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub struct TestFile {
    /// Path, relative to the project.
    pub path: String,
    /// SHA-256 of its content; empty if the file did not exist.
    pub sha256: String,
}

from_json!(TestFile { path, sha256 });

/// One piece as it was when the user agreed to it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub struct PinnedPart {
    /// The criterion's id.
    pub criterion: String,
    /// The name of the piece.
    pub what: String,
    /// Digest of its meaning; empty if the piece was missing.
    pub sha256: String,
    /// How a change is judged; empty for `Frozen`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub weight: String,
}

from_json!(PinnedPart { criterion, what, sha256, weight });
