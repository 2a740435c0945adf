//! The tree that a loop started from, kept in its folder.

use super::Surroundings;
use crate::{git, git::checkpoint, process::clock, store::document::Document};
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

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

/// Records the tree of the project as it is now, and keeps it on a ref of the loop. Does nothing without a repository.
///
/// # Errors
/// If git fails or the file cannot be written; findings are then compared with `HEAD`, and nothing is proven.
pub fn note_start(of_loop: &Path, project_root: &Path) -> Result<()> {
    let root = Surroundings::root_of(&project_root.join("any file"));
    let loop_id = of_loop.file_name().unwrap_or_default().to_string_lossy();
    let Some(tree) = checkpoint::keep_start(&root, &loop_id, clock::now())? else { return Ok(()) };
    let commit = checkpoint::head(&root).unwrap_or_default();
    start(of_loop).write(&LoopBaseline { root, tree, commit })
}

/// Makes the folder of a loop that starts from a commit of a work tree, and records that.
///
/// # Errors
/// As for [`note_start`].
pub fn note_start_at(of_loop: &Path, top: &Path, commit: &str) -> Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(of_loop)?;
    let tree = checkpoint::tree_of(top, commit)?;
    start(of_loop).write(&LoopBaseline { root: top.to_owned(), tree, commit: commit.to_owned() })
}

/// Removes the folder of such a loop. What a full disk or a foreign user leaves of it goes with the loop around it.
pub fn forget_start_at(of_loop: &Path) {
    let _ = std::fs::remove_dir_all(of_loop);
}

/// Reads the recorded tree; `None` if there is none.
pub fn start_of(of_loop: &Path) -> Option<LoopBaseline> {
    start(of_loop).read().ok().flatten()
}

/// The id of the tree with which a project is compared: that of the loop's start if git still has it, else that of
/// `HEAD`; `None` if there is no repository, or no commit yet.
pub fn start_tree(root: &Path, of_loop: Option<&str>) -> Option<String> {
    let tree = |name: &str| {
        let mut command = git::command(root);
        command.args(["rev-parse", "--verify", "--quiet"]).arg(format!("{name}^{{tree}}"));
        git::line(&mut command).ok().filter(|id| !id.is_empty())
    };
    of_loop.and_then(tree).or_else(|| tree("HEAD"))
}

fn start(of_loop: &Path) -> Document<LoopBaseline> {
    Document::json(of_loop.join("start.json"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::sandbox::Sandbox;

    #[test]
    fn the_start_holds_what_was_not_committed() {
        let sandbox = Sandbox::new();
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("L");
        std::fs::create_dir(&folder).unwrap();
        assert_eq!(start_of(&folder), None);
        note_start(&folder, &sandbox.root()).unwrap();
        let clean = start_of(&folder).unwrap();
        assert_eq!(Some(&clean.tree), start_tree(&sandbox.root(), None).as_ref());
        assert_eq!(clean.commit, sandbox.git("rev-parse HEAD").trim());
        sandbox.write("new", "x");
        note_start(&folder, &sandbox.path("src")).unwrap();
        let dirty = start_of(&folder).unwrap();
        assert_eq!(dirty.root, sandbox.root());
        assert_ne!(dirty.tree, clean.tree);
        assert_eq!(sandbox.git(&format!("cat-file -p {}:new", dirty.tree)), "x");
    }

    #[test]
    fn a_tree_that_is_gone_gives_way_to_head_and_without_a_commit_there_is_none() {
        let sandbox = Sandbox::new();
        let head = start_tree(&sandbox.root(), None);
        assert!(head.is_some());
        let gone = "0123456789012345678901234567890123456789";
        assert_eq!(start_tree(&sandbox.root(), Some(gone)), head);
        assert_eq!(start_tree(&Sandbox::empty().root(), None), None);
    }

    #[test]
    fn without_a_repository_no_start_is_written_down() {
        let [project, home] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let folder = home.path().join("L");
        note_start(&folder, project.path()).unwrap();
        assert_eq!(start_of(&folder), None);
    }
}
