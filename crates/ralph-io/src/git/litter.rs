//! Recognises and removes the empty files that a killed client leaves in a project
//! ([`ralph_core::protocol::sandbox::litter`]).
//!
//! Only an empty file with mode 0444 and a known name is one of them, and never a tracked file.

use crate::git;
use crate::git::tree;
use anyhow::Result;
use ralph_core::protocol::sandbox::litter;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// True if the untracked file at this path below `root` is left over from a sandbox.
pub fn is_litter(root: &Path, path: &[u8]) -> bool {
    litter::is_name(path) && is_empty_and_read_only(&root.join(OsStr::from_bytes(path)))
}

fn is_empty_and_read_only(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|about| {
        about.is_file() && about.len() == 0 && about.mode() & 0o7777 == litter::MODE
    })
}

/// The paths in an index that a sandbox left and that the user's own index does not have. `command`
/// is a git command for that index.
///
/// # Errors
/// If git fails.
pub(crate) fn added(root: &Path, command: &mut Command) -> Result<Vec<Vec<u8>>> {
    let mut found = listed(command)?;
    found.retain(|path| is_litter(root, path));
    if !found.is_empty() {
        let tracked = listed(&mut git::command(root))?;
        found.retain(|path| !tracked.contains(path));
    }
    Ok(found)
}

/// The paths in an index that have the name of litter.
fn listed(command: &mut Command) -> Result<Vec<Vec<u8>>> {
    let names = litter::NAMES.iter().map(|name| format!(":(glob)**/{name}"));
    let listed = git::output(command.args(["ls-files", "-z", "--cached", "--"]).args(names))?;
    let paths = listed.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    Ok(paths.map(<[u8]>::to_vec).collect())
}

/// Removes what a sandbox left in the folder in which a client worked, and in its repository; `more`
/// are further files that the sandbox protected. No sandbox may be at work there: its files are
/// mounted over these. Returns what was removed.
pub fn remove(folder: &Path, more: &[PathBuf]) -> Vec<PathBuf> {
    let in_folder: Vec<PathBuf> = litter::NAMES.iter().map(|name| folder.join(name)).collect();
    let git_dir = tree::repository_root(folder).and_then(|root| git_dir(&root));
    let in_git = git_dir.iter().flat_map(|git| litter::GIT_NAMES.map(|name| git.join(name)));
    let candidates = in_folder.into_iter().chain(in_git).chain(more.iter().cloned());
    let mut found: Vec<PathBuf> = candidates.filter(|path| is_empty_and_read_only(path)).collect();
    found.sort();
    found.dedup();
    if found.is_empty() || !leave_tracked(folder, &mut found) {
        return Vec::new();
    }
    found.retain(|path| std::fs::remove_file(path).is_ok());
    found
}

/// The repository's own folder, which its worktrees share.
fn git_dir(root: &Path) -> Option<PathBuf> {
    let asked = git::line(git::command(root).args(["rev-parse", "--git-common-dir"])).ok()?;
    Some(root.join(asked))
}

/// Drops the tracked files from a list; false if git cannot tell.
fn leave_tracked(folder: &Path, found: &mut Vec<PathBuf>) -> bool {
    let Some(root) = tree::repository_root(folder) else { return true };
    let mut asked = git::command(&root);
    let Ok(listed) = git::output(asked.args(["ls-files", "-z", "--cached"])) else { return false };
    let tracked: Vec<&[u8]> = listed.split(|byte| *byte == 0).collect();
    found.retain(|path| {
        let below = path.strip_prefix(&root).map(|path| path.as_os_str().as_bytes());
        !below.is_ok_and(|below| tracked.contains(&below))
    });
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::sandbox::Sandbox;

    fn litter(at: &Sandbox, name: &str) {
        at.write(name, "");
        at.chmod(name, 0o444);
    }

    #[test]
    fn only_an_empty_read_only_file_of_a_known_name_is_litter() {
        let at = Sandbox::new();
        litter(&at, ".bashrc");
        litter(&at, "other");
        at.write(".zshrc", "");
        at.write(".profile", "x");
        at.chmod(".profile", 0o444);
        let is = |name: &str| is_litter(&at.root(), name.as_bytes());
        assert!(is(".bashrc"));
        for name in ["other", ".zshrc", ".profile", ".gitmodules"] {
            assert!(!is(name), "{name}");
        }
    }

    #[test]
    fn the_next_start_removes_it_and_leaves_a_tracked_file() {
        let at = Sandbox::new();
        litter(&at, ".gitmodules");
        at.commit("second");
        for name in [".bashrc", ".claude/agents", ".git/config.lock"] {
            litter(&at, name);
        }
        at.write(".idea", "");
        litter(&at, "protected");
        let removed = remove(&at.root(), &[at.path("protected"), at.path("none")]);
        assert_eq!(removed.len(), 4, "{removed:?}");
        for name in [".bashrc", ".claude/agents", ".git/config.lock", "protected"] {
            assert!(!at.exists(name), "{name}");
        }
        assert!(at.exists(".gitmodules") && at.exists(".idea"));
        assert!(remove(&at.root(), &[]).is_empty());
    }

    #[test]
    fn a_lock_that_git_holds_stays() {
        let at = Sandbox::new();
        at.write(".git/config.lock", "[core]\n");
        assert!(remove(&at.root(), &[]).is_empty());
        at.write(".git/config.lock", "");
        assert!(remove(&at.root(), &[]).is_empty(), "git makes its own with another mode");
    }
}
