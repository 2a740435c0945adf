//! The places that a live loop protects, and how a path is matched against them.
//!
//! Paths come from command lines, so they may contain the markers of [`crate::shell`] for globs and
//! for unknown parts. A glob that could match counts as a match. A segment that is completely
//! unknown matches nothing by itself, because otherwise every `rm "$file"` would be refused.
//! Everything is compared folded, whatever the file system: `.CLAUDE/Settings.json` is protected too.

use super::Rule;
use super::brought::Brought;
use super::orchestration_gate::BY_COMMAND;
use crate::protocol::registration::COMMANDS;
use crate::shell::{ONE, STAR, UNKNOWN, is_computed};
use crate::text::folded::folded;
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
    /// The contents of the folders and patches that this call copies or applies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub brought: Vec<Brought>,
    /// The skill that this call loads, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<Skill>,
}

/// What is known about a skill before it is loaded.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Skill {
    /// True if the client can find no text for this name except the one that Ralph ships.
    pub is_shipped: bool,
    /// The command lines that the client runs when it loads the skill.
    pub commands: Vec<String>,
}

/// The kind of a protected place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProtectedPlace {
    State,
    UserSettings,
    ProjectSettings,
    HookSettings,
    PluginHooks,
    Executable,
    Skill,
    /// The client's transcript: a row in it can look like an interruption by the user.
    Transcript,
    Session,
    /// A patch that cannot be read before it is applied, and may change any of these.
    Patched,
}

pub(super) const HOOKS: [&str; 5] = [
    "ralph-user-prompt",
    "ralph-pre-tool-use",
    "ralph-backpressure",
    "ralph-stop-hook",
    "ralph-session-context",
];

/// The orchestration's folder, as a script names it.
const SESSIONS: &str = ".ralph-sessions";

const PATCHED: &str = "This applies a patch that cannot be read before it is applied, and while a loop is live a \
patch must not change Ralph's settings or the registration of hooks. Write the patch into a file first (`git diff … > \
x.patch`), and apply that file by its name in a call of its own. Or make the change with the Edit tool.";

const CLIENT_SETTINGS: [&str; 3] =
    ["settings.json", "settings.local.json", "managed-settings.json"];

/// The row for a change of this place, with the text of its denial.
pub(super) fn row(place: ProtectedPlace) -> (Rule, String) {
    match place {
        ProtectedPlace::Session => (Rule::Artefact, BY_COMMAND.to_owned()),
        ProtectedPlace::Patched => (Rule::ProtectedPlace, PATCHED.to_owned()),
        place => (Rule::ProtectedPlace, refusal(place)),
    }
}

pub(super) fn refusal(place: ProtectedPlace) -> String {
    let what = match place {
        ProtectedPlace::State => "Ralph's own state",
        ProtectedPlace::UserSettings | ProtectedPlace::ProjectSettings => "Ralph's settings",
        ProtectedPlace::HookSettings | ProtectedPlace::PluginHooks => "the registration of hooks",
        ProtectedPlace::Executable => "an installed executable of Ralph",
        ProtectedPlace::Skill => "one of Ralph's skills",
        ProtectedPlace::Transcript => "the client's record of a conversation",
        ProtectedPlace::Session => "the folder of a session",
        ProtectedPlace::Patched => "places that nobody can see beforehand",
    };
    format!(
        "This would change {what}, and while a loop is live only a person may do that: they can \
         end it with `/ralph-cancel` and edit it themselves, or do so in another terminal. You \
         may read it (`cat`, `grep`, `ralph status --json`). State is changed with `ralph task \
         …` and `ralph verify`. Go on with the work without this change."
    )
}

impl ProtectedPaths {
    /// The protected place that an edit of this path would change, by its name or by its link
    /// target.
    pub(super) fn protected(&self, path: &str, cwd: &str) -> Option<ProtectedPlace> {
        let said = self.segments(path, cwd);
        let led = self.led(&said);
        self.protects(said).or_else(|| led.into_iter().find_map(|path| self.protects(path)))
    }

    fn protects(&self, path: Vec<String>) -> Option<ProtectedPlace> {
        let (last, folder) = path.split_last()?;
        if is_under(&path, &self.ralph_home) || self.is_within_state(&path) {
            return Some(ProtectedPlace::State);
        }
        if is_under(&path, &self.user_config) {
            return Some(ProtectedPlace::UserSettings);
        }
        let of_client = self.is_client_folder(folder);
        if of_client && could_be(last, "ralph.toml") {
            return Some(ProtectedPlace::ProjectSettings);
        }
        let is_settings = CLIENT_SETTINGS.iter().any(|name| could_be(last, name));
        if of_client && is_settings || last == "managed-settings.json" {
            return Some(ProtectedPlace::HookSettings);
        }
        if could_be(last, "hooks.json") && self.is_plugins_hooks(folder) {
            return Some(ProtectedPlace::PluginHooks);
        }
        if self.executables.iter().any(|place| is_exactly(folder, place)) && is_executable(last) {
            return Some(ProtectedPlace::Executable);
        }
        if self.is_skill(&path) {
            return Some(ProtectedPlace::Skill);
        }
        if self.is_transcript(&path) {
            return Some(ProtectedPlace::Transcript);
        }
        self.sessions.iter().any(|place| is_under(&path, place)).then_some(ProtectedPlace::Session)
    }

    /// The protected place that would be removed together with this path.
    pub(super) fn holds_protected(&self, path: &str, cwd: &str) -> Option<ProtectedPlace> {
        let said = self.segments(path, cwd);
        let led = self.led(&said);
        self.holds(said, cwd).or_else(|| led.into_iter().find_map(|path| self.holds(path, cwd)))
    }

    fn holds(&self, path: Vec<String>, cwd: &str) -> Option<ProtectedPlace> {
        if let Some(rest) = path.strip_prefix(&[UNKNOWN.to_string()][..]) {
            return self.ends_like(rest);
        }
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
            return Some(ProtectedPlace::State);
        }
        if holds(&self.user_config) {
            return Some(ProtectedPlace::UserSettings);
        }
        let project = format!("{cwd}/.claude");
        let client = self.config_dirs.iter().any(|place| holds(place)) || holds(&project);
        if client || path.last().is_some_and(|last| could_be(last, ".claude")) {
            return Some(ProtectedPlace::HookSettings);
        }
        if self.plugin_root.as_deref().is_some_and(holds) {
            return Some(ProtectedPlace::PluginHooks);
        }
        if self.executables.iter().any(|place| holds(place)) {
            return Some(ProtectedPlace::Executable);
        }
        if self.sessions.iter().any(|place| holds(place)) {
            return Some(ProtectedPlace::Session);
        }
        match path.as_slice() {
            [folder @ .., plugins] if plugins == "plugins" && self.is_client_folder(folder) => {
                Some(ProtectedPlace::PluginHooks)
            }
            [folder @ .., skills] if skills == "skills" && self.is_client_folder(folder) => {
                Some(ProtectedPlace::Skill)
            }
            [folder @ .., skills, name]
                if skills == "skills" && is_ours(name) && self.is_client_folder(folder) =>
            {
                Some(ProtectedPlace::Skill)
            }
            _ => None,
        }
    }

    /// The protected place that a search for this name or path below a folder would find.
    pub(super) fn holds_named(&self, start: &str, name: &str, cwd: &str) -> Option<ProtectedPlace> {
        let start = self.segments(start, cwd);
        let is_below = |file: &str| {
            let file: Vec<&str> = file.split('/').filter(|part| !part.is_empty()).collect();
            start.len() < file.len()
                && start.iter().zip(&file).all(|(pattern, part)| could_be(pattern, part))
                && (could_be(name, file[file.len() - 1])
                    || could_be(name, &format!("/{}", file.join("/"))))
        };
        let of_state = [
            "manifest/x",
            "archive",
            "loops/x/state.json",
            "loops/x/journal.jsonl",
            "loops/x/state.lock",
            "loops",
            "loops/x/start.json",
            "manifest",
            "loops/x/receipts",
        ];
        let of_client = ["settings.json", "settings.local.json", "ralph.toml"];
        let any = |place: &str, files: &[&str]| {
            !place.is_empty()
                && (is_below(place)
                    || files.iter().any(|file| is_below(&format!("{place}/{file}"))))
        };
        if any(&self.ralph_home, &of_state) {
            return Some(ProtectedPlace::State);
        }
        if any(&self.user_config, &["config.toml"]) {
            return Some(ProtectedPlace::UserSettings);
        }
        let project = format!("{cwd}/.claude");
        if self.config_dirs.iter().chain([&project]).any(|place| any(place, &of_client)) {
            return Some(ProtectedPlace::HookSettings);
        }
        if self.config_dirs.iter().any(|place| any(place, &["skills/ralph/SKILL.md"])) {
            return Some(ProtectedPlace::Skill);
        }
        let programs = [&["ralph"][..], &HOOKS].concat();
        self.executables
            .iter()
            .any(|place| any(place, &programs))
            .then_some(ProtectedPlace::Executable)
    }

    /// The protected place that a text names that cannot be parsed.
    pub(super) fn named_in(&self, text: &str) -> Option<ProtectedPlace> {
        let below_home = |place: &str| {
            let rest = place.strip_prefix(self.home.trim_end_matches('/'));
            rest.map(|rest| rest.trim_start_matches('/').to_owned())
                .filter(|rest| !self.home.is_empty() && rest.contains('/'))
        };
        let joined = joined(text);
        let text = &*folded(&format!("{text}\n{joined}")).into_owned();
        let has = |name: &str| text.contains(&*folded(name));
        let names = |place: &str| {
            (!place.is_empty() && has(place)) || below_home(place).is_some_and(|rest| has(&rest))
        };
        if names(&self.ralph_home) || has("RALPH_HOME") {
            return Some(ProtectedPlace::State);
        }
        if names(&self.user_config) || text.contains("ralph.toml") {
            return Some(ProtectedPlace::UserSettings);
        }
        if !self.sessions.is_empty() && text.contains(SESSIONS) {
            return Some(ProtectedPlace::Session);
        }
        let settings = [".claude/settings", "managed-settings.json"];
        let is_record = |place: &str| has(&format!("{place}/projects/")) && text.contains(".jsonl");
        if self.config_dirs.iter().any(|place| is_record(place)) || is_record(".claude") {
            return Some(ProtectedPlace::Transcript);
        }
        let custom = self.config_dirs.iter().any(|place| has(&format!("{place}/settings")));
        (custom || settings.iter().any(|name| text.contains(name)))
            .then_some(ProtectedPlace::HookSettings)
    }

    /// The executable or skill of Ralph that a script names.
    pub(super) fn program_in(&self, text: &str) -> Option<ProtectedPlace> {
        let below_home = |place: &str| {
            let rest = place
                .strip_prefix(self.home.trim_end_matches('/'))
                .filter(|_| !self.home.is_empty());
            rest.map_or_else(|| place.to_owned(), |rest| rest.trim_start_matches('/').to_owned())
        };
        let (joined, text) = (joined(text), folded(text));
        let joined = folded(&joined);
        let named = |path: &str| {
            let path = folded(path);
            !path.is_empty() && (text.contains(&*path) || joined.contains(&*path))
        };
        let program =
            self.executables.iter().any(|place| named(&format!("{}/ralph", below_home(place))));
        let skill = || {
            self.config_dirs
                .iter()
                .any(|place| named(&format!("{}/skills/ralph", below_home(place))))
        };
        match program {
            true => Some(ProtectedPlace::Executable),
            false => skill().then_some(ProtectedPlace::Skill),
        }
    }

    fn is_transcript(&self, path: &[String]) -> bool {
        let is_record = path.last().is_some_and(|last| {
            last.ends_with(".jsonl") || last.ends_with([STAR, UNKNOWN]) && !last.contains(".md")
        });
        let below = |at: usize| path[at] == "projects" && self.is_client_folder(&path[..at]);
        is_record && (1..path.len().saturating_sub(1)).any(below)
    }

    /// The targets of the path through the known links.
    fn led(&self, path: &[String]) -> Vec<Vec<String>> {
        let parts = |path: &str| -> Vec<String> {
            let parts = path.split('/').filter(|part| !part.is_empty());
            parts.map(|part| folded(part).into_owned()).collect()
        };
        let through = |(from, to): &(String, String)| {
            let rest = path.strip_prefix(&parts(from)[..])?;
            Some([parts(to), rest.to_vec()].concat())
        };
        self.links.iter().filter_map(through).collect()
    }

    /// True for a path with an unknown start that continues like the path of Ralph's state.
    fn is_within_state(&self, path: &[String]) -> bool {
        let home = folded(&self.ralph_home);
        let place: Vec<&str> = home.split('/').filter(|part| !part.is_empty()).collect();
        let Some(end) = place.len().checked_sub(2).map(|at| &place[at..]) else { return false };
        path.first().is_some_and(|first| first.contains(UNKNOWN))
            && path[1..].windows(2).any(|pair| pair[0] == end[0] && pair[1] == end[1])
    }

    /// Matches a path with an unknown start whose end is that of a protected folder.
    fn ends_like(&self, rest: &[String]) -> Option<ProtectedPlace> {
        let ends = |place: &str| {
            let place: Vec<&str> = place.split('/').filter(|part| !part.is_empty()).collect();
            let n = rest.len();
            if rest.iter().any(|part| is_computed(part)) {
                return false;
            }
            let like = |names: &[&str]| {
                rest.iter().zip(names).all(|(pattern, name)| could_be(pattern, name))
            };
            let is_end = (1..=place.len()).contains(&n) && like(&place[place.len() - n..]);
            is_end || n > 1 && place.windows(n).any(like)
        };
        if ends(&self.ralph_home) {
            return Some(ProtectedPlace::State);
        }
        if ends(&self.user_config) {
            return Some(ProtectedPlace::UserSettings);
        }
        let client = rest.len() == 1 && rest[0] == ".claude";
        (client || self.config_dirs.iter().any(|place| ends(place)))
            .then_some(ProtectedPlace::HookSettings)
    }

    /// The absolute path, as it is looked up on the disk.
    pub(super) fn absolute(&self, path: &str, cwd: &str) -> String {
        format!("/{}", self.spelled(path, cwd).join("/"))
    }

    /// True for this folder itself and its parents.
    pub(super) fn is_at_or_above(&self, path: &str, folder: &str) -> bool {
        let (path, folder) = (self.segments(path, folder), self.segments(folder, "/"));
        folder.starts_with(&path)
    }

    /// True for a folder with the client's own settings: `.claude` anywhere, or a configuration
    /// folder.
    pub(super) fn is_client(&self, path: &str, cwd: &str) -> bool {
        self.is_client_folder(&self.segments(path, cwd))
    }

    /// Normalises a path in a tool's input: resolves `file:` URLs and variables, and marks globs.
    pub(super) fn written_out(&self, text: &str) -> String {
        let path = match text.strip_prefix("file://") {
            // A host may come first: `file://localhost/x`.
            Some(rest) => unescaped(rest.find('/').map_or(rest, |at| &rest[at..])),
            None => unescaped(text.strip_prefix("file:").unwrap_or(text)),
        };
        let variables = [
            ("HOME", self.home.as_str()),
            ("RALPH_HOME", &self.ralph_home),
            ("XDG_STATE_HOME", self.ralph_home.strip_suffix("/ralph").unwrap_or_default()),
            ("XDG_CONFIG_HOME", self.user_config.strip_suffix("/ralph").unwrap_or_default()),
            ("CLAUDE_CONFIG_DIR", self.config_dirs.first().map_or("", String::as_str)),
        ];
        let path = variables.into_iter().fold(path, |path, (name, value)| {
            [format!("${{{name}}}"), format!("${name}"), format!("%{name}%")]
                .iter()
                .fold(path, |path, form| path.replace(form, value))
        });
        path.replace('*', &STAR.to_string()).replace('?', &ONE.to_string())
    }

    /// The folded segments of the absolute path.
    fn segments(&self, path: &str, cwd: &str) -> Vec<String> {
        let spelled = self.spelled(path, cwd).into_iter();
        spelled.map(|part| folded(&part).into_owned()).collect()
    }

    /// The segments of the absolute path, without `.` and `..`.
    fn spelled(&self, path: &str, cwd: &str) -> Vec<String> {
        // `~+` is the working directory, and `~name` is the home of that user.
        let path = path.strip_prefix("~+/").unwrap_or(path);
        let users = self.home.rsplit('/').next().filter(|name| !name.is_empty()).and_then(|name| {
            let rest = path.strip_prefix('~')?.strip_prefix(name)?;
            (rest.is_empty() || rest.starts_with('/')).then(|| format!("~{rest}"))
        });
        let path = users.as_deref().unwrap_or(path);
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

/// Joins the segments of a path that a text writes separately, as in `'.claude', 'settings.json'`
/// or `home / "x"`.
fn joined(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    for chunk in text.split(['(', ')', '\n', ';']) {
        let parts =
            chunk.split(|letter: char| letter.is_whitespace() || "'\"`,+/".contains(letter));
        for part in parts.filter(|part| !part.is_empty()) {
            joined.push_str(part);
            joined.push('/');
        }
        joined.push('\n');
    }
    joined
}

/// Decodes percent escapes: `%2e` is a dot.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let decoded = digits
            .filter(|_| *first == b'%')
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(decoded.unwrap_or(*first));
        rest = if decoded.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The part after a `~` that stands for the user's own home.
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

/// False only for a path that is not that of an executable of Ralph, wherever those are.
pub fn may_be_executable(path: &str) -> bool {
    folded(path).contains("ralph")
}

fn is_executable(name: &str) -> bool {
    could_be(name, "ralph") || HOOKS.iter().any(|hook| could_be(name, hook))
}

/// True for a name that begins with `ralph` or is one of Ralph's commands, or a glob that matches
/// such a name.
fn is_ours(name: &str) -> bool {
    name.starts_with("ralph") || COMMANDS.iter().any(|command| could_be(name, command))
}

/// True if a path segment, perhaps with globs, could be this name, with letters in any case.
pub(super) fn could_be(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (folded(pattern), folded(name));
    let (pattern, name) = (&*pattern, &*name);
    if !is_computed(pattern) {
        return pattern == name;
    }
    if pattern.chars().all(|letter| letter == UNKNOWN) {
        return false;
    }

    // A glob at the start does not match a dot file.
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
            // Lets the last star match one more character.
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
