//! Progress as it is stored between stops. `stop::progress` decides what it means.

use super::Signal;
use serde::{Deserialize, Serialize};

/// Progress at the last stops.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    /// The signal at the last stop.
    pub signal: Signal,
    /// The fingerprint at the end of the last stop, after any checks that Ralph ran itself: a check
    /// that rewrites files is not progress.
    pub left_at: String,
    /// Consecutive stops without a change.
    pub standing: u32,
    /// Of these, the consecutive text-only stops up to the last one.
    pub idle: u32,
    /// The failure for which completion was last refused.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub failure: String,
    /// Consecutive requests refused for that failure.
    pub same_failure: u32,
}
