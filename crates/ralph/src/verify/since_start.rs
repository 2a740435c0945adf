//! The files that a loop changed: by git's tree of the start, or without git by a listing of the
//! project's files.

use anyhow::{Context, Result};
use ralph_core::project::settings::Settings;
use ralph_core::state::LoopState;
use ralph_io::git::checkpoint;
use ralph_io::git::tree_id::{self, Listing, TreeScope};
use ralph_io::store::checks;
use std::path::{Path, PathBuf};

/// Notes the files of the project, unless the loop has a start already.
///
/// # Errors
/// If they cannot be read: then no review could tell what the loop changed.
pub(crate) fn note_start(loop_folder: &Path, state: &LoopState) -> Result<()> {
    let root = Path::new(&state.project_root);
    if checks::start_of(loop_folder).is_some() || listing_file(loop_folder).exists() {
        return Ok(());
    }
    // Without git there is none.
    let _ = checks::note_start(loop_folder, root);
    if checks::start_of(loop_folder).is_some() {
        return Ok(());
    }
    let noted = tree_now(state).and_then(|tree| tree.save(&listing_file(loop_folder)));
    noted.context("could not note the project's files, so no review could tell what changed")
}

/// The files that the loop changed since its start. Empty if nothing was noted then.
pub(crate) fn changed_since_start(loop_folder: &Path, state: &LoopState) -> Vec<String> {
    if let Some(start) = checks::start_of(loop_folder) {
        let files = checkpoint::changed_files(&start.root, &start.tree, None).unwrap_or_default();
        return files.into_iter().map(|(path, _)| path).collect();
    }
    let Ok(Some(start)) = Listing::load(&listing_file(loop_folder)) else { return Vec::new() };
    tree_now(state).map(|now| now.changed_since(&start)).unwrap_or_default()
}

/// The project's files as they are now, read from the disk.
///
/// # Errors
/// If they cannot be listed.
pub(crate) fn tree_now(state: &LoopState) -> Result<Listing> {
    let ignore = Settings::ignored(state);
    tree_id::listing(&TreeScope {
        project_root: Path::new(&state.project_root),
        ignore: &ignore,
        cache: None,
        trusts_cache: false,
        begun: None,
    })
}

fn listing_file(loop_folder: &Path) -> PathBuf {
    loop_folder.join("listing-at-start")
}
