//! Finds the loop of a session or a project, a loop by its id, and all loops.

use super::in_place::{in_place, read_named};
use crate::project;
use crate::store::archive;
use crate::store::home::Home;
use crate::store::loop_file::{Loaded, LoopFile};
use crate::store::manifest::{self, ManifestKey};
use crate::store::second_place;
use anyhow::Result;
use ralph_core::state::LoopState;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

/// The loop that a session is bound to.
///
/// # Errors
/// If the manifest entry cannot be trusted.
pub fn of_session(home: &Home, session_id: &str) -> Result<Option<LoopFile>> {
    let Some(key) = ManifestKey::session(session_id) else { return Ok(None) };
    let Some(path) = manifest::read(home, &key)? else { return Ok(None) };
    Ok(Some(follow(home, &path)))
}

/// The project's planned or most recent loop.
pub fn of_project(home: &Home, folder: &Path) -> Result<Option<LoopFile>> {
    let key = ManifestKey::project(&project::identity(folder));
    let Some(path) = manifest::read(home, &key)? else { return Ok(None) };
    Ok(Some(follow(home, &path)))
}

/// Finds a loop's state file by its id, live or archived.
pub fn by_id(home: &Home, loop_id: &str) -> Option<LoopFile> {
    // Reject an id that could leave the folder, as for a session.
    ManifestKey::session(loop_id)?;
    let path = home.loops().join(loop_id).join("state.json");
    if path.exists() {
        return Some(LoopFile::at(path));
    }
    archive::find(home, &path).or_else(|| {
        let file = in_place(home)?;
        let loaded = read_named(home, &file).ok().flatten()?;
        (loaded.state.loop_id == loop_id).then_some(file)
    })
}

/// Finds and reads a loop by its id, live or archived.
///
/// # Errors
/// If the state cannot be read.
pub fn read_by_id(home: &Home, loop_id: &str) -> Result<Option<(LoopFile, Loaded)>> {
    by_id(home, loop_id).map_or(Ok(None), |file| read(home, file))
}

/// Reads a state file, even if another process is archiving it.
///
/// # Errors
/// If the state cannot be read.
pub fn read(home: &Home, file: LoopFile) -> Result<Option<(LoopFile, Loaded)>> {
    if let Some(loaded) = read_named(home, &file)? {
        return Ok(Some((file, loaded)));
    }
    let Some(moved) = archive::find(home, file.path()) else { return Ok(None) };
    Ok(moved.read()?.map(|loaded| (moved, loaded)))
}

/// The state file at a path, or in the archive if its loop was moved there.
pub(super) fn follow(home: &Home, path: &Path) -> LoopFile {
    if !path.exists()
        && let Some(archived) = archive::find(home, path)
    {
        return archived;
    }
    LoopFile::at(path)
}

/// The live loop whose own state names this session, for a session without a usable manifest entry.
pub fn by_its_state(home: &Home, session_id: &str) -> Option<LoopFile> {
    home.check().ok()?;
    let is_its = |state: &LoopState| {
        state.is_of(session_id) && state.is_live() && state.strangeness().is_none()
    };
    all(home).into_iter().find_map(|(file, state)| is_its(&state.ok()?).then_some(file))
}

/// True if this session is certainly bound to a loop of ours, however damaged: it has an entry of
/// its own or, if all sessions share one, a state of ours names the session.
pub fn is_bound(home: &Home, session_id: &str) -> bool {
    let Some(key) = ManifestKey::session(session_id) else { return false };
    if home.single_manifest().is_none() {
        return manifest::is_there(home, &key);
    }
    let shared = manifest::read(home, &key).ok().flatten().map(LoopFile::at);
    shared.and_then(|file| file.salvage()).is_some_and(|state| state.is_of(session_id))
        || by_its_state(home, session_id).is_some()
}

/// True if a session's entry is unusable, or names a loop of which nothing exists.
pub fn is_one_lost(home: &Home) -> bool {
    let is_lost = |path: &Path| {
        let file = follow(home, path);
        !file.path().starts_with(home.archive()) && matches!(file.read(), Ok(None))
    };
    let entries = manifest::sessions(home);
    entries.into_iter().any(|(_, path)| path.map_or(true, |path| is_lost(&path)))
}

/// All loops that have not ended, in folder order; an unreadable one comes with its error.
pub fn all(home: &Home) -> Vec<(LoopFile, Result<LoopState>)> {
    all_loaded(home).into_iter().map(|(file, loaded)| (file, loaded.map(|it| it.state))).collect()
}

/// As [`all`], with the files as read, for a caller that then changes the states.
pub fn all_loaded(home: &Home) -> Vec<(LoopFile, Result<Loaded>)> {
    let names = |folder: &Path| -> BTreeSet<OsString> {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        entries.filter_map(|entry| Some(entry.ok()?.file_name())).collect()
    };
    let at = |name: &OsString| LoopFile::at(home.loops().join(name).join("state.json"));
    let mut all = names(&home.loops());
    // A loop whose folder something else has removed.
    let kept = second_place::apart_from(home.root()).map(|kept| names(&kept)).unwrap_or_default();
    let is_lost = |name: &OsString| {
        name != second_place::SESSIONS && archive::find(home, at(name).path()).is_none()
    };
    let lost: Vec<OsString> = kept.difference(&all).filter(|name| is_lost(name)).cloned().collect();
    all.extend(lost);
    all.iter()
        .map(at)
        .filter_map(|file| match file.read() {
            Ok(None) => None,
            Ok(Some(loaded)) => Some((file, Ok(loaded))),
            Err(error) => Some((file, Err(error))),
        })
        .collect()
}

/// All ended loops, oldest first; an unreadable one comes with its error.
pub fn ended(home: &Home) -> Vec<(LoopFile, Result<LoopState>)> {
    archive::folders(home)
        .into_iter()
        .map(|folder| LoopFile::at(folder.join("state.json")))
        .filter_map(|file| match file.read() {
            Ok(loaded) => loaded.map(|loaded| (file, Ok(loaded.state))),
            Err(error) => Some((file, Err(error))),
        })
        .collect()
}
