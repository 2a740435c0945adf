//! What the checks keep in a loop's folder: the tree that the loop started from, and the files
//! still to be checked.

use super::Surroundings;
use crate::{git::checkpoint, project::trusted_read, store::atomic, store::lock};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The most files remembered. With more edits than that in one turn, the criteria have to find the
/// rest.
const MOST_LATER: usize = 500;

/// The project as it was when the loop started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopBaseline {
    /// The top of its working tree.
    pub root: PathBuf,
    /// The id of the tree with all files, committed or not.
    pub tree: String,
}

/// Records the tree of the project as it is now. Does nothing without a repository.
///
/// # Errors
/// If git fails or the file cannot be written; findings are then compared with `HEAD`.
pub fn note_start(of_loop: &Path, project_root: &Path) -> Result<()> {
    let root = Surroundings::root_of(&project_root.join("any file"));
    let Some(tree) = checkpoint::tree_now(&root)? else { return Ok(()) };
    let text = serde_json::to_vec(&LoopBaseline { root, tree }).context("could not write JSON")?;
    atomic::write(&of_loop.join("start.json"), &text)
}

/// Reads the recorded tree; `None` if there is none.
pub fn start_of(of_loop: &Path) -> Option<LoopBaseline> {
    let bytes = trusted_read::read(&of_loop.join("start.json")).ok().flatten()?;
    serde_json::from_slice(&bytes).ok()
}

/// True if files remain to be checked. Every stop asks this, so it costs one system call.
pub fn has_later(of_loop: &Path) -> bool {
    later(of_loop).symlink_metadata().is_ok()
}

/// Remembers files for the end of the turn.
///
/// # Errors
/// If they cannot be written.
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

/// Returns the remembered files and forgets them.
pub fn take_later(of_loop: &Path) -> Vec<PathBuf> {
    let path = later(of_loop);
    let Ok(_held) = lock::take(&path, lock::DEADLINE) else { return Vec::new() };
    let all = read(&path);
    // If the list cannot be removed, its files are checked once more.
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
