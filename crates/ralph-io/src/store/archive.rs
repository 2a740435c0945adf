//! Moves ended loops to the archive, and finds them there.

use crate::process::clock;
use crate::project::trusted_read;
use crate::store::atomic;
use crate::store::home::Home;
use crate::store::loop_file::LoopFile;
use anyhow::{Context, Result};
use jiff::Timestamp;
use ralph_core::state::LoopState;
use std::path::{Path, PathBuf};

/// Moves an ended loop's folder to `archive/ralph_archive_<timestamp>_<loop_id>/`.
///
/// A state file outside our own folder of loops (`$RALPH_MANIFEST` may point anywhere) is copied,
/// and the original stays where its owner put it.
pub fn put_away(home: &Home, file: &LoopFile, loop_id: &str, at: Timestamp) -> Result<LoopFile> {
    let target = home.archive().join(format!("ralph_archive_{}_{loop_id}", clock::compact(at)));
    let archived = LoopFile::at(target.join("state.json"));
    if file.folder().parent() != Some(home.loops().as_path()) {
        let describe = || format!("could not archive `{}`", file.path().display());
        let state =
            trusted_read::read(file.path()).with_context(describe)?.with_context(describe)?;
        atomic::make_private(&target)?;
        atomic::write(archived.path(), &state)?;
        return Ok(archived);
    }
    match std::fs::rename(file.folder(), &target) {
        Ok(()) => {}
        // Another process archived it first.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && target.is_dir() => {}
        Err(error) => {
            return Err(error)
                .with_context(|| format!("could not archive `{}`", file.folder().display()));
        }
    }
    // The move changed both parent folders, so both are synced.
    atomic::sync_folder(&target)
        .and_then(|()| atomic::sync_folder(file.folder()))
        .context("could not make the archive durable")?;
    Ok(archived)
}

/// Creates the archive folder of a loop of which nothing else is left, with this state in it.
pub(crate) fn make(home: &Home, state: &LoopState, at: Timestamp) -> Result<LoopFile> {
    let name = format!("ralph_archive_{}_{}", clock::compact(at), state.loop_id);
    let target = home.archive().join(name);
    atomic::make_private(&target)?;
    let archived = LoopFile::at(target.join("state.json"));
    archived.create(state)?;
    Ok(archived)
}

/// Finds the archived state of a loop whose folder is not where a manifest entry points. A process
/// may have died between moving the folder and updating the entry. A folder without a state is
/// incomplete and skipped.
pub fn find(home: &Home, gone: &Path) -> Option<LoopFile> {
    let loop_id = gone.parent()?.file_name()?.to_str()?;
    let suffix = format!("_{loop_id}");
    folders(home)
        .into_iter()
        .rev()
        .filter(|folder| {
            folder.file_name().is_some_and(|name| name.to_string_lossy().ends_with(&suffix))
        })
        .map(|folder| folder.join("state.json"))
        .find(|state| state.exists())
        .map(LoopFile::at)
}

/// The folders of all archived loops, oldest first.
pub fn folders(home: &Home) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(home.archive()) else { return Vec::new() };
    let mut folders: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("ralph_archive_"))
        })
        .collect();
    folders.sort();
    folders
}
