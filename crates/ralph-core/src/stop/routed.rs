//! The part of an orchestration router's output that a stop decision needs.

use serde::{Deserialize, Serialize};

/// The next step of an orchestration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RouterStep {
    /// Agents must be called.
    Call,
    /// Nothing, until a call ends or a set time arrives.
    Wait,
    /// Nothing until the user's next signal: the user sent PAUSE.
    Paused,
    /// The end: the user sent STOP.
    Stopped,
    /// The end: all work is done.
    Complete,
    /// The end for now: the user decides what comes next.
    AwaitingFeedback,
    /// The end: the orchestration cannot continue.
    Failed,
}

/// The router's output, as far as decisions need it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Routed {
    /// The next step.
    pub due: RouterStep,
    /// The next step in words.
    pub says: String,
    /// Hash of the orchestration's progress.
    #[serde(default)]
    pub stands: String,
    /// Names of the signals that are consumed once this takes effect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heard: Vec<String>,
}
