//! Checks the plugin, if it is enabled in the client: the folder it is read from, and the hooks it
//! registers.
//!
//! Two of the client's files name the folder. A marketplace that is a folder is read in place; for
//! any other, the client reads its own copy.

use super::check::{Check, fail, warn, well};
use super::registration::INCOMPLETE;
use super::settings::{RegisteredHook, hooks_in};
use crate::setup::install::merge;
use crate::setup::install::plugin::DESCRIPTION;
use crate::setup::places::InstallPaths;
use ralph_core::protocol::registration::{Origin, plugin_hooks_json};
use ralph_core::text::plural::counted;
use ralph_io::client::client_settings::ClientSettings;
use ralph_io::client::plugins::{in_place, json};
use ralph_io::project::user_files;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

const NAME: &str = "registration";

/// The file in which a plugin registers its hooks.
const HOOKS: &str = "hooks/hooks.json";

/// What to do if a plugin does not work.
pub(super) const CURE: &str = "run `ralph install --plugin DIR`, then the commands that it prints";

/// The message that the scripts in `bin/` print if an executable is missing.
pub(super) const WITHOUT_EXECUTABLES: &str = "plugin has no executables";

/// Ralph's plugin, if it is enabled.
pub(super) struct Plugin {
    /// The client's name for it: `ralph@` and the marketplace.
    pub(super) id: String,
    /// The folder that the client reads it from, if there is one.
    pub(super) root: Option<PathBuf>,
    /// Whether that folder is the marketplace's own, and not the client's copy.
    pub(super) is_in_place: bool,
    /// The hooks it registers, with the folder in place of its variable.
    pub(super) hooks: Vec<RegisteredHook>,
}

impl Plugin {
    /// Finds the enabled plugin in the client's settings and in its plugin files.
    pub(super) fn find(settings: &ClientSettings, places: &InstallPaths) -> Option<Plugin> {
        let id = switched_on(settings)?;
        let plugins = places.config.join("plugins");
        let in_place = in_place(&id, &plugins);
        let is_in_place = in_place.is_some();
        let root = in_place.or_else(|| copy(&id, &plugins));
        let hooks = root.as_deref().map(hooks_of).unwrap_or_default();
        Some(Plugin { id, root, is_in_place, hooks })
    }

    /// The version in the plugin's description; `None` if it has no folder or no version.
    pub(super) fn version(&self) -> Option<String> {
        let description = json(&self.root.as_ref()?.join(DESCRIPTION));
        description["version"].as_str().map(str::to_owned)
    }
}

/// For each plugin, the settings file of the highest rank decides.
fn switched_on(settings: &ClientSettings) -> Option<String> {
    let mut is_on: BTreeMap<&String, bool> = BTreeMap::new();
    for (_, value) in settings.readable() {
        let plugins = value["enabledPlugins"].as_object().into_iter().flatten();
        is_on.extend(plugins.filter_map(|(id, on)| Some((id, on.as_bool()?))));
    }
    is_on.into_iter().find(|(id, on)| *on && id.starts_with("ralph@")).map(|(id, _)| id.clone())
}

/// The client's own copy of the plugin.
fn copy(id: &str, plugins: &Path) -> Option<PathBuf> {
    let installed = json(&plugins.join("installed_plugins.json"));
    let copies = installed["plugins"][id].as_array()?;
    copies.iter().rev().find_map(|copy| user_files::real(Path::new(copy["installPath"].as_str()?)))
}

fn hooks_of(root: &Path) -> Vec<RegisteredHook> {
    let mut hooks = hooks_in(&json(&root.join(HOOKS)), Origin::Plugin);
    for hook in &mut hooks {
        hook.command = hook.command.replace("${CLAUDE_PLUGIN_ROOT}", &root.to_string_lossy());
    }
    hooks
}

/// Checks that the plugin has a folder and all hooks.
pub(super) fn check(plugin: &Plugin) -> Check {
    let id = &plugin.id;
    let Some(root) = &plugin.root else {
        return warn(
            NAME,
            format!("plugin `{id}` is enabled, but the client has no folder for it"),
            format!("run `claude plugin install {id}`, or remove it from the settings"),
        );
    };
    let shown = root.display();
    let [registered, wanted] =
        [json(&root.join(HOOKS)), Value::from_str(&plugin_hooks_json()).unwrap_or_default()];
    let differing = merge::differing(&registered["hooks"], &wanted["hooks"], Origin::Plugin);
    if !differing.is_empty() {
        let events = differing.join(", ");
        let detail = format!("in the plugin `{id}` in `{shown}`, {INCOMPLETE} {events}");
        return fail(NAME, detail, CURE);
    }
    let hooks = counted(plugin.hooks.len(), "hook", "hooks");
    well(NAME, format!("{hooks} in the plugin `{id}` in `{shown}`"))
}
