//! Where a hook is registered.

use serde::{Deserialize, Serialize};

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

    /// True for the one copy of a hook that tells the user, if several registrations start copies. An
    /// unreadable state would hold the highest rank that was seen; without it each copy works this out
    /// from what is registered.
    pub fn speaks(self, has_plugin: bool, is_in_settings: impl FnOnce() -> bool) -> bool {
        match self {
            Registration::Skill => !has_plugin && !is_in_settings(),
            Registration::Plugin => !is_in_settings(),
            Registration::Settings | Registration::Unnamed => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_registrations_the_highest_speaks() {
        let speakers = |has_plugin, is_in_settings: bool| {
            let all = Registration::ALL.into_iter();
            all.filter(|via| via.speaks(has_plugin, || is_in_settings)).collect::<Vec<_>>()
        };
        assert_eq!(speakers(true, true), [Registration::Unnamed, Registration::Settings]);
        assert_eq!(
            speakers(true, false),
            [Registration::Unnamed, Registration::Plugin, Registration::Settings]
        );
        assert!(speakers(false, false).contains(&Registration::Skill));
    }
}
