//! The places that a live loop protects, and how a path is recognised as one of them.
//!
//! Paths come from command lines, so they may hold the marks of [`crate::shell`] for globs and for
//! what is not known. A glob that could match counts as a match; a part that is wholly unknown
//! matches nothing by itself, or every `rm "$file"` would be refused.

use super::Rule;
use super::session::BY_COMMAND;
use crate::registration::COMMANDS;
use crate::shell::{ONE, STAR, UNKNOWN};
use serde::{Deserialize, Serialize};

/// Where things are on this machine; all absolute.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Places {
    /// `$RALPH_HOME`, or where it is by default.
    pub ralph_home: String,
    /// Claude Code's configuration folders.
    pub config_dirs: Vec<String>,
    /// The folder of the user's own settings of Ralph.
    pub user_config: String,
    /// Folders that hold the installed executables.
    pub executables: Vec<String>,
    /// The plugin that the hook was started from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin_root: Option<String>,
    /// The user's home.
    pub home: String,
    /// While an orchestrated session is live: the folder of sessions, and paths on this command line that lead
    /// there without saying so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<String>,
}

/// What a protected place is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    State,
    UserSettings,
    ProjectSettings,
    HookSettings,
    PluginHooks,
    Executable,
    Skill,
    Session,
}

pub(super) const HOOKS: [&str; 5] = [
    "ralph-user-prompt",
    "ralph-pre-tool-use",
    "ralph-backpressure",
    "ralph-stop-hook",
    "ralph-session-context",
];

/// How the folder of sessions is named in a script.
const SESSIONS: &str = ".ralph-sessions";

const CLIENT_SETTINGS: [&str; 3] =
    ["settings.json", "settings.local.json", "managed-settings.json"];

/// The row that a change of the place falls into, with what its denial says.
pub(super) fn row(place: Place) -> (Rule, String) {
    match place {
        Place::Session => (Rule::Artefact, BY_COMMAND.to_owned()),
        place => (Rule::ProtectedPlace, refusal(place)),
    }
}

/// The text of a denial.
pub(super) fn refusal(place: Place) -> String {
    let what = match place {
        Place::State => "Ralph's own state",
        Place::UserSettings | Place::ProjectSettings => "Ralph's settings",
        Place::HookSettings | Place::PluginHooks => "the registration of hooks",
        Place::Executable => "an installed executable of Ralph",
        Place::Skill => "one of Ralph's skills",
        Place::Session => "the folder of a session",
    };
    format!(
        "This would change {what}, and while a loop is live only a person may do that: they can \
         end it with `/ralph-cancel` and edit it themselves, or do so in another terminal. You \
         may read it (`cat`, `grep`, `ralph status --json`). State is changed with `ralph task \
         …` and `ralph verify`. Go on with the work without this change."
    )
}

impl Places {
    /// Whether an edit of this path is an edit of a protected place.
    pub(super) fn protected(&self, path: &str, cwd: &str) -> Option<Place> {
        let path = self.segments(path, cwd);
        let (last, folder) = path.split_last()?;
        if is_under(&path, &self.ralph_home) {
            return Some(Place::State);
        }
        if is_under(&path, &self.user_config) {
            return Some(Place::UserSettings);
        }
        let of_client = self.is_client_folder(folder);
        if of_client && could_be(last, "ralph.toml") {
            return Some(Place::ProjectSettings);
        }
        let is_settings = CLIENT_SETTINGS.iter().any(|name| could_be(last, name));
        if of_client && is_settings || last == "managed-settings.json" {
            return Some(Place::HookSettings);
        }
        if could_be(last, "hooks.json") && self.is_plugins_hooks(folder) {
            return Some(Place::PluginHooks);
        }
        if self.executables.iter().any(|place| is_exactly(folder, place)) && is_executable(last) {
            return Some(Place::Executable);
        }
        if self.is_skill(&path) {
            return Some(Place::Skill);
        }
        self.sessions.iter().any(|place| is_under(&path, place)).then_some(Place::Session)
    }

    /// Whether removing this path would take a protected place with it.
    pub(super) fn holds_protected(&self, path: &str, cwd: &str) -> Option<Place> {
        let path = self.segments(path, cwd);
        if path.iter().any(|segment| segment.contains(UNKNOWN)) {
            return None;
        }
        let holds = |place: &str| {
            let place: Vec<&str> = place.split('/').filter(|part| !part.is_empty()).collect();
            !place.is_empty()
                && path.len() <= place.len()
                && path.iter().zip(&place).all(|(pattern, name)| could_be(pattern, name))
        };
        if holds(&self.ralph_home) {
            return Some(Place::State);
        }
        if holds(&self.user_config) {
            return Some(Place::UserSettings);
        }
        let project = format!("{cwd}/.claude");
        let client = self.config_dirs.iter().any(|place| holds(place)) || holds(&project);
        if client || path.last().is_some_and(|last| could_be(last, ".claude")) {
            return Some(Place::HookSettings);
        }
        if self.plugin_root.as_deref().is_some_and(holds) {
            return Some(Place::PluginHooks);
        }
        if self.executables.iter().any(|place| holds(place)) {
            return Some(Place::Executable);
        }
        if self.sessions.iter().any(|place| holds(place)) {
            return Some(Place::Session);
        }
        match path.as_slice() {
            [folder @ .., plugins] if plugins == "plugins" && self.is_client_folder(folder) => {
                Some(Place::PluginHooks)
            }
            [folder @ .., skills] if skills == "skills" && self.is_client_folder(folder) => {
                Some(Place::Skill)
            }
            [folder @ .., skills, name]
                if skills == "skills" && is_ours(name) && self.is_client_folder(folder) =>
            {
                Some(Place::Skill)
            }
            _ => None,
        }
    }

    /// Whether a text that nobody can take apart names a protected place.
    pub(super) fn named_in(&self, text: &str) -> Option<Place> {
        let below_home = |place: &str| {
            let rest = place.strip_prefix(self.home.trim_end_matches('/'));
            rest.map(|rest| rest.trim_start_matches('/').to_owned())
                .filter(|rest| !self.home.is_empty() && rest.contains('/'))
        };
        let names = |place: &str| {
            (!place.is_empty() && text.contains(place))
                || below_home(place).is_some_and(|rest| text.contains(&rest))
        };
        if names(&self.ralph_home) || text.contains("RALPH_HOME") {
            return Some(Place::State);
        }
        if names(&self.user_config) || text.contains("ralph.toml") {
            return Some(Place::UserSettings);
        }
        if !self.sessions.is_empty() && text.contains(SESSIONS) {
            return Some(Place::Session);
        }
        let settings = [".claude/settings", "managed-settings.json"];
        let custom =
            self.config_dirs.iter().any(|place| text.contains(&format!("{place}/settings")));
        (custom || settings.iter().any(|name| text.contains(name))).then_some(Place::HookSettings)
    }

    /// The parts of a path, absolute, without `.` and `..`.
    fn segments(&self, path: &str, cwd: &str) -> Vec<String> {
        let is_whole = path.starts_with(['/', UNKNOWN]) || from_home(path).is_some();
        let joined = if is_whole { path.to_owned() } else { format!("{cwd}/{path}") };
        let absolute = match from_home(&joined) {
            Some(rest) => format!("{}{rest}", self.home),
            None => joined,
        };
        let mut parts: Vec<String> = Vec::new();
        for part in absolute.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop()),
                _ => parts.push(part.to_owned()),
            }
        }
        parts
    }

    fn is_client_folder(&self, folder: &[String]) -> bool {
        folder.last().is_some_and(|name| could_be(name, ".claude"))
            || self.config_dirs.iter().any(|place| is_exactly(folder, place))
    }

    fn is_plugins_hooks(&self, folder: &[String]) -> bool {
        let Some((hooks, root)) = folder.split_last() else { return false };
        let installed = (1..root.len())
            .any(|at| could_be(&root[at], "plugins") && self.is_client_folder(&root[..at]));
        let ours = self.plugin_root.as_deref().is_some_and(|place| is_exactly(root, place));
        could_be(hooks, "hooks") && (installed || ours)
    }

    fn is_skill(&self, path: &[String]) -> bool {
        let [folder @ .., skills, name, file] = path else { return false };
        could_be(file, "SKILL.md")
            && is_ours(name)
            && could_be(skills, "skills")
            && self.is_client_folder(folder)
    }
}

/// What follows a `~` that stands for the user's own home.
fn from_home(path: &str) -> Option<&str> {
    path.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn is_under(path: &[String], place: &str) -> bool {
    let mut place = place.split('/').filter(|part| !part.is_empty()).peekable();
    let mut path = path.iter();
    place.peek().is_some()
        && place.all(|name| path.next().is_some_and(|pattern| could_be(pattern, name)))
}

fn is_exactly(path: &[String], place: &str) -> bool {
    is_under(path, place) && path.len() == place.split('/').filter(|part| !part.is_empty()).count()
}

fn is_executable(name: &str) -> bool {
    could_be(name, "ralph") || HOOKS.iter().any(|hook| could_be(name, hook))
}

/// A name that begins with `ralph` or is a command of ours, or a glob that some such name matches.
fn is_ours(name: &str) -> bool {
    name.starts_with("ralph") || COMMANDS.iter().any(|command| could_be(name, command))
}

/// Whether a part of a path, perhaps with globs, could be this name.
pub(super) fn could_be(pattern: &str, name: &str) -> bool {
    if !pattern.contains([UNKNOWN, STAR, ONE]) {
        return pattern == name;
    }
    if pattern.chars().all(|letter| letter == UNKNOWN) {
        return false;
    }

    // A glob at the beginning does not match a dot file.
    if name.starts_with('.') && pattern.starts_with([STAR, ONE]) {
        return false;
    }
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut from, mut retry) = (0, 0, None);
    while from < name.len() {
        match pattern.get(at) {
            Some(&(STAR | UNKNOWN)) => {
                retry = Some((at, from + 1));
                at += 1;
            }
            Some(&letter) if letter == ONE || letter == name[from] => {
                at += 1;
                from += 1;
            }
            // The last star takes one letter more.
            _ => match retry {
                Some(again) => (at, from) = again,
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|letter| matches!(*letter, STAR | UNKNOWN))
}

#[cfg(test)]
mod tests;
