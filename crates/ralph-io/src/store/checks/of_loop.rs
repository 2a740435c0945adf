//! What the checks keep in a loop's folder: the tree that the loop started from, and the files
//! still to be checked.

use super::Surroundings;
use crate::{git::checkpoint, store::document::Document};
use anyhow::Result;
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
    /// The commit that was checked out; empty before the first one, or in a file of an older Ralph.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub commit: String,
}

/// Records the tree of the project as it is now. Does nothing without a repository.
///
/// # Errors
/// If git fails or the file cannot be written; findings are then compared with `HEAD`.
pub fn note_start(of_loop: &Path, project_root: &Path) -> Result<()> {
    let root = Surroundings::root_of(&project_root.join("any file"));
    let Some(tree) = checkpoint::tree_now(&root)? else { return Ok(()) };
    let commit = checkpoint::head(&root).unwrap_or_default();
    start(of_loop).write(&LoopBaseline { root, tree, commit })
}

/// Reads the recorded tree; `None` if there is none.
pub fn start_of(of_loop: &Path) -> Option<LoopBaseline> {
    start(of_loop).read().ok().flatten()
}

fn start(of_loop: &Path) -> Document<LoopBaseline> {
    Document::json(of_loop.join("start.json"))
}

/// True if files remain to be checked. Every stop asks this, so it costs one system call.
pub fn has_later(of_loop: &Path) -> bool {
    later(of_loop).path.symlink_metadata().is_ok()
}

/// Remembers files for the end of the turn.
///
/// # Errors
/// If they cannot be written.
pub fn add_later(of_loop: &Path, files: &[PathBuf]) -> Result<()> {
    later(of_loop).update(|all| {
        for file in files {
            if !all.contains(file) && all.len() < MOST_LATER {
                all.push(file.clone());
            }
        }
        Ok(())
    })
}

/// Returns the remembered files and forgets them.
pub fn take_later(of_loop: &Path) -> Vec<PathBuf> {
    let later = later(of_loop);
    let Ok(_held) = later.lock() else { return Vec::new() };
    let all = later.read().ok().flatten();
    // If the list cannot be removed, its files are checked once more.
    let _ = std::fs::remove_file(&later.path);
    all.unwrap_or_default()
}

fn later(of_loop: &Path) -> Document<Vec<PathBuf>> {
    Document::cache(of_loop.join("later.json"))
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
        assert_eq!(clean.commit, sandbox.git("rev-parse HEAD").trim());
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
