//! Identifies a project: by its git common directory, so that linked worktrees are one project,
//! otherwise by its path.

pub mod confined;
pub mod environment;
pub mod facts;
pub mod plan_file;
pub mod reader;
pub(crate) mod safe_read;
pub mod settings;
pub mod trusted_read;
pub mod user_files;

use crate::{git::repository, git::tree};
use std::path::{Path, PathBuf};

/// The path that identifies the project of a folder.
pub fn identity(folder: &Path) -> PathBuf {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    match tree::repository_root(&folder) {
        // Read from the files that git documents: starting git costs more than a whole hook.
        Some(root) => repository::around(&root).map_or(root, |found| found.common().to_owned()),
        None => folder,
    }
}

/// The project's folder as the client names it: `CLAUDE_PROJECT_DIR`, else the repository's root,
/// else the folder itself.
pub fn root(client: Option<PathBuf>, folder: &Path) -> PathBuf {
    client.or_else(|| tree::repository_root(folder)).unwrap_or_else(|| folder.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_linked_work_tree_is_the_same_project() {
        let folder = tempfile::tempdir().unwrap();
        let git = |arguments: &[&str]| {
            let done = Command::new("git")
                .args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-C"])
                .arg(folder.path())
                .args(arguments)
                .status()
                .unwrap();
            assert!(done.success());
        };
        git(&["init", "-q", "main"]);
        let main = folder.path().join("main");
        std::fs::create_dir(main.join("sub")).unwrap();
        let git_in = |arguments: &str| {
            git(&[&["-C", "main"], &arguments.split(' ').collect::<Vec<_>>()[..]].concat())
        };
        git_in("commit -q --allow-empty -m first");
        git_in("worktree add -q ../linked");
        assert_eq!(identity(&folder.path().join("linked")), identity(&main));
        assert_eq!(identity(&main.join("sub")), identity(&main));
        assert_ne!(identity(folder.path()), identity(&main));
    }
}
