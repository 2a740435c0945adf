//! The section `[client]`: how headless loops start the client.
//!
//! A cloned repository must not weaken the client's permission prompts: without trust, a project
//! may only choose a mode that allows no more than the default, and cannot switch the sandbox off.

use crate::protocol::permission::Mode;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The section `[client]`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClientSettings {
    /// One of the client's permission modes; if not set, the client's own settings apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
    /// True if nobody watches a loop in a terminal either: requests that would ask a person are
    /// refused there too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unattended: Option<bool>,
    /// False to start the client of headless rounds without its sandbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<bool>,
    /// Seconds that a background command may outlive the turn that started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background_seconds: Option<u64>,
}

/// The seconds of `background_seconds` if it is not set.
const BACKGROUND_SECONDS: u64 = 60;

/// The highest value of `background_seconds`.
const MOST_BACKGROUND_SECONDS: u64 = 3600;

impl ClientSettings {
    /// True if headless rounds run in the client's sandbox.
    pub fn is_sandboxed(&self) -> bool {
        self.sandbox.unwrap_or(true)
    }

    /// How long a background command may outlive its turn.
    pub fn background(&self) -> Duration {
        let seconds = self.background_seconds.unwrap_or(BACKGROUND_SECONDS);
        Duration::from_secs(seconds.min(MOST_BACKGROUND_SECONDS))
    }

    pub(super) fn refused(&self) -> Option<String> {
        if let Some(seconds) = self.background_seconds.filter(|it| *it > MOST_BACKGROUND_SECONDS) {
            return Some(format!(
                "`client.background_seconds` is a whole number from 0 to {MOST_BACKGROUND_SECONDS}, not {seconds}"
            ));
        }
        let mode = self.permission_mode.as_ref().filter(|mode| Mode::named(mode).is_none())?;
        Some(format!("`client.permission_mode` is {}, not `{mode}`", Mode::names()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_background_command_gets_a_minute_unless_the_settings_give_another_time() {
        let set = |seconds| ClientSettings { background_seconds: seconds, ..Default::default() };
        assert_eq!(set(None).background().as_secs(), 60);
        assert_eq!(set(Some(0)).background().as_secs(), 0);
        assert_eq!(set(Some(3600)).refused(), None);
        assert!(set(Some(3601)).refused().unwrap().contains("from 0 to 3600"));
    }
}
