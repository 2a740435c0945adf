//! Checks for mods: code of plugins that runs inside of the client, where it can answer before a hook does.

use super::check::{Check, warn, well};
use ralph_io::client::{
    self,
    plugins::{self, Plugin},
};
use ralph_io::project;
use std::path::Path;

const NAME: &str = "mods";

/// Names each mod that is loaded or lies ready, and what its code answers.
pub(super) fn check(current: &Path) -> Check {
    let root = project::root(None, current);
    let mods: Vec<Plugin> = plugins::all(&root).into_iter().filter(Plugin::is_mod).collect();
    let claude = client::program_name();
    let told = |one: &Plugin| match one.answers(&claude) {
        Some(events) => {
            format!("`{}` in `{}` answers {}", one.id, one.root.display(), events.join(", "))
        }
        None => {
            format!("`{}` in `{}`, which `{claude}` could not read", one.id, one.root.display())
        }
    };
    match mods.as_slice() {
        [] => well(NAME, "no foreign code runs inside of the client".to_owned()),
        mods => warn(
            NAME,
            mods.iter().map(told).collect::<Vec<_>>().join("; "),
            "it can answer before Ralph's hooks and speak as you: remove what you do not know; `ralph run` starts without mods",
        ),
    }
}
