//! `ralph install --plugin DIR`: builds a folder that the client accepts as a plugin, executables
//! included.
//!
//! The folder is also a marketplace of this one plugin, since a client installs only from
//! marketplaces. Its skills have no hooks of their own: the plugin's hooks are always there too,
//! and they also reach workers and survive `--resume`. The plugin's description is written first
//! and removed last, so that a half-finished folder is still recognized as Ralph's.

use super::files::{self, Fate, Install, InstallRecord, SHIPPED, ShippedFile};
use super::put_files;
use crate::command::exit::Exit;
use crate::setup::places::InstallPaths;
use crate::setup::tell;
use anyhow::{Result, bail};
use ralph_core::protocol::registration::{COMMAND_LINE, HOOK_EXECUTABLES, plugin_hooks_json};
use ralph_core::shell::quoted;
use ralph_io::project::user_files;
use std::path::Path;

/// The file that makes a folder a plugin.
pub(crate) const DESCRIPTION: &str = ".claude-plugin/plugin.json";

/// The plugin's id in its own marketplace.
const ID: &str = "ralph@ralph";

macro_rules! of_the_repository {
    ($path:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../", $path)).to_owned()
    };
}

/// Every text of the plugin, with its path in the folder.
fn texts() -> Vec<(&'static str, String)> {
    let mut texts = vec![
        (DESCRIPTION, of_the_repository!(".claude-plugin/plugin.json")),
        (".claude-plugin/marketplace.json", of_the_repository!(".claude-plugin/marketplace.json")),
        ("hooks/hooks.json", plugin_hooks_json()),
    ];
    texts.extend(SHIPPED.iter().map(|file| (file.path, file.without_hooks())));
    texts
}

fn programs() -> impl Iterator<Item = &'static str> {
    HOOK_EXECUTABLES.into_iter().chain([COMMAND_LINE])
}

/// Copies the executables that are not there yet, or prints that it would.
pub(super) fn copy_programs(from: &Path, to: &Path, dry_run: bool) -> Result<()> {
    if dry_run {
        let hooks = HOOK_EXECUTABLES.join(", ");
        tell!("  would copy {hooks} and {COMMAND_LINE} to `{}`", to.display());
        return Ok(());
    }
    user_files::make_folders(to, 0o700)?;
    let mut n_copied = 0;
    for name in programs() {
        n_copied += usize::from(user_files::copy_program(&from.join(name), &to.join(name))?);
    }
    tell!("  copied {n_copied} of {} executables to `{}`", programs().count(), to.display());
    Ok(())
}

/// Creates or updates the plugin, or prints what it would do.
pub(crate) fn install(folder: &Path, dry_run: bool, places: &InstallPaths) -> Result<Exit> {
    let record = InstallRecord::read(places.ralph.root())?;
    let description = folder.join(DESCRIPTION);
    let known = record.find_install(&description).cloned();
    let targets = inspect_shipped(folder, known.as_ref());
    may_be_ours(folder, &targets)?;

    let shown = folder.display();
    let (would, wrote) = if dry_run { ("would ", "write") } else { ("", "wrote") };
    tell!("plugin `{shown}`");
    let n_changed = targets.iter().filter(|(_, fate)| fate.writes()).count();
    tell!("  {would}{wrote} {n_changed} of {} texts: hooks, skills, agents", targets.len());
    let bin = folder.join("bin");
    if dry_run {
        copy_programs(&places.running, &bin, true)?;
        return Ok(Exit::Done);
    }
    let mut install = known.unwrap_or(Install { settings: description, ..Install::default() });
    install.version = Some(env!("CARGO_PKG_VERSION").to_owned());
    put_files(targets, &mut install)?;
    install.folders.extend(user_files::make_folders(&bin, 0o755)?);
    copy_programs(&places.running, &bin, false)?;
    let key = install.settings.clone();
    if record.find_install(&key) != Some(&install) {
        record.write(places.ralph.root(), &key, Some(install))?;
    }
    tell!("{}", advice(folder));
    Ok(Exit::Done)
}

/// Removes the parts of the plugin's folder that are Ralph's, or prints what it would do.
pub(crate) fn uninstall(folder: &Path, dry_run: bool, places: &InstallPaths) -> Result<Exit> {
    let record = InstallRecord::read(places.ralph.root())?;
    let description = folder.join(DESCRIPTION);
    let known = record.find_install(&description).cloned();
    let mut targets = inspect_shipped(folder, known.as_ref());
    let shown = folder.display();
    let is_ours = |fate: Fate| matches!(fate, Fate::Current | Fate::Update);
    tell!("plugin `{shown}`");
    if !targets.iter().any(|(target, fate)| target.name == DESCRIPTION && is_ours(*fate)) {
        tell!("  no plugin of ours is there, nothing to change");
        return Ok(Exit::Done);
    }
    let would = if dry_run { "would " } else { "" };
    tell!("  {would}remove its executables, hooks, skills and agents");
    let kept = targets.iter().filter(|(_, fate)| *fate == Fate::Keep);
    kept.for_each(|(target, _)| tell!("  kept `{}` (edited)", target.path.display()));
    if dry_run {
        return Ok(Exit::Done);
    }
    for name in programs() {
        user_files::remove_program(&folder.join("bin").join(name))?;
    }
    // The description is the first text and must be removed last.
    targets.reverse();
    for (target, fate) in &targets {
        if let (true, Ok(found)) = (is_ours(*fate), &target.found) {
            user_files::remove(found)?;
        }
    }
    for (target, _) in &targets {
        target.path.ancestors().skip(1).take_while(|above| *above != folder).for_each(|above| {
            user_files::remove_empty_folder(above);
        });
    }
    user_files::remove_empty_folder(&folder.join("bin"));
    for made in known.iter().flat_map(|known| known.folders.iter().rev()) {
        user_files::remove_empty_folder(made);
    }
    if known.is_some() {
        record.write(places.ralph.root(), &description, None)?;
    }
    tell!(
        "tell the client, if it has it: `claude plugin uninstall {ID}` and `claude plugin marketplace remove ralph`"
    );
    Ok(Exit::Done)
}

fn inspect_shipped(folder: &Path, known: Option<&Install>) -> Vec<(ShippedFile, Fate)> {
    let ours = known.map_or(&[][..], |known| &known.files);
    let target = |(name, text)| {
        let target = files::at(folder, name, text);
        let fate = files::decide(&target, ours);
        (target, fate)
    };
    texts().into_iter().map(target).collect()
}

/// Refuses a folder with other content: a plugin consists of its whole folder, so Ralph adds
/// nothing beside other files.
fn may_be_ours(folder: &Path, targets: &[(ShippedFile, Fate)]) -> Result<()> {
    let shown = folder.display();
    if let Some((target, _)) = targets.iter().find(|(_, fate)| *fate == Fate::Keep) {
        bail!(
            "`{shown}` has a `{}` that is not ours, or was edited: move it away, or name a new folder",
            target.name
        );
    }
    let is_plugin =
        targets.iter().any(|(target, fate)| target.name == DESCRIPTION && !fate.writes())
            || targets.iter().any(|(_, fate)| *fate == Fate::Update);
    let is_ours = |name: &String| {
        [".claude-plugin", "hooks", "skills", "agents", "bin"].contains(&name.as_str())
    };
    if is_plugin || user_files::names(folder).iter().all(is_ours) {
        return Ok(());
    }
    bail!("`{shown}` is not empty and is no plugin of ours: name a new folder");
}

fn advice(folder: &Path) -> String {
    let folder = quoted(&folder.to_string_lossy());
    format!(
        "tell the client, once: claude plugin marketplace add {folder} && claude plugin install {ID}\n\
         the client reads the plugin in place, so leave the folder there; run `ralph doctor` to check the installation"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_has_the_version_of_this_build() {
        let (_, description) = texts().remove(0);
        let description: serde_json::Value = serde_json::from_str(&description).unwrap();
        assert_eq!(description["name"], "ralph");
        assert_eq!(description["version"], env!("CARGO_PKG_VERSION"));
    }
}
