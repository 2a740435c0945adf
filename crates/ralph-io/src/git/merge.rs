//! Merges workers' branches: first in a separate worktree, then into the loop's working tree as a
//! whole.
//!
//! Nothing of the user's changes until everything has been merged and tested in the separate
//! worktree. Then git moves files, index and branch forward, or refuses.

mod fast_forward;
mod scratch_worktree;
#[cfg(test)]
mod tests;

pub use fast_forward::{Intent, MergeStep, Moved, done, forward, recover};
pub use scratch_worktree::{Bench, Tried, remove as remove_bench};

use crate::store::home::Home;
use crate::store::lock::{self, Lock};
use crate::store::manifest::ManifestKey;
use crate::{git, git::tree, git::worktrees, project};
use anyhow::{Context, Result};
use std::ffi::OsStr;
use std::fs::DirBuilder;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The working tree that merges go to.
#[derive(Debug, Clone)]
pub struct MergeTarget {
    pub top: PathBuf,
    /// Its own git folder.
    git_dir: PathBuf,
    /// The commit that is checked out.
    pub head: String,
    /// The branch that is checked out, as `refs/heads/…`; empty for a detached `HEAD`.
    pub branch: String,
}

/// Files in the git folder that show an unfinished operation, and the name of that operation.
const IN_PROGRESS: [(&str, &str); 6] = [
    ("MERGE_HEAD", "a merge"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("BISECT_LOG", "a bisect"),
];

/// What git is in the middle of in this work tree, as `a merge`; `None` if nothing.
pub(crate) fn in_progress(top: &Path) -> Result<Option<&'static str>> {
    let folder = git::line(git::command(top).args(["rev-parse", "--absolute-git-dir"]))?;
    Ok(in_progress_at(Path::new(&folder)))
}

fn in_progress_at(git_dir: &Path) -> Option<&'static str> {
    let is_there = |name: &str| git_dir.join(name).symlink_metadata().is_ok();
    IN_PROGRESS.into_iter().find(|(name, _)| is_there(name)).map(|(_, what)| what)
}

/// The working tree of the project at `root`, or why nothing can be merged into it and what to do.
///
/// # Errors
/// If git fails.
pub fn place(root: &Path) -> Result<Result<MergeTarget, String>> {
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let Some(top) = tree::repository_root(&root) else {
        return Ok(Err(format!(
            "`{}` is in no git repository with a work tree; workers' work can be merged only in one",
            root.display()
        )));
    };
    let mut asked = git::command(&top);
    let asked = git::output(asked.args(["rev-parse", "--absolute-git-dir", "--git-common-dir"]))?;
    let mut lines = asked.split(|byte| *byte == b'\n');
    let git_dir = PathBuf::from(OsStr::from_bytes(lines.next().unwrap_or_default()));
    let common = top.join(OsStr::from_bytes(lines.next().unwrap_or_default()));
    let mut is_bare = git::command(&top);
    let is_bare =
        git::answer(is_bare.args(["config", "--type=bool", "--default=false", "core.bare"]))?;
    if is_bare.1.starts_with(b"true") && common.canonicalize().ok() == git_dir.canonicalize().ok() {
        return Ok(Err(format!(
            "the repository of `{}` is bare; run this in one of its work trees",
            top.display()
        )));
    }
    let Some(head) = worktrees::tip(&top, "HEAD")? else {
        return Ok(Err(
            "the repository has no commit yet, so there is nothing to merge into; make \
                       the first commit"
                .to_owned(),
        ));
    };
    if let Some(what) = in_progress_at(&git_dir) {
        return Ok(Err(format!(
            "{what} is in progress in `{}`; finish or abort it (see `git status`), then run \
                 `ralph parallel merge` again",
            top.display()
        )));
    }
    let branch = branch(&top)?;
    Ok(Ok(MergeTarget { top, git_dir, head, branch }))
}

/// The branch that is checked out; empty for a detached `HEAD`.
fn branch(top: &Path) -> Result<String> {
    let (is_on_one, printed) = git::answer(git::command(top).args(["symbolic-ref", "-q", "HEAD"]))?;
    let name = String::from_utf8_lossy(printed.trim_ascii()).into_owned();
    Ok(if is_on_one { name } else { String::new() })
}

/// Locks out all other merges of the project. The processes that we start hold the lock too, so
/// that no merge starts while a git of a killed merge is still running.
///
/// # Errors
/// If another merge takes too long; the message says what to do.
pub fn lock(home: &Home, root: &Path, patience: Duration) -> Result<Lock> {
    home.prepare()?;
    let folder = home.root().join("merges");
    if !folder.is_dir() {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)
            .with_context(|| format!("could not make the folder `{}`", folder.display()))?;
    }
    let place = folder.join(ManifestKey::project(&project::identity(root)).name());
    let held = lock::take(&place, patience).context(
        "another merge of this project is at work; run `ralph parallel merge` again when it is done",
    )?;
    held.share_with_children()?;
    Ok(held)
}
