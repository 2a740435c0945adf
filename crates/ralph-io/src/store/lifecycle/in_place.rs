//! The state of another tool, outside of Ralph's own folders, that a single manifest names.

use super::{find::of_session, is_put_away, second};
use crate::store::digest;
use crate::store::home::Home;
use crate::store::loop_file::{Loaded, LoopFile};
use anyhow::Result;
use ralph_core::state::LoopState;
use ralph_core::tasks::plan;
use std::path::Path;

/// The foreign state that a single manifest names, if it is outside Ralph's folders.
pub fn in_place(home: &Home) -> Option<LoopFile> {
    // Every session has the same entry then, so any id will do.
    home.single_manifest()?;
    of_session(home, "any").ok().flatten().filter(|file| is_in_place(home, file))
}

/// True for a state that a single manifest names and that is outside Ralph's own folders: another
/// tool may have written it.
pub fn is_in_place(home: &Home, file: &LoopFile) -> bool {
    home.single_manifest().is_some()
        && is_put_away(home, file)
        && !file.path().starts_with(home.archive())
}

/// Reads a state. A foreign one is completed, the same wherever it is read.
///
/// # Errors
/// As for [`LoopFile::read`].
pub fn read_named(home: &Home, file: &LoopFile) -> Result<Option<Loaded>> {
    let mut loaded = file.read()?;
    if let Some(loaded) = &mut loaded
        && is_in_place(home, file)
    {
        complete(file, &mut loaded.state, Path::new(""));
    }
    Ok(loaded)
}

/// Adds what other tools do not write, and treats nothing that the state claims as evidence. A state
/// that names no project gets this one.
pub fn complete(file: &LoopFile, state: &mut LoopState, project: &Path) {
    if state.loop_id.is_empty() {
        plan::taken_in(state);
        state.loop_id = id_in_place(file, state);
    }
    if state.project_root.is_empty() {
        state.project_root = project.to_string_lossy().into_owned();
    }
}

/// Deterministic, so that the id can be shown before it is written.
fn id_in_place(file: &LoopFile, state: &LoopState) -> String {
    let digest = digest::of_bytes(file.path().as_os_str().as_encoded_bytes());
    let salt = &digest[digest.len() - 4..];
    format!("{}-{salt}", second(state.created_at))
}
