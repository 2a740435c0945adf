//! The state of the orchestration that a loop drives.
//!
//! The orchestration itself is a folder in the project. This state identifies it, and records what
//! a session needs to know about its agent calls: who was called for what, and which call comes
//! next with which prompt.

use super::{ClientProcess, Extra};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// An orchestration and its calls.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct OrchestrationState {
    /// The name of its folder below `.ralph-sessions/`.
    pub id: String,
    /// Calls that have started and not ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<OrchestrationCall>,
    /// The next calls, as last given to the session.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub given: Vec<OrchestrationCall>,
    /// The next step in words, if it is not a call.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub says: String,
    /// Summary of the state when a stop last told the session the next step.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub told_at: String,
    /// Consecutive stops at which that summary was unchanged.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub still: u32,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A call of an agent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct OrchestrationCall {
    /// The client's id of the call; empty for a call not made yet.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub call: String,
    /// The client's id of the agent; empty until it is known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub agent: String,
    /// The mode in which the agent is called.
    pub mode: String,
    /// The task that the call is about; empty if it is not about one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub task: String,
    /// The iteration of the call.
    pub iteration: u32,
    /// The question cycle of the call; 0 if there is none.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub cycle: u32,
    /// The prompt.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub prompt: String,
    /// When the call was made.
    pub since: Timestamp,
    /// The client process in which the agent runs. Agents end with their client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientProcess>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}
