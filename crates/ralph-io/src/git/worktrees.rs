//! Workers' worktrees: finds them, reads what they contain, and removes them.
//!
//! A worker's work is what its branch contains and what it left uncommitted. We turn both into one
//! commit without touching its branch, index or files, so it does not matter whether a worker
//! commits. The client removes the worktrees in which nothing changed. The others stay below the
//! repository's main working tree, each with a branch, until someone removes them.

pub mod make;

use crate::git::checkpoint::tree_of;
use crate::git::checkpoint::work::{Filters, Maker, Objects, ScratchIndex};
use crate::git::tree_id::readable;
use crate::git::{repository, tree};
use crate::project::{safe_read, user_files};
use crate::store::atomic;
use crate::{client, git, project};
use anyhow::{Context, Result};
use jiff::Timestamp;
use ralph_core::state::ClientProcess;
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
            .and_then(|()| atomic::sync_folder(&aside))
            .with_context(describe)?;
    }
    if is_listed {
        remove(top, folder)?;
    }
    atomic::remove(&aside).map(drop)
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

/// A worker's worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerTree {
    pub top: PathBuf,
    /// Its branch; empty for a detached `HEAD`.
    pub branch: String,
    /// The commit at which it left the branch of the project's main working tree.
    pub base: String,
    /// The paths, from the top, of all files that differ from the base, committed or not. Ignored
    /// files do not count as work.
    pub files: Vec<String>,
}

/// Inspects the worktree around a folder; `None` if it is the project's own working tree, or not in
/// the project's repository.
pub fn around(folder: &Path, project: &Path) -> Result<Option<WorkerTree>> {
    let (Ok(folder), Ok(project)) = (folder.canonicalize(), project.canonicalize()) else {
        return Ok(None);
    };
    let (Some(its), Some(ours)) = (repository::around(&folder), repository::around(&project))
    else {
        return Ok(None);
    };
    if its.top == ours.top || its.common() != ours.common() {
        return Ok(None);
    }
    let head = git::line(git::command(&ours.top).args(["rev-parse", "--verify", "HEAD"]))?;
    let base = git::line(git::command(&its.top).args(["merge-base", "HEAD", head.trim()]))?;
    let branch = its.text("HEAD").unwrap_or_default();
    let branch = branch.trim().strip_prefix("ref: refs/heads/").unwrap_or_default().to_owned();
    let files = make::changed(&its.top, &base)?;
    Ok(Some(WorkerTree { top: its.top, branch, base, files }))
}

/// The folder of the client's worktrees, below the top of a working tree.
const FOLDER: &str = ".claude/worktrees";

/// Longer than any lock reason.
const LARGEST: u64 = 1 << 16;

/// The folder of these worktrees, and the sorted names of those in which no worker is running;
/// `None` if there is no repository.
pub fn left(project: &Path) -> Option<(PathBuf, Vec<String>)> {
    let repository = repository::around(&project.canonicalize().ok()?)?;
    let top = repository.main_work_tree().unwrap_or_else(|| repository.top.clone());
    let folder = top.join(FOLDER);
    let mut names = user_files::names(&folder);
    names.retain(|name| {
        let lock = repository.common().join("worktrees").join(name).join("locked");
        let reason = safe_read::text(&lock, LARGEST).ok().flatten();
        folder.join(name).is_dir() && !reason.is_some_and(|reason| is_at_work(&reason))
    });
    Some((folder, names))
}

/// Measured with 2.1.328: while a worker is running, git's lock on its worktree names the client's process.
///
/// True for a reason like `claude agent agent-1f (pid 123 start 456)`, if that process still runs.
fn is_at_work(reason: &str) -> bool {
    let holder = || {
        let (_, words) = reason.rsplit_once("(pid ")?;
        let (pid, started) = words.trim_end().strip_suffix(')')?.split_once(" start ")?;
        Some(ClientProcess { pid: pid.parse().ok()?, started: started.to_owned() })
    };
    holder().is_some_and(|holder| client::is_alive(&holder))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::sandbox::Sandbox;

    #[test]
    fn committed_changed_new_and_deleted_files_are_work_and_ignored_ones_are_not() {
        let at = Sandbox::new();
        at.write("kept", "1");
        at.write("gone", "1");
        at.write(".gitignore", "ignored\n");
        at.git("add -A");
        at.git("commit -qm base");
        at.git("worktree add -q -b work .claude/worktrees/w");
        let tree = at.path(".claude/worktrees/w");
        let write = |name: &str| std::fs::write(tree.join(name), "2").unwrap();
        write("committed");
        at.git("-C .claude/worktrees/w add committed");
        at.git("-C .claude/worktrees/w commit -qm work");
        write("new file");
        write("ignored");
        write("kept");
        std::fs::remove_file(tree.join("gone")).unwrap();
        // The loop continues meanwhile: later commits are not the worker's.
        at.write("later", "1");
        at.git("add later");
        at.git("commit -qm later");
        let look = around(&tree, &at.root()).unwrap().unwrap();
        assert_eq!(look.files, ["committed", "gone", "kept", "new file"]);
        assert_eq!((look.branch.as_str(), look.base.len()), ("work", 40));
        assert_eq!(look.top, tree.canonicalize().unwrap());
    }

    #[test]
    fn the_projects_own_work_tree_is_no_workers() {
        let at = Sandbox::new();
        std::fs::create_dir(at.path("sub")).unwrap();
        assert_eq!(around(&at.path("sub"), &at.root()).unwrap(), None);
        let other = Sandbox::new();
        assert_eq!(around(&other.root(), &at.root()).unwrap(), None);
    }

    fn names(at: &Path) -> Vec<String> {
        left(at).unwrap().1
    }

    #[test]
    fn only_those_in_which_somebody_is_at_work_are_left_out() {
        let at = Sandbox::new();
        assert_eq!(names(&at.root()), [""; 0]);
        let us = std::process::id();
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
        let after = stat.rsplit_once(')').unwrap().1;
        let started = after.split_whitespace().nth(19).unwrap().to_owned();
        for name in ["quiet", "busy", "gone", "odd"] {
            at.git(&format!("worktree add -q .claude/worktrees/{name}"));
        }
        at.write(".claude/worktrees/a-file", "");
        for (name, reason) in [
            ("busy", format!("claude agent busy (pid {us} start {started})\n")),
            ("gone", format!("claude agent gone (pid {us} start 1)")),
            ("odd", "keep".to_owned()),
        ] {
            at.write(&format!(".git/worktrees/{name}/locked"), &reason);
        }
        assert_eq!(names(&at.path("src")), ["gone", "odd", "quiet"]);
        let (folder, from_within) = left(&at.path(".claude/worktrees/quiet")).unwrap();
        assert_eq!(folder, at.path(".claude/worktrees"), "they are the main work tree's");
        assert_eq!(from_within, ["gone", "odd", "quiet"]);
        assert_eq!(left(&Sandbox::folder().root()), None);
    }
}
