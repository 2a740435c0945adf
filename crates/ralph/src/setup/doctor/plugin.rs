//! The plugin, where the client has it switched on: which folder it is read from, and what it registers.
//!
//! Two files of the client's say where: a marketplace that is a folder is read in place, anything else
//! from the copy that the client has made.

use super::check::{Check, fail, warn, well};
use super::registration::missing;
use super::settings::{RegisteredHook, SettingsFiles, hooks_in};
use crate::setup::places::InstallPaths;
use ralph_core::protocol::registration::Origin;
use ralph_core::text::plural::counted;
use ralph_io::project::user_files;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const NAME: &str = "registration";

/// What to do where a plugin does not work.
pub(super) const CURE: &str =
    "make it anew: `ralph install --plugin DIR`, which says how the client takes it";

/// What the scripts in `bin/` say where an executable is missing.
pub(super) const WITHOUT_EXECUTABLES: &str = "plugin has no executables";

/// A plugin of ours that is switched on.
pub(super) struct Plugin {
    /// As the client calls it: `ralph@` and the marketplace.
    pub(super) id: String,
    /// The folder that it is read from, if the client has one.
    root: Option<PathBuf>,
    /// What it registers, with the folder in the place of its variable.
    pub(super) hooks: Vec<RegisteredHook>,
}

impl Plugin {
    /// The one that is on, as the client's settings and its own files tell.
    pub(super) fn find(settings: &SettingsFiles, places: &InstallPaths) -> Option<Plugin> {
        let id = switched_on(settings)?;
        let root = folder(&id, &places.config.join("plugins"));
        let hooks = root.as_deref().map(hooks_of).unwrap_or_default();
        Some(Plugin { id, root, hooks })
    }
}

/// The settings of higher rank decide for each name.
fn switched_on(settings: &SettingsFiles) -> Option<String> {
    let mut is_on: BTreeMap<&String, bool> = BTreeMap::new();
    for (_, value) in settings.readable() {
        let plugins = value["enabledPlugins"].as_object().into_iter().flatten();
        is_on.extend(plugins.filter_map(|(id, on)| Some((id, on.as_bool()?))));
    }
    is_on.into_iter().find(|(id, on)| *on && id.starts_with("ralph@")).map(|(id, _)| id.clone())
}

fn folder(id: &str, plugins: &Path) -> Option<PathBuf> {
    in_place(id, plugins).or_else(|| {
        let installed = json(&plugins.join("installed_plugins.json"));
        let copies = installed["plugins"][id].as_array()?;
        copies
            .iter()
            .rev()
            .find_map(|copy| user_files::real(Path::new(copy["installPath"].as_str()?)))
    })
}

/// Where the marketplace is a folder, and the plugin a folder in it.
fn in_place(id: &str, plugins: &Path) -> Option<PathBuf> {
    let (name, marketplace) = id.split_once('@')?;
    let known = json(&plugins.join("known_marketplaces.json"));
    let source = &known[marketplace]["source"];
    let is_folder = source["source"] == "directory";
    let folder = PathBuf::from(source["path"].as_str().filter(|_| is_folder)?);
    let listed = json(&folder.join(".claude-plugin/marketplace.json"));
    let entry = listed["plugins"].as_array()?.iter().find(|entry| entry["name"] == name)?;
    user_files::real(&folder.join(entry["source"].as_str()?))
}

fn hooks_of(root: &Path) -> Vec<RegisteredHook> {
    let mut hooks = hooks_in(&json(&root.join("hooks/hooks.json")), Origin::Plugin);
    for hook in &mut hooks {
        hook.command = hook.command.replace("${CLAUDE_PLUGIN_ROOT}", &root.to_string_lossy());
    }
    hooks
}

/// One line: where it is and whether it is whole.
pub(super) fn check(plugin: &Plugin) -> Check {
    let id = &plugin.id;
    let Some(root) = &plugin.root else {
        return warn(
            NAME,
            format!("plugin `{id}` is switched on, and the client has no folder of it"),
            format!("run `claude plugin install {id}`, or take it out of the settings"),
        );
    };
    let shown = root.display();
    let missing = missing(&plugin.hooks);
    if !missing.is_empty() {
        let missing = missing.join(", ");
        return fail(
            NAME,
            format!("not registered by the plugin `{id}` in `{shown}`: {missing}"),
            CURE,
        );
    }
    let ours = env!("CARGO_PKG_VERSION");
    match json(&root.join(".claude-plugin/plugin.json"))["version"].as_str() {
        Some(version) if version == ours => {
            let hooks = counted(plugin.hooks.len(), "hook", "hooks");
            well(NAME, format!("{hooks} in the plugin `{id}` in `{shown}`"))
        }
        version => warn(
            NAME,
            format!(
                "the plugin `{id}` in `{shown}` is version {}, and this `ralph` is {ours}",
                version.unwrap_or("unknown")
            ),
            "bring both to the same version",
        ),
    }
}

/// What a file says; nothing where it cannot be read.
fn json(path: &Path) -> Value {
    let text = user_files::find(path).ok().and_then(|found| found.text);
    text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}
