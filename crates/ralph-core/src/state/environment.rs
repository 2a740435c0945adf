//! The environment of a loop as it was at its start. `evidence::environment` records and compares it.

use super::ClientProcess;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The variables that decide what runs, as of the start of the loop.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Environment {
    /// The client that passed this environment to the hook.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientProcess>,
    /// Absolute path of the client that headless rounds start; empty if none was found.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub program: String,
    /// The plugins of the client at the start of a run; absent in a loop of a conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugins: Option<Vec<String>>,
    /// Values by name.
    pub values: BTreeMap<String, String>,
    /// Digests by name, for values that may be secret.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub digests: BTreeMap<String, String>,
}
