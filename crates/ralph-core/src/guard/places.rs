//! The places that a live loop protects, and how a path is matched against them.
//!
//! Everything is compared folded, whatever the file system: `.CLAUDE/Settings.json` is protected too.

use super::Rule;
use super::RuleHit;
use super::gates::BY_COMMAND;
use crate::protocol::registration::{COMMAND_LINE, COMMANDS, HOOK_EXECUTABLES};
use crate::text::globs::folded;
use serde::{Deserialize, Serialize};

/// Where the protected places are on this machine; all paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ProtectedPaths {
    /// `$RALPH_HOME` or its default.
    pub ralph_home: String,
    /// Claude Code's configuration folders.
    pub config_dirs: Vec<String>,
    /// The folder with the user's settings for Ralph.
    pub user_config: String,
    /// Folders with installed executables.
    pub executables: Vec<String>,
    /// Root of the plugin that started the hook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin_root: Option<String>,
    /// The user's home folder.
    pub home: String,
    /// While an orchestration is live: its folder `.ralph-sessions`, and paths on this command line
    /// that lead there under another name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<String>,
    /// Symbolic links among the paths of this call, each with its target.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<(String, String)>,
    /// The skill that this call loads, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<Skill>,
}

/// What is known about a skill before it is loaded.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Skill {
    /// True if the client can find no text for this name except the one that Ralph ships.
    pub is_shipped: bool,
    /// True if the client runs nothing for it but lines in the session's shell: its text was found, and
    /// brings no hooks.
    #[serde(default)]
    pub stays_in_shell: bool,
}

/// A protected place, as a denial names it.
pub(super) type ProtectedPlace = &'static str;

const STATE: ProtectedPlace = "Ralph's own state";
const SETTINGS: ProtectedPlace = "Ralph's settings";
const HOOKS: ProtectedPlace = "the registration of hooks";
/// With what the client loads like one.
const PLUGINS: ProtectedPlace = "a plugin of the client";
const EXECUTABLE: ProtectedPlace = "an installed executable of Ralph";
const SKILL: ProtectedPlace = "one of Ralph's skills";
/// A row in it can look like an interruption by the user.
const TRANSCRIPT: ProtectedPlace = "the client's record of a conversation";
const SESSION: ProtectedPlace = "the folder of a session";

/// The orchestration's folder, as a script names it.
const SESSIONS: &str = ".ralph-sessions";

const CLIENT_SETTINGS: [&str; 3] =
    ["settings.json", "settings.local.json", "managed-settings.json"];

/// The row for a change of this place, with the text of its denial.
pub(super) fn row(place: ProtectedPlace) -> RuleHit {
    if place == SESSION {
        return (Rule::Artefact, BY_COMMAND.to_owned());
    }
    let reason = format!(
        "This would change {place}, and while a loop is live only the user may do that: they can \
         end it with `/ralph-cancel` and edit it themselves, or do so in another terminal. You \
         may read it (`cat`, `grep`, `ralph status --json`). State is changed with `ralph task \
         …` and `ralph verify`. Go on with the work without this change."
    );
    (Rule::ProtectedPlace, reason)
}

impl ProtectedPaths {
    /// The protected place that a change of this path would change, by its name or by its link target.
    pub(super) fn protected(&self, path: &str, cwd: &str) -> Option<ProtectedPlace> {
        self.named_or_led(path, cwd, |path| self.protects(path))
    }

    fn named_or_led<T>(
        &self,
        path: &str,
        cwd: &str,
        judge: impl Fn(&[String]) -> Option<T>,
    ) -> Option<T> {
        let named = self.segments(path, cwd);
        judge(&named).or_else(|| {
            self.links.iter().find_map(|(from, to)| {
                let rest = named.strip_prefix(&parts(from)[..])?;
                judge(&[parts(to), rest.to_vec()].concat())
            })
        })
    }

    fn protects(&self, path: &[String]) -> Option<ProtectedPlace> {
        let (last, folder) = path.split_last()?;
        let last = last.as_str();
        if is_under(path, &self.ralph_home) || is_kept_apart(path) {
            return Some(STATE);
        }
        if is_under(path, &self.user_config) {
            return Some(SETTINGS);
        }
        if self.plugin_root.as_deref().is_some_and(|root| is_under(path, &format!("{root}/hooks")))
        {
            return Some(PLUGINS);
        }
        let is_ours = last == COMMAND_LINE || HOOK_EXECUTABLES.contains(&last);
        if is_ours && self.executables.iter().any(|place| folder == parts(place)) {
            return Some(EXECUTABLE);
        }
        if last == "managed-settings.json" {
            return Some(HOOKS);
        }
        // A worktree of the client's lies in such a folder and has one of its own.
        let mut of_client = (1..path.len()).filter(|at| self.is_client_folder(&path[..*at]));
        if let Some(place) = of_client.find_map(|at| within_client(&path[at..])) {
            return Some(place);
        }
        self.sessions.iter().any(|place| is_under(path, place)).then_some(SESSION)
    }

    /// The protected place that would be removed or moved together with this path.
    pub(super) fn holds_protected(&self, path: &str, cwd: &str) -> Option<ProtectedPlace> {
        let project = format!("{cwd}/.claude");
        let config = self.config_dirs.iter().chain([&project]).map(|place| (HOOKS, place));
        let all =
            [(STATE, &self.ralph_home), (SETTINGS, &self.user_config)].into_iter().chain(config);
        let all = all.chain(self.plugin_root.iter().map(|place| (PLUGINS, place)));
        let all = all.chain(self.executables.iter().map(|place| (EXECUTABLE, place)));
        let all: Vec<_> = all.chain(self.sessions.iter().map(|place| (SESSION, place))).collect();
        self.named_or_led(path, cwd, |path| {
            let is_client = path.last().is_some_and(|last| last == ".claude");
            let held =
                all.iter().find(|(_, place)| !place.is_empty() && parts(place).starts_with(path));
            held.map(|(place, _)| *place).or(is_client.then_some(HOOKS))
        })
    }

    /// The protected place that a text names, in any language.
    pub(super) fn named_in(&self, text: &str) -> Option<ProtectedPlace> {
        let text = folded(text);
        let has = |name: &str| text.contains(&*folded(name));
        // By its whole path, or behind any spelling of the home folder.
        let names = |place: &str| {
            let below = place
                .strip_prefix(self.home.trim_end_matches('/'))
                .filter(|_| !self.home.is_empty());
            let below =
                below.map(|rest| rest.trim_start_matches('/')).filter(|rest| rest.contains('/'));
            !place.is_empty() && has(place) || below.is_some_and(has)
        };
        let in_config = |below: &str| {
            let all = self.config_dirs.iter().map(String::as_str).chain([".claude"]);
            all.map(|place| format!("{place}/{below}")).any(|place| has(&place))
        };
        let is_state = ["RALPH_HOME", ".ralph-kept", "share/ralph/kept"].into_iter().any(has);
        if names(&self.ralph_home) || is_state {
            return Some(STATE);
        }
        if names(&self.user_config) || has("ralph.toml") {
            return Some(SETTINGS);
        }
        if !self.sessions.is_empty() && has(SESSIONS) {
            return Some(SESSION);
        }
        if in_config("projects/") && has(".jsonl") {
            return Some(TRANSCRIPT);
        }
        if in_config("settings") || has("managed-settings.json") {
            return Some(HOOKS);
        }
        let is_plugins =
            || self.plugin_root.as_deref().is_some_and(|root| names(&format!("{root}/hooks")));
        let in_skill = || in_config("skills/") && [".claude-plugin", "/hooks"].into_iter().any(has);
        if in_config("plugins") || in_config("dev-mods") || in_skill() || is_plugins() {
            return Some(PLUGINS);
        }
        if self.executables.iter().any(|place| names(&format!("{place}/ralph"))) {
            return Some(EXECUTABLE);
        }
        in_config("skills/ralph").then_some(SKILL)
    }

    /// The absolute path, as it is looked up on the disk.
    pub(super) fn absolute(&self, path: &str, cwd: &str) -> String {
        format!("/{}", self.spelled(path, cwd).join("/"))
    }

    /// True for this folder itself and its parents.
    pub(super) fn is_at_or_above(&self, path: &str, folder: &str) -> bool {
        self.segments(folder, "/").starts_with(&self.segments(path, folder))
    }

    /// A path as a tool's input gives it, with the variables that a shell would fill in.
    pub(super) fn written_out(&self, text: &str) -> String {
        let path = text.strip_prefix("file://").unwrap_or(text).to_owned();
        let variables = [("HOME", &self.home), ("RALPH_HOME", &self.ralph_home)];
        variables.into_iter().fold(path, |path, (name, value)| {
            path.replace(&format!("${{{name}}}"), value).replace(&format!("${name}"), value)
        })
    }

    /// The folded segments of the absolute path.
    fn segments(&self, path: &str, cwd: &str) -> Vec<String> {
        self.spelled(path, cwd).iter().map(|part| folded(part).into_owned()).collect()
    }

    /// The segments of the absolute path, without `.` and `..`.
    fn spelled(&self, path: &str, cwd: &str) -> Vec<String> {
        let home = path.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
        let absolute = match home {
            Some(rest) => format!("{}{rest}", self.home),
            None if path.starts_with('/') => path.to_owned(),
            None => format!("{cwd}/{path}"),
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

    /// True for a folder with the client's own settings: `.claude` anywhere, or a configuration folder.
    fn is_client_folder(&self, folder: &[String]) -> bool {
        folder.last().is_some_and(|name| name == ".claude")
            || self.config_dirs.iter().any(|place| folder == parts(place))
    }
}

/// True for what Ralph keeps of a loop outside of its own folder.
fn is_kept_apart(path: &[String]) -> bool {
    path.iter().any(|part| part == ".ralph-kept")
        || path.windows(3).any(|parts| parts == ["share", "ralph", "kept"])
}

/// What a path below a folder of the client's settings is.
fn within_client(path: &[String]) -> Option<ProtectedPlace> {
    let names: Vec<&str> = path.iter().map(String::as_str).collect();
    match names.as_slice() {
        ["ralph.toml"] => Some(SETTINGS),
        [name] if CLIENT_SETTINGS.contains(name) => Some(HOOKS),
        ["plugins" | "dev-mods", ..] | ["skills", .., ".claude-plugin" | "hooks"] => Some(PLUGINS),
        ["skills", .., ".claude-plugin" | "hooks", _] => Some(PLUGINS),
        ["skills", name, "skill.md"] if is_ours(name) => Some(SKILL),
        ["projects", .., name] if name.ends_with(".jsonl") => Some(TRANSCRIPT),
        _ => None,
    }
}

/// The folded segments of a path.
fn parts(path: &str) -> Vec<String> {
    path.split('/').filter(|part| !part.is_empty()).map(|part| folded(part).into_owned()).collect()
}

fn is_under(path: &[String], place: &str) -> bool {
    !place.is_empty() && path.starts_with(&parts(place))
}

/// False only for a path that is not that of an executable of Ralph, wherever those are.
pub fn may_be_executable(path: &str) -> bool {
    folded(path).contains("ralph")
}

/// True for a name that begins with `ralph` or is one of Ralph's commands.
fn is_ours(name: &str) -> bool {
    name.starts_with("ralph") || COMMANDS.contains(&name)
}

#[cfg(test)]
mod tests;
