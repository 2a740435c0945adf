//! Tokens that the client reported: summed from the transcript, each message once.

use serde::{Deserialize, Serialize};

/// Tokens, the four kinds apart.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Read anew.
    pub input: u64,
}

impl Usage {
    /// All kinds together.
    pub fn total(&self) -> u64 {
        self.input
    }
}
