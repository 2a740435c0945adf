//! Reads what workers' worktrees contain, and removes them.
//!
//! A worker's work is what its branch contains and what it left uncommitted. We turn both into one
//! commit without touching its branch, index or files, so it does not matter whether a worker
//! commits.

mod left;
pub mod make;

pub use left::left;

use crate::git::checkpoint::tree_of;
use crate::git::checkpoint::work::{Filters, Maker, Objects, ScratchIndex};
use crate::git::tree_id::readable;
use crate::{git, git::tree, project};
use anyhow::{Context, Result};
use jiff::Timestamp;
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// A worktree of a repository, as git lists it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListedWorktree {
    pub path: PathBuf,
    /// Its branch, as `refs/heads/…`; empty for a detached `HEAD`.
    pub branch: String,
    /// The reason for its lock, if someone has locked it against removal.
    pub locked: Option<String>,
}

/// All the work of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkerWork {
    /// The work is in this commit.
    Commit {
        /// The commit that its worktree or branch is at.
        tip: String,
        /// The tip, or a commit on top of it with the uncommitted work.
        commit: String,
    },
    /// The work cannot be had as a whole, for this reason.
    Not(String),
}

/// Where to find a worker's work.
#[derive(Debug, Clone, Copy)]
pub struct WorkerPlace<'a> {
    /// Empty if it has no worktree.
    pub worktree: &'a str,
    /// Empty if it has no branch.
    pub branch: &'a str,
}

/// The worktrees of the repository at `top`, the main one first.
pub fn list(top: &Path) -> Result<Vec<ListedWorktree>> {
    let printed = git::output(git::command(top).args(["worktree", "list", "--porcelain", "-z"]))
        .context("could not list the worktrees")?;
    let mut all: Vec<ListedWorktree> = Vec::new();
    for line in printed.split(|byte| *byte == 0) {
        let (name, value) = match line.iter().position(|byte| *byte == b' ') {
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (line, &[][..]),
        };
        let text = || String::from_utf8_lossy(value).into_owned();
        match (name, all.last_mut()) {
            (b"worktree", _) => all.push(ListedWorktree {
                path: PathBuf::from(std::ffi::OsString::from_vec(value.to_vec())),
                ..ListedWorktree::default()
            }),
            (b"branch", Some(last)) => last.branch = text(),
            (b"locked", Some(last)) => last.locked = Some(text()),
            _ => {}
        }
    }
    Ok(all)
}

/// All the work of a worker of the repository at `top`, as one commit.
pub fn held(
    top: &Path,
    worker: WorkerPlace<'_>,
    message: &str,
    now: Timestamp,
) -> Result<WorkerWork> {
    let folder = Path::new(worker.worktree);
    if worker.worktree.is_empty() || folder.symlink_metadata().is_err() {
        return of_branch(top, worker);
    }
    let is_own = tree::repository_root(folder).is_some_and(|root| root == folder);
    if !is_own || project::identity(folder) != project::identity(top) {
        return Ok(WorkerWork::Not(format!(
            "`{}` is not a worktree of this repository",
            worker.worktree
        )));
    }
    of_worktree(folder, worker.branch, message, now)
        .with_context(|| format!("could not read the worktree `{}`", worker.worktree))
}

fn of_branch(top: &Path, worker: WorkerPlace<'_>) -> Result<WorkerWork> {
    Ok(match tip(top, &heads(worker.branch))? {
        Some(tip) if !worker.branch.is_empty() => WorkerWork::Commit { commit: tip.clone(), tip },
        _ => WorkerWork::Not("its worktree and its branch are gone".to_owned()),
    })
}

/// The commit that a name refers to; `None` if there is no such commit.
pub fn tip(top: &Path, name: &str) -> Result<Option<String>> {
    let mut command = git::command(top);
    command.args(["rev-parse", "-q", "--verify", "--end-of-options"]);
    let (is_there, printed) = git::answer(command.arg(format!("{name}^{{commit}}")))?;
    Ok(is_there.then(|| String::from_utf8_lossy(printed.trim_ascii()).into_owned()))
}

/// The full name of a branch.
pub fn heads(branch: &str) -> String {
    format!("refs/heads/{}", branch.strip_prefix("refs/heads/").unwrap_or(branch))
}

/// True if the commit `whole` is `part` or descends from it.
pub fn contains(top: &Path, whole: &str, part: &str) -> Result<bool> {
    let mut command = git::command(top);
    Ok(git::answer(command.args(["merge-base", "--is-ancestor", part, whole]))?.0)
}

/// True if two commits have the same files.
pub fn is_same_tree(top: &Path, one: &str, other: &str) -> Result<bool> {
    let mut command = git::command(top);
    Ok(git::answer(command.args(["diff-tree", "--quiet", "--no-ext-diff", one, other]))?.0)
}

fn of_worktree(folder: &Path, branch: &str, message: &str, now: Timestamp) -> Result<WorkerWork> {
    let Some(head) = tip(folder, "HEAD")? else {
        return Ok(WorkerWork::Not("its worktree has no commit".to_owned()));
    };
    if !branch.is_empty()
        && let Some(tip) = tip(folder, &heads(branch))?
        && !contains(folder, &head, &tip)?
    {
        return Ok(WorkerWork::Not(format!(
            "its branch `{branch}` has commits that its worktree lacks"
        )));
    }
    if !git::output(git::command(folder).args(["ls-files", "-u", "-z"]))?.is_empty() {
        return Ok(WorkerWork::Not("its worktree is in the middle of a merge".to_owned()));
    }
    let work = ScratchIndex::gather(folder, Objects::Kept, Filters::Run)?;
    if !work.is_whole() {
        return Ok(WorkerWork::Not("some of its files could not be read".to_owned()));
    }
    if let Some(path) = repository_that_is_new(folder, &head, work.tree())? {
        return Ok(WorkerWork::Not(format!(
            "`{path}` is a repository of its own that is not committed; a merge would bring a pointer \
             to it and none of its files"
        )));
    }
    let tree = tree_of(folder, &head)?;
    let commit = match work.tree() == tree {
        true => head.clone(),
        false => work.commit(Maker::User, message, now)?,
    };
    Ok(WorkerWork::Commit { tip: head, commit })
}

/// The path of a nested repository that is missing from the last commit, or differs there.
fn repository_that_is_new(folder: &Path, head: &str, tree: &str) -> Result<Option<String>> {
    let mut command = git::command(folder);
    command.args(["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", head, tree]);
    let listed = git::output(&mut command)?;
    let mut parts = listed.split(|byte| *byte == 0);
    while let (Some(about), Some(path)) = (parts.next(), parts.next()) {
        if about.split(|byte| *byte == b' ').nth(1) == Some(b"160000") {
            return Ok(Some(readable(path)));
        }
    }
    Ok(None)
}

/// The nested repositories of a worktree whose files are present: they may contain what no commit
/// has.
pub fn repositories_within(folder: &Path) -> Result<Vec<String>> {
    let listed = git::output(git::command(folder).args(["ls-files", "-s", "-z"]))?;
    let lines = listed.split(|byte| *byte == 0).filter(|line| line.starts_with(b"160000 "));
    let paths = lines.filter_map(|line| line.splitn(2, |byte| *byte == b'\t').nth(1));
    let has_files = |path: &&[u8]| {
        let entries = folder.join(OsStr::from_bytes(path)).read_dir();
        entries.is_ok_and(|mut entries| entries.next().is_some())
    };
    Ok(paths.filter(has_files).map(readable).collect())
}

/// The branches, remote branches and tags that contain a commit.
pub fn names_of(top: &Path, commit: &str) -> Result<Vec<String>> {
    let mut command = git::command(top);
    command.args(["for-each-ref", "--format=%(refname)", "--contains", commit]);
    let printed = git::output(command.args(["refs/heads", "refs/remotes", "refs/tags"]))?;
    Ok(String::from_utf8_lossy(&printed).lines().map(str::to_owned).collect())
}

/// Removes a worktree and git's entry of it, even if the folder is gone. A locked worktree stays.
pub fn remove(top: &Path, folder: &Path) -> Result<()> {
    let mut command = git::command(top);
    git::output(command.args(["worktree", "remove", "--force"]).arg(folder))
        .map(drop)
        .with_context(|| format!("could not remove the worktree `{}`", folder.display()))
}

/// The path to which a worktree is moved once its removal is certain: half removed in its own
/// place, it would look as if someone had changed it.
pub fn aside(folder: &Path) -> PathBuf {
    let mut name = folder.as_os_str().to_owned();
    name.push(".ralph-removed");
    PathBuf::from(name)
}

/// As [`remove`], in steps after each of which the process may die; what remains is then found
/// under [`aside`].
pub fn put_away(top: &Path, folder: &Path, is_listed: bool) -> Result<()> {
    let aside = aside(folder);
    let describe = || format!("could not remove the worktree `{}`", folder.display());
    if folder.symlink_metadata().is_ok() {
        // Synced: if the old name came back after a power cut, it would hold only half of the
        // files.
        std::fs::rename(folder, &aside)
            .and_then(|()| crate::store::atomic::sync_folder(&aside))
            .with_context(describe)?;
    }
    if is_listed {
        remove(top, folder)?;
    }
    match std::fs::remove_dir_all(&aside) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(describe)
        }
        _ => Ok(()),
    }
}

/// Deletes a branch if it is still at this commit.
///
/// # Errors
/// If it is at another commit, or git fails.
pub fn delete_branch(top: &Path, branch: &str, expected: &str) -> Result<()> {
    git::remove_ref(top, &heads(branch), Some(expected))
}

/// Points a ref of ours at a commit, so that git keeps the commit.
pub fn keep(top: &Path, reference: &str, commit: &str) -> Result<()> {
    git::set_ref(top, reference, commit)
}
