//! `ralph uninstall --all`: removes everything that Ralph has left on this machine, except what the
//! user may want to look at again: archived loops, plan versions and files of orchestrations.
//!
//! Only Ralph's own names are removed. A loop that has not ended, or another installation that
//! needs the executables, prevents the removal.

use crate::command::exit::{Exit, refused};
use crate::command::screen::visible;
use crate::setup::install::record::InstallRecord;
use crate::setup::places::InstallPaths;
use crate::setup::tell::tell;
use anyhow::Result;
use ralph_core::protocol::registration::{COMMAND_LINE, HOOK_EXECUTABLES};
use ralph_core::state::Phase;
use ralph_io::{project::user_files, store::lifecycle};
use std::path::{Path, PathBuf};

/// Ralph's working files. A lock is named after the file that it guards.
const WORKED_BY: [&str; 13] = [
    "always",
    "backups",
    "bound",
    "checks",
    "install.json",
    "loops",
    "loops.lock",
    "manifest",
    "rounds",
    "shared",
    "trees",
    "trust",
    "walls",
];

/// Folders that the user may want again.
const KEPT: [&str; 3] = ["archive", "refine", "sessions"];

/// Refuses if not everything can be removed now.
pub(super) fn check(places: &InstallPaths, record: &InstallRecord, settings: &Path) -> Result<()> {
    let others = record.settings().find(|known| *known != settings && known.exists());
    if let Some(other) = others {
        let message = format!(
            "Ralph is also installed in `{}` and needs the executables there; uninstall that first",
            visible(&other.display().to_string())
        );
        return Err(refused(Exit::No, message));
    }
    let open = lifecycle::all(&places.ralph)
        .into_iter()
        .filter_map(|(_, state)| state.ok())
        .find(|state| state.phase != Phase::Ended);
    open.map_or(Ok(()), |state| {
        let id = visible(&state.loop_id);
        let message =
            format!("loop {id} has not ended; run `ralph cancel --loop {id}`, then try again");
        Err(refused(Exit::No, message))
    })
}

/// Removes everything, or prints what it would remove, one line each.
pub(super) fn remove(places: &InstallPaths, backups: &[PathBuf], dry_run: bool) -> Result<()> {
    let root = places.ralph.root();
    let state = WORKED_BY.iter().map(|name| root.join(name));
    let names = HOOK_EXECUTABLES.into_iter().chain([COMMAND_LINE]);
    let executables = names.map(|name| places.executables.join(name));
    for path in state.chain(backups.iter().cloned()).chain(executables) {
        if path.symlink_metadata().is_err() {
            continue;
        }
        tell!("  {}remove `{}`", super::would(dry_run), path.display());
        if !dry_run {
            user_files::remove_all(&path)?;
        }
    }
    if !dry_run {
        let archive = root.join("archive");
        let above = |folder: &Path| folder.parent().unwrap_or(root).to_owned();
        let (prefix, state) = (above(&places.executables), above(root));
        // Only empty folders are removed: other files in them stay.
        for folder in [places.executables.as_path(), &archive, root, &state, &prefix] {
            user_files::remove_empty_folder(folder);
        }
    }
    Ok(())
}

/// Ralph's own folders that remain.
pub(super) fn kept(places: &InstallPaths) -> Vec<String> {
    let root = places.ralph.root();
    let folders = KEPT.iter().map(|name| root.join(name)).filter(|folder| folder.is_dir());
    folders.map(|folder| format!("`{}`", folder.display())).collect()
}
