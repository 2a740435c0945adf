//! The plugins of a headless client: which it loads, and whether their JavaScript ("mods") runs.
//!
//! Measured in print mode with 2.1.200, 2.1.250, 2.1.288, 2.1.300 and 2.1.328: each takes the flag, and
//! each prints its plugins when it starts, before the model is asked. Mods came with 2.1.287. The
//! guard that the flag configures is a plugin of the client itself and is among those that it prints;
//! 2.1.288 and 2.1.300 have none, and there the flag does nothing.

use crate::protocol::client_version::ClientVersion;
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
    pub fn of(row: &Value) -> LoadedPlugins {
        let all = || row["plugins"].as_array().into_iter().flatten();
        let folder = row["cwd"].as_str().unwrap_or_default();
        let foreign = all().filter(|plugin| plugin["path"] != "builtin");
        LoadedPlugins {
            names: foreign.map(|plugin| name(plugin, folder)).collect(),
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
fn name(plugin: &Value, folder: &str) -> String {
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
    pub fn of(loaded: LoadedPlugins, managed: Option<String>) -> ListedPlugins {
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn loaded(sources: &[(&str, &str)], version: &str) -> LoadedPlugins {
        let plugins: Vec<_> =
            sources.iter().map(|(source, path)| json!({"source": source, "path": path})).collect();
        LoadedPlugins::of(&json!({"plugins": plugins, "cwd": "/p", "claude_code_version": version}))
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
            ListedPlugins::of(
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
            let listed = ListedPlugins::of(loaded(&all, version), None);
            assert_eq!(listed.line().is_none(), obeys, "{version}: {:?}", listed.line());
        }
    }
}
