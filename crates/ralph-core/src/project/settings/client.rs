//! The section `[client]`: how headless loops start the client.
//!
//! A cloned repository must not weaken the client's permission prompts: without trust, a project
//! may only choose a mode that allows no more than the default.

use crate::protocol::permission::Mode;
use serde::{Deserialize, Serialize};

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
}

impl ClientSettings {
    pub(super) fn over(self, below: ClientSettings) -> ClientSettings {
        ClientSettings {
            permission_mode: self.permission_mode.or(below.permission_mode),
            unattended: self.unattended.or(below.unattended),
        }
    }

    pub(super) fn of_untrusted_project(self) -> ClientSettings {
        let is_meek = |mode: &String| {
            Mode::named(mode)
                .is_some_and(|mode| matches!(mode, Mode::Default | Mode::Plan | Mode::DontAsk))
        };
        // `unattended` only ever refuses more.
        ClientSettings { permission_mode: self.permission_mode.filter(is_meek), ..self }
    }

    pub(super) fn refused(&self) -> Option<String> {
        let mode = self.permission_mode.as_ref().filter(|mode| Mode::named(mode).is_none())?;
        Some(format!("`client.permission_mode` is {}, not `{mode}`", Mode::names()))
    }
}
