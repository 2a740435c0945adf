//! What the router of an orchestration says, as far as a stop is decided from it.

use serde::{Deserialize, Serialize};

/// What is due in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Due {
    /// Agents are to be called.
    Call,
    /// Nothing, until a call ends or a moment comes.
    Wait,
    /// Nothing until a person says something else: they said PAUSE.
    Paused,
    /// Its end: a person said STOP.
    Stopped,
    /// Its end: all is done.
    Complete,
    /// Its end for now: a person says what comes next.
    AwaitingFeedback,
    /// Its end: it does not go on.
    Failed,
}

/// What the router says, as far as anything is decided from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Routed {
    /// What is due.
    pub due: Due,
    /// The same in words.
    pub says: String,
    /// One value for how far the session is.
    #[serde(default)]
    pub stands: String,
    /// The signals that are used up once this has taken effect, by their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heard: Vec<String>,
}
