//! What a project is: its git common directory, so that linked work trees are one project, else
//! its path.

use crate::{plain_file, tree};
use std::path::{Path, PathBuf};

/// More than any path.
const LARGEST: u64 = 64 << 10;

/// The path that identifies the project of a folder.
pub fn identity(folder: &Path) -> PathBuf {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    match tree::repository_root(&folder) {
        Some(root) => common_dir(&root).unwrap_or(root),
        None => folder,
    }
}

/// The repository's git directory, followed from a linked work tree to the main one. Read from the
/// files that git documents, since starting git costs more than a whole hook.
fn common_dir(root: &Path) -> Option<PathBuf> {
    let dot_git = root.join(".git");
    if dot_git.is_dir() {
        return dot_git.canonicalize().ok();
    }
    let pointer = plain_file::text(&dot_git, LARGEST).ok()??;
    let git_dir = root.join(pointer.strip_prefix("gitdir:")?.trim());
    let common = match plain_file::text(&git_dir.join("commondir"), LARGEST) {
        Ok(Some(relative)) => git_dir.join(relative.trim()),
        _ => git_dir,
    };
    common.canonicalize().ok()
}

/// The folder as the client names the project: `CLAUDE_PROJECT_DIR`, else the repository's root,
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
