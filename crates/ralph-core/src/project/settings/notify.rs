//! The section `[notify]`: how Ralph calls a user who is looking elsewhere.
//!
//! Both settings start a program, so Ralph ignores the section of a project's file until the user
//! has trusted that file.

use serde::{Deserialize, Serialize};

/// The section `[notify]`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NotifySettings {
    /// True for a notification on the desktop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub desktop: Option<bool>,
    /// A program, by its name on `PATH` or its absolute path, and its arguments. It gets one JSON
    /// document on standard input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
}

impl NotifySettings {
    pub(super) fn over(self, below: NotifySettings) -> NotifySettings {
        NotifySettings {
            desktop: self.desktop.or(below.desktop),
            command: self.command.or(below.command),
        }
    }

    /// True if something is to be started at an event.
    pub fn is_set(&self) -> bool {
        self.desktop == Some(true) || self.program().is_some()
    }

    /// The program and its arguments; `None` if no command is set.
    pub fn program(&self) -> Option<(&str, &[String])> {
        let (program, args) = self.command.as_deref()?.split_first()?;
        Some((program, args))
    }

    pub(super) fn refused(&self) -> Option<String> {
        let (program, _) = self.program()?;
        // A relative path would start whatever the project has there.
        let is_usable = program.starts_with('/') || !(program.is_empty() || program.contains('/'));
        (!is_usable).then(|| {
            format!(
                "`notify.command` starts with the name of a program or an absolute path, not `{program}`"
            )
        })
    }
}
