//! The session and the client in which a loop runs, and the turn that it drives there.

use super::{is_false, is_zero};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A session that a loop was bound to.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Bound {
    /// Claude Code's session id.
    pub session_id: String,
    /// When the loop left the session.
    pub until: Timestamp,
    /// Why the loop left it: `cleared`, `adopted` …
    pub why: String,
}

/// A client process. The start time distinguishes it from another process with a reused id.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientProcess {
    /// Process id.
    pub pid: u32,
    /// Start time as the system counts it; empty where unavailable.
    pub started: String,
}

impl ClientProcess {
    /// Stands for a client whose session has ended: no process has the id 0.
    pub fn gone() -> ClientProcess {
        ClientProcess { pid: 0, started: String::new() }
    }
}

/// The turn that a loop drives: our last reply in it was to continue. A user prompt with another id
/// reveals that the turn was cut.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DrivenTurn {
    /// The client's id of the prompt that started the turn; empty if unknown.
    pub prompt_id: String,
    /// When the reply was given.
    pub at: Timestamp,
    /// True once the main conversation has used a tool since that reply.
    #[serde(skip_serializing_if = "is_false")]
    pub worked: bool,
    /// True if the user typed the prompt, and no stop has continued the turn since.
    #[serde(skip_serializing_if = "is_false")]
    pub typed: bool,
    /// True once the user has read that a pause waits for the end of the turn.
    #[serde(skip_serializing_if = "is_false")]
    pub pause_told: bool,
    /// Offset in bytes in the session's transcript before which no row is of this turn; 0 if unknown.
    #[serde(skip_serializing_if = "is_zero")]
    pub transcript_from: u64,
}

impl DrivenTurn {
    /// A turn in which no tool has been used yet.
    pub fn new(prompt_id: impl Into<String>, at: Timestamp) -> DrivenTurn {
        DrivenTurn { prompt_id: prompt_id.into(), at, ..DrivenTurn::default() }
    }

    /// A turn that begins with a prompt of the user.
    pub fn typed(prompt_id: impl Into<String>, at: Timestamp) -> DrivenTurn {
        DrivenTurn { typed: true, ..DrivenTurn::new(prompt_id, at) }
    }
}

/// A session that `ralph run` or `ralph build` started for one round.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct BuildRound {
    /// The task's id; empty if all tasks are closed and only criteria remain.
    pub task: String,
    /// Number of the round, from 1.
    pub number: u32,
    /// Fingerprint of the work tree when the round began; absent without git.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// Ids of the tasks that were done when the round began: what it may finish is judged by its
    /// change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub done: Vec<String>,
}
