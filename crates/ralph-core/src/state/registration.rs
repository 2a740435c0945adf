//! Where a hook is registered.

use crate::text::from_json::{FromJson, Mistake, mistake};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A place where hooks are registered, in ascending rank. If one event starts a hook more than
/// once, only the highest-ranking copy that the loop has seen counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Registration {
    /// The hook got no registration name.
    Unnamed,
    /// A skill's front matter.
    Skill,
    /// A plugin's `hooks.json`.
    Plugin,
    /// A settings file.
    Settings,
}

impl Registration {
    /// All variants, in ascending rank.
    pub const ALL: [Registration; 4] =
        [Registration::Unnamed, Registration::Skill, Registration::Plugin, Registration::Settings];

    /// The word that a registration passes as the last argument.
    pub fn as_str(self) -> &'static str {
        match self {
            Registration::Unnamed => "unnamed",
            Registration::Skill => "skill",
            Registration::Plugin => "plugin",
            Registration::Settings => "settings",
        }
    }

    /// The registration that started an executable, from its last argument.
    pub fn from_argument(argument: Option<&str>) -> Registration {
        match argument {
            Some("settings") => Registration::Settings,
            Some("plugin") => Registration::Plugin,
            Some("skill") => Registration::Skill,
            _ => Registration::Unnamed,
        }
    }
}

impl FromJson for Registration {
    fn from_json(value: Value) -> Result<Self, Mistake> {
        let word = String::from_json(value)?;
        let known = Registration::ALL.into_iter().find(|via| via.as_str() == word);
        known.map_or_else(|| mistake("a way to register"), Ok)
    }
}
