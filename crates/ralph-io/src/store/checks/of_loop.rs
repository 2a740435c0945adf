//! What the checks know of one loop, in the loop's own folder: the tree that it started from, and the
//! files that are still to be looked at.

use super::Surroundings;
use crate::{git::checkpoint, project::trusted_read, store::atomic, store::lock};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Files that are remembered. More edits than that in one turn are looked at by the criteria.
const MOST_LATER: usize = 500;

/// The project as it was when the loop started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopBaseline {
    /// The top of its work tree.
    pub root: PathBuf,
    /// The id of the tree with everything in it, committed or not.
    pub tree: String,
}

/// Writes down the tree of the project as it is now. Without a repository there is nothing to write.
///
/// # Errors
/// When git fails or the file cannot be written; findings are then compared with `HEAD`.
pub fn note_start(of_loop: &Path, project_root: &Path) -> Result<()> {
    let root = Surroundings::root_of(&project_root.join("any file"));
    let Some(tree) = checkpoint::tree_now(&root)? else { return Ok(()) };
    let text = serde_json::to_vec(&LoopBaseline { root, tree }).context("could not write JSON")?;
    atomic::write(&of_loop.join("start.json"), &text)
}

/// What was written down; none if nothing was.
pub fn start_of(of_loop: &Path) -> Option<LoopBaseline> {
    let bytes = trusted_read::read(&of_loop.join("start.json")).ok().flatten()?;
    serde_json::from_slice(&bytes).ok()
}

/// True if there is something to look at. Asked at every stop, so it is one look at a name.
pub fn has_later(of_loop: &Path) -> bool {
    later(of_loop).symlink_metadata().is_ok()
}

/// Remembers files for the end of the turn.
///
/// # Errors
/// When they cannot be written.
pub fn add_later(of_loop: &Path, files: &[PathBuf]) -> Result<()> {
    let path = later(of_loop);
    let _held = lock::take(&path, lock::DEADLINE)?;
    let mut all = read(&path);
    for file in files {
        if !all.contains(file) && all.len() < MOST_LATER {
            all.push(file.clone());
        }
    }
    atomic::write(&path, &serde_json::to_vec(&all).context("could not write JSON")?)
}

/// The files that were remembered; they are forgotten with this.
pub fn take_later(of_loop: &Path) -> Vec<PathBuf> {
    let path = later(of_loop);
    let Ok(_held) = lock::take(&path, lock::DEADLINE) else { return Vec::new() };
    let all = read(&path);
    // What cannot be removed is looked at once more.
    let _ = std::fs::remove_file(&path);
    all
}

fn later(of_loop: &Path) -> PathBuf {
    of_loop.join("later.json")
}

fn read(path: &Path) -> Vec<PathBuf> {
    let bytes = trusted_read::read(path).ok().flatten().unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::sandbox::Sandbox;

    #[test]
    fn files_for_later_are_remembered_once_and_forgotten_when_they_are_taken() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = ["/a", "/b"].map(PathBuf::from);
        assert!(!has_later(folder.path()));
        add_later(folder.path(), std::slice::from_ref(&a)).unwrap();
        add_later(folder.path(), &[a.clone(), b.clone()]).unwrap();
        assert!(has_later(folder.path()));
        assert_eq!(take_later(folder.path()), [a, b]);
        assert!(!has_later(folder.path()));
        assert!(take_later(folder.path()).is_empty());
    }

    #[test]
    fn the_start_holds_what_was_not_committed() {
        let sandbox = Sandbox::new();
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(start_of(folder.path()), None);
        note_start(folder.path(), &sandbox.root()).unwrap();
        let clean = start_of(folder.path()).unwrap();
        assert_eq!(Some(&clean.tree), super::super::Copy::tree(&sandbox.root(), None).as_ref());
        sandbox.write("new", "x");
        note_start(folder.path(), &sandbox.path("src")).unwrap();
        let dirty = start_of(folder.path()).unwrap();
        assert_eq!(dirty.root, sandbox.root());
        assert_ne!(dirty.tree, clean.tree);
        assert_eq!(sandbox.git(&format!("cat-file -p {}:new", dirty.tree)), "x");
    }

    #[test]
    fn without_a_repository_no_start_is_written_down() {
        let [project, folder] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        note_start(folder.path(), project.path()).unwrap();
        assert_eq!(start_of(folder.path()), None);
    }
}
