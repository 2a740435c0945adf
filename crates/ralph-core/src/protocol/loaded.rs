//! What the client loads that can answer or take the place of Ralph: agents, plugins, and the files that hold a loop.

use crate::protocol::client_version::ClientVersion;
use crate::text::hex::sha256;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

// The agents that Ralph ships, and what would take the place of one. Measured with 2.1.328: of two agents with one
// name the client takes the project's before the user's, whatever the file is called.

macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../agents/", $name, ".md")))),*]
    };
}

const SHIPPED: [(&str, &str); 9] = shipped![
    "Ralph-v2-Executor",
    "Ralph-v2-Planner",
    "Ralph-v2-Questioner",
    "Ralph-v2-Reviewer",
    "ralph-worker",
    "ralplan-architect",
    "ralplan-critic",
    "ralplan-metis",
    "ralplan-planner",
];

/// True for the name of one of these agents, with or without the plugin's prefix.
pub fn is_shipped(kind: &str) -> bool {
    let name = kind.strip_prefix("ralph:").unwrap_or(kind);
    SHIPPED.iter().any(|(shipped, _)| *shipped == name)
}

/// Which agent of Ralph's a project's file would replace, as words; `None` if the text is one that Ralph ships, or an
/// agent of another name. `stem` is the name that the client may give a file without one.
pub fn replaces(text: &str, stem: &str) -> Option<String> {
    if SHIPPED.iter().any(|(_, shipped)| *shipped == text) {
        return None;
    }
    let mut names = names(text);
    names.push(Some(stem));
    names.into_iter().find_map(|name| match name {
        Some(name) => is_shipped(name).then(|| format!("another agent `{name}` than Ralph's")),
        None => {
            Some("an agent whose name is not on a line `name: x`, so it may be Ralph's".to_owned())
        }
    })
}

/// The names in a front matter; `None` for each that is not plain. The client knows every form that YAML has for a
/// member, and the last of several counts; here only a line of the form `name: x` is read.
fn names(text: &str) -> Vec<Option<&str>> {
    let Some(rest) = text.trim_start_matches(['\u{feff}', ' ', '\n', '\r']).strip_prefix("---")
    else {
        return Vec::new();
    };
    let lines = rest.split('\n').take_while(|line| line.trim_end() != "---");
    let lines = lines.flat_map(|line| line.split(['\r', '\u{85}', '\u{2028}', '\u{2029}']));
    let mut lines =
        lines.filter(|line| !line.trim().is_empty() && !line.starts_with('#')).peekable();
    let mut found = Vec::new();
    // Then this may be the indent of all members.
    found.extend(lines.peek().filter(|line| line.starts_with(char::is_whitespace)).map(|_| None));
    found.extend(lines.filter_map(|line| {
        let may_be_a_key =
            |line: &str| line.starts_with(['"', '\'', '&', '!', '*']) && line.contains(':');
        if line.starts_with(['?', '{', ':']) || line.starts_with("<<") || may_be_a_key(line) {
            return Some(None);
        }
        let (key, value) = line.split_once(':')?;
        (key.trim_end() == "name").then(|| plain(value.trim()))
    }));
    found
}

fn plain(value: &str) -> Option<&str> {
    let first = value.chars().next()?;
    if first.is_alphanumeric() {
        let end = [" #", "\t#"].iter().filter_map(|mark| value.find(mark)).min();
        return Some(value[..end.unwrap_or(value.len())].trim_end());
    }
    let inner = value.strip_prefix(['"', '\''])?.strip_suffix(first)?;
    (!inner.contains(['\\', '"', '\''])).then_some(inner)
}

// The plugins of a headless client: which it loads, and whether their JavaScript ("mods") runs.
//
// Measured in print mode with 2.1.200, 2.1.250, 2.1.288, 2.1.300 and 2.1.328: each takes the flag, and
// each prints its plugins when it starts, before the model is asked. Mods came with 2.1.287. The
// guard that the flag configures is a plugin of the client itself and is among those that it prints;
// 2.1.288 and 2.1.300 have none, and there the flag does nothing.

/// Starts a client without mods. The hooks of settings stay.
pub const MODS_OFF: [&str; 2] = [
    "--managed-settings",
    r#"{"pluginConfigs":{"cc-plugin-sec-default@builtin":{"options":{"allowManagedModsOnly":true}}}}"#,
];

/// True for an event of a mod at which it can answer for a hook, or lift its refusal.
pub fn overrules(event: &str) -> bool {
    event.starts_with("classic.") || ["tool.check", "prompt.submit"].contains(&event)
}

const GUARD: &str = "cc-plugin-sec-default@builtin";

/// The first version that loads mods.
const SINCE: ClientVersion = ClientVersion(2, 1, 287);

/// What a client prints of its plugins when it starts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadedPlugins {
    /// The client's own ones are left out.
    names: Vec<String>,
    has_guard: bool,
    version: Option<ClientVersion>,
}

impl LoadedPlugins {
    /// Reads the line with which a session starts.
    pub fn from_init(row: &Value) -> LoadedPlugins {
        let all = || row["plugins"].as_array().into_iter().flatten();
        let folder = row["cwd"].as_str().unwrap_or_default();
        let foreign = all().filter(|plugin| plugin["path"] != "builtin");
        LoadedPlugins {
            names: foreign.map(|plugin| plugin_name(plugin, folder)).collect(),
            has_guard: all().any(|plugin| plugin["source"] == GUARD),
            version: ClientVersion::printed(row["claude_code_version"].as_str().unwrap_or("")),
        }
    }

    /// The client's version, if it loads mods in spite of the flag.
    fn disobeys(&self) -> Option<ClientVersion> {
        self.version.filter(|version| *version >= SINCE && !self.has_guard)
    }
}

/// What tells a plugin from another. The path of one from a marketplace changes with each update, and
/// that of one in the project with the work tree.
fn plugin_name(plugin: &Value, folder: &str) -> String {
    let text = |member: &str| plugin[member].as_str().unwrap_or_default();
    let (source, path) = (text("source"), text("path"));
    let source = if source.is_empty() { text("name") } else { source };
    match source.rsplit_once('@') {
        Some((_, place)) if !matches!(place, "skills-dir" | "inline") => source.to_owned(),
        _ => match path.strip_prefix(folder).filter(|_| !folder.is_empty()) {
            Some(below) => format!("{source} (.{below})"),
            None => format!("{source} ({path})"),
        },
    }
}

/// The plugins that the start of a run listed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedPlugins {
    pub names: Vec<String>,
    /// Why their JavaScript runs all the same; empty if it does not. Then a client must load exactly
    /// these.
    pub mods_on: String,
}

impl ListedPlugins {
    /// What a client printed, and the managed settings that outrank the flag, if there are any.
    pub fn from_loaded(loaded: LoadedPlugins, managed: Option<String>) -> ListedPlugins {
        let mods_on = match (managed, loaded.disobeys()) {
            (Some(managed), _) => format!("`{managed}` outranks the flag that switches them off"),
            (None, Some(version)) => format!(
                "Claude Code {version} does not know the flag that switches them off (`claude update`)"
            ),
            (None, None) => String::new(),
        };
        ListedPlugins { names: loaded.names, mods_on }
    }

    /// What to tell the user before the first round.
    pub fn line(&self) -> Option<String> {
        (!self.names.is_empty() && !self.mods_on.is_empty()).then(|| {
            let names = self.names.join(", ");
            format!(
                "the JavaScript of plugins runs in the rounds: {}; loaded: {names}",
                self.mods_on
            )
        })
    }

    /// Why a client with these plugins must not go on.
    pub fn refusal(&self, loaded: &LoadedPlugins) -> Option<String> {
        let new = loaded.names.iter().find(|name| !self.names.contains(name));
        let gone = self.names.iter().find(|name| !loaded.names.contains(name));
        let gone = gone.filter(|_| !self.mods_on.is_empty());
        let why = |name: &String, what: &str| {
            format!("the client loads other plugins than at the start of the run: `{name}` {what}")
        };
        new.map(|name| why(name, "is new; remove it if it is not yours"))
            .or_else(|| gone.map(|name| why(name, "is gone")))
    }
}

// The files that decide whether a loop is held, and which of their parts count.
//
// The client writes its settings itself, for example a permission that the user grants at a dialog. So of
// them only what decides which hooks run counts.

/// What a watched file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchedKind {
    /// Settings of the client, of the user or of a project.
    ClientSettings,
    /// Ralph's own settings.
    RalphSettings,
    /// The hooks of a plugin that is enabled.
    PluginHooks,
    /// A place from which the client loads plugins and mods.
    Loaded,
    /// An executable of Ralph. Too large to be read at each start, so each write of it is a change.
    Executable,
}

/// The members of the client's settings that decide which hooks run, and with which programs.
const COUNTING: [&str; 5] =
    ["hooks", "disableAllHooks", "env", "enabledPlugins", "extraKnownMarketplaces"];

impl WatchedKind {
    pub const ALL: [WatchedKind; 5] = [
        WatchedKind::ClientSettings,
        WatchedKind::RalphSettings,
        WatchedKind::PluginHooks,
        WatchedKind::Loaded,
        WatchedKind::Executable,
    ];

    /// The word for it in a record.
    pub fn word(self) -> &'static str {
        match self {
            WatchedKind::ClientSettings => "client",
            WatchedKind::RalphSettings => "ralph",
            WatchedKind::PluginHooks => "plugin",
            WatchedKind::Loaded => "loaded",
            WatchedKind::Executable => "executable",
        }
    }

    /// A digest of what counts in such a file; `None` for a file that is not there. A settings file without
    /// anything that counts is the same as none, and so is an empty file: the client's sandbox puts one where a command may
    /// not write.
    pub fn digest(self, content: Option<&[u8]>) -> String {
        let content = content.filter(|text| !text.is_empty());
        let parsed: Option<BTreeMap<String, Value>> = match (self, content) {
            (WatchedKind::ClientSettings, None) => Some(BTreeMap::new()),
            (WatchedKind::ClientSettings, Some(text)) => serde_json::from_slice(text).ok(),
            _ => None,
        };
        let Some(mut settings) = parsed else {
            return content.map(sha256).unwrap_or_default();
        };
        settings.retain(|name, _| COUNTING.contains(&name.as_str()));
        sha256(settings.iter().map(|(name, value)| format!("{name}={value}\n")).collect::<String>())
    }
}

/// What counts in the client's list of installed plugins, in this folder. The client updates those that it has by itself,
/// so their names count, and folders that are not its own.
pub fn of_installed(list: &[u8], plugins: &Path) -> String {
    let own = plugins.join("cache");
    let list: Value = serde_json::from_slice(list).unwrap_or_default();
    let mut counting = String::new();
    for (id, copies) in list["plugins"].as_object().into_iter().flatten() {
        let paths = copies.as_array().into_iter().flatten();
        let paths = paths.filter_map(|copy| copy["installPath"].as_str());
        let others: Vec<_> = paths.filter(|path| !Path::new(path).starts_with(&own)).collect();
        counting += &format!("{id} {others:?}\n");
    }
    counting
}

/// What became of a watched file, for the user.
pub fn change(kind: WatchedKind, path: &str, is_there: bool) -> String {
    let whose = match kind {
        _ if !is_there => return format!("`{path}` was removed"),
        WatchedKind::ClientSettings => "the hooks of",
        WatchedKind::RalphSettings => "the settings",
        WatchedKind::PluginHooks => "the hooks of a plugin in",
        WatchedKind::Loaded => "what the client loads from",
        WatchedKind::Executable => "the executable",
    };
    format!("{whose} `{path}` changed")
}

#[cfg(test)]
mod agents_tests {
    use super::*;

    fn replaced_agent(members: &str) -> Option<String> {
        replaces(&format!("---\n{members}\ndescription: x\n---\nIt holds.\n"), "")
    }

    #[test]
    fn what_the_client_takes_for_an_agent_of_ralphs_is_named_in_each_form() {
        for (name, text) in SHIPPED {
            assert_eq!(replaces(text, ""), None);
            assert_eq!(names(text), [Some(name)]);
            assert!(replaces(&format!("{text} "), "").unwrap().contains(name));
            assert!(is_shipped(&format!("ralph:{name}")));
        }
        // Each was taken by 2.1.328.
        for form in [
            "name: ralplan-critic",
            "name: 'ralplan-critic'",
            "name: \"ralplan\\x2dcritic\"",
            "\"n\\x61me\": ralplan-critic",
            "name : ralplan-critic",
            "name\t: ralplan-critic # mine",
            "x: &a ralplan-critic\nname: *a",
            "name: >-\n  ralplan-critic",
            "<<: {name: ralplan-critic}",
            "name: foo\nname: ralplan-critic",
            "name: ralplan-critic\nfoo: a: b: c",
            "color: red\rname: ralplan-critic",
            "!!str name: ralplan-critic",
            "  name: ralplan-critic",
            "{name: ralplan-critic, x: y}",
        ] {
            assert!(replaced_agent(form).is_some(), "{form}");
            assert!(replaced_agent(&form.replace('\n', "\r\n")).is_some(), "{form}");
        }
        assert!(replaces("\u{feff}---  \nname: ralplan-critic\n---  \n", "").is_some());
        assert!(replaces("It holds.", "ralplan-critic").is_some());
    }

    #[test]
    fn an_agent_of_another_name_is_the_projects_own() {
        for form in [
            "name: reviewer",
            "name: \"my reviewer\"\ntools:\n- Read\nhooks:\n  Stop: []",
            "name: Ralplan-Critic",
            "# name: ralplan-critic\nname: critic # of ralplan-critic",
            "name: a\ndescription: Use it: <example>\n<example>\n  name: ralplan-critic",
            "color: red",
        ] {
            assert_eq!(replaced_agent(form), None, "{form}");
        }
        assert_eq!(replaces("name: ralplan-critic\n", "notes"), None);
    }
}

#[cfg(test)]
mod plugins_tests {
    use super::*;
    use serde_json::json;

    fn loaded(sources: &[(&str, &str)], version: &str) -> LoadedPlugins {
        let plugins: Vec<_> =
            sources.iter().map(|(source, path)| json!({"source": source, "path": path})).collect();
        LoadedPlugins::from_init(
            &json!({"plugins": plugins, "cwd": "/p", "claude_code_version": version}),
        )
    }

    #[test]
    fn a_plugin_keeps_its_name_in_another_work_tree_and_after_an_update() {
        let all = [
            ("a@market", "/cache/a/1.0"),
            ("b@skills-dir", "/p/.claude/skills/b"),
            ("b@skills-dir", "/home/.claude/skills/b"),
            ("x@builtin", "builtin"),
        ];
        let names = [
            "a@market",
            "b@skills-dir (./.claude/skills/b)",
            "b@skills-dir (/home/.claude/skills/b)",
        ];
        assert_eq!(loaded(&all, "").names, names);
    }

    #[test]
    fn a_client_may_load_less_than_was_listed_unless_mods_run() {
        let listed = |managed: Option<&str>| {
            ListedPlugins::from_loaded(
                loaded(&[("a@m", "/a"), (GUARD, "builtin")], "2.1.328"),
                managed.map(str::to_owned),
            )
        };
        let (same, more) =
            (loaded(&[("a@m", "/b")], ""), loaded(&[("a@m", "/b"), ("b@m", "/c")], ""));
        for managed in [None, Some("/etc/x")] {
            assert_eq!(listed(managed).refusal(&same), None);
            assert!(listed(managed).refusal(&more).unwrap().contains("`b@m` is new"));
            let less = listed(managed).refusal(&LoadedPlugins::default());
            assert_eq!(less.is_some(), managed.is_some(), "{less:?}");
            assert_eq!(listed(managed).line().is_some(), managed.is_some());
        }
    }

    #[test]
    fn a_version_with_mods_and_without_their_guard_does_not_obey_the_flag() {
        for (version, guard, obeys) in [
            ("2.1.250", false, true),
            ("2.1.287", false, false),
            ("2.1.300", false, false),
            ("2.1.328", true, true),
            ("", false, true),
        ] {
            let mut all = vec![("a@m", "/a")];
            all.extend(guard.then_some((GUARD, "builtin")));
            let listed = ListedPlugins::from_loaded(loaded(&all, version), None);
            assert_eq!(listed.line().is_none(), obeys, "{version}: {:?}", listed.line());
        }
    }
}

#[cfg(test)]
mod watched_tests {
    use super::*;

    fn settings(text: &str) -> String {
        WatchedKind::ClientSettings.digest(Some(text.as_bytes()))
    }

    #[test]
    fn what_the_client_writes_into_its_settings_changes_nothing_that_counts() {
        let before = settings(r#"{"hooks":{"Stop":[]},"model":"a"}"#);
        for same in [
            r#"{"model":"b","hooks":{"Stop":[]}}"#,
            r#"{ "hooks": { "Stop": [] }, "permissions": {"allow": ["Bash(npm test)"]} }"#,
        ] {
            assert_eq!(settings(same), before, "{same}");
        }
        for other in [
            r#"{"model":"a"}"#,
            r#"{"hooks":{"Stop":[{}]}}"#,
            r#"{"hooks":{"Stop":[]},"disableAllHooks":true}"#,
            r#"{"hooks":{"Stop":[]},"env":{"PATH":"/x"}}"#,
            r#"{"hooks":{"Stop":[]},"enabledPlugins":{"x@y":true}}"#,
            r#"{"hooks":{"Stop":[]},"extraKnownMarketplaces":{}}"#,
            "{\"hooks\":",
        ] {
            assert_ne!(settings(other), before, "{other}");
        }
    }

    #[test]
    fn a_settings_file_without_anything_that_counts_is_none() {
        let none = WatchedKind::ClientSettings.digest(None);
        assert_eq!(settings(r#"{"permissions":{"allow":[]}}"#), none);
        assert_eq!(settings(""), none);
        assert_ne!(settings(r#"{"disableAllHooks":true}"#), none);
    }

    #[test]
    fn each_byte_of_another_file_counts() {
        for kind in [WatchedKind::RalphSettings, WatchedKind::PluginHooks, WatchedKind::Loaded] {
            assert_ne!(kind.digest(Some(b"{}")), kind.digest(Some(b"{ }")));
            assert_ne!(kind.digest(Some(b" ")), kind.digest(None));
            assert_eq!(kind.digest(Some(b"")), kind.digest(None));
        }
    }

    #[test]
    fn an_update_by_the_client_changes_nothing_that_counts_of_its_list() {
        let list = |id: &str, path: &str| {
            let list =
                serde_json::json!({"plugins": {id: [{"installPath": path, "version": "1"}]}});
            of_installed(list.to_string().as_bytes(), Path::new("/c/plugins"))
        };
        let before = list("a@m", "/c/plugins/cache/m/a/1");
        assert_eq!(list("a@m", "/c/plugins/cache/m/a/2"), before);
        assert_ne!(list("b@m", "/c/plugins/cache/m/a/1"), before);
        assert_ne!(list("a@m", "/elsewhere"), before);
        assert_eq!(of_installed(b"{}", Path::new("/")), of_installed(b"", Path::new("/")));
    }

    #[test]
    fn a_change_names_the_file_and_what_became_of_it() {
        let said = |kind, is_there| change(kind, "/f", is_there);
        assert_eq!(said(WatchedKind::ClientSettings, true), "the hooks of `/f` changed");
        assert_eq!(said(WatchedKind::RalphSettings, true), "the settings `/f` changed");
        assert_eq!(said(WatchedKind::PluginHooks, true), "the hooks of a plugin in `/f` changed");
        for kind in WatchedKind::ALL {
            assert_eq!(said(kind, false), "`/f` was removed");
        }
        let words = WatchedKind::ALL.map(WatchedKind::word);
        assert_eq!(words, ["client", "ralph", "plugin", "loaded", "executable"]);
    }

    #[test]
    fn a_mod_can_overrule_a_hook_at_few_events() {
        for (event, expected) in [
            ("classic.PreToolUse", true),
            ("tool.check", true),
            ("prompt.submit", true),
            ("tool.checked", false),
            ("prompt", false),
            ("session.classic.", false),
        ] {
            assert_eq!(overrules(event), expected, "{event}");
        }
    }
}
