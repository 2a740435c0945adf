//! The state of a refinement that runs in a session.
//!
//! The project's document holds the rounds and their results. This is only what the hooks decide
//! from: which refinement in that document it is, and what the session has done for it.

use super::Extra;
use serde::{Deserialize, Serialize};

/// What the loop of a session keeps about its refinement. The loop's `iteration` is the number of
/// completed rounds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RefineState {
    /// The refinement's name in the project's document.
    pub name: String,
    /// The same name, quoted for a shell.
    pub word: String,
    /// Completed rounds of that refinement when this loop began.
    pub from: u32,
    /// Rounds that the same session made before, for other refinements.
    pub earlier: u32,
    /// The open round; 0 if none is open.
    pub open: u32,
    /// The client's ids of all calls of the Agent tool that were allowed.
    pub calls: Vec<String>,
    /// Completed rounds plus calls at the last stop.
    pub told_at: u32,
    /// Consecutive stops at which that number was unchanged.
    pub still: u32,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}
