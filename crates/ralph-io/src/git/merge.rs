//! Merges workers' branches: first in a separate worktree, then into the loop's working tree as a
//! whole.
//!
//! Nothing of the user's changes until everything has been merged and tested in the separate
//! worktree. It is inside the project, so that programs find what they look for in parent folders.
//! While commands run, the installed packages that git ignores are linked into it. It is removed at
//! the end; the next merge removes the one of a killed merge.
//!
//! Then `git merge --ff-only` moves files, index and branch forward, or refuses. A note in the git
//! folder records the intent until the state records the result. A process that finds the note
//! checks `HEAD` to see whether the killed merge had moved the branch.

#[cfg(test)]
mod tests;

use crate::git::checkpoint::tree_of;
use crate::git::tree_id::readable;
use crate::git::{tree, worktrees};
use crate::project::trusted_read;
use crate::store::home::Home;
use crate::store::lock::Lock;
use crate::store::manifest::ManifestKey;
use crate::store::{atomic, lock};
use crate::{git, project};
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
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

pub(crate) const BISECT: &str = "a bisect";

/// Files in the git folder that show an unfinished operation, and the name of that operation.
const IN_PROGRESS: [(&str, &str); 6] = [
    ("MERGE_HEAD", "a merge"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("BISECT_LOG", BISECT),
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
    atomic::make_private(&folder)?;
    let place = folder.join(ManifestKey::project(&project::identity(root)).name());
    let held = lock::take(&place, patience).context(
        "another merge of this project is at work; run `ralph parallel merge` again when it is done",
    )?;
    held.share_with_children()?;
    Ok(held)
}

/// How many ignored files and folders are checked for what commands need.
const MOST_LOOKED_AT: usize = 20_000;

/// The worktree; dropping this removes it.
#[derive(Debug)]
pub struct Bench {
    top: PathBuf,
    folder: PathBuf,
    /// The commit that is checked out, and that the loop will get.
    head: String,
    links: Vec<PathBuf>,
}

/// The result of one merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tried {
    /// This commit contains both.
    Merged(String),
    /// The commit brought nothing new.
    Nothing,
    /// Both sides changed these files in conflicting ways.
    Conflict(Vec<String>),
    /// Git refused, with this message.
    Cannot(String),
}

impl Bench {
    /// Creates the worktree at `folder`, at this commit.
    pub fn set(top: &Path, folder: &Path, commit: &str) -> Result<Bench> {
        remove_bench(top, folder)?;
        let bench = Bench {
            top: top.to_owned(),
            folder: folder.to_owned(),
            head: commit.to_owned(),
            links: Vec::new(),
        };
        let mut add = git::command(top);
        // Force: git may still list a worktree whose folder is gone.
        add.args(["worktree", "add", "-q", "--force", "--detach"]).arg(folder).arg(commit);
        git::output(&mut add)
            .with_context(|| format!("could not make the worktree `{}`", folder.display()))?;
        Ok(bench)
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The commit that is checked out.
    pub fn head(&self) -> &str {
        &self.head
    }

    /// The name of the git tree that is checked out.
    pub fn tree(&self) -> Result<String> {
        tree_of(&self.folder, &self.head)
    }

    /// True if no command has changed a file that the commit has.
    pub fn is_unchanged(&self) -> Result<bool> {
        let mut diff = git::command(&self.folder);
        git::agreed(diff.args(["diff", "--quiet", "--no-ext-diff", &self.head, "--"]))
    }

    /// Merges a commit. Unless the result is `Merged`, the worktree is as before.
    pub fn merge(&mut self, commit: &str, message: &str) -> Result<Tried> {
        if worktrees::contains(&self.folder, &self.head, commit)? {
            return Ok(Tried::Nothing);
        }
        self.clear()?;
        let mut command = git::command(&self.folder);
        git::by_user(&self.top, &mut command)?;
        own_drivers(&self.top, &mut command)?;
        command.args(["-c", "rerere.enabled=false", "-c", "i18n.commitEncoding=UTF-8", "merge"]);
        command.args(["--no-ff", "--no-edit", "--no-verify", "--no-gpg-sign", "--no-stat", "-q"]);
        command.args(["--no-log", "--no-signoff", "--no-autostash", "--no-verify-signatures"]);
        command.args(["--cleanup=whitespace", "-m", &message.replace('\0', " "), commit]);
        let Err(error) = git::output(&mut command) else {
            self.head = git::line(git::command(&self.folder).args(["rev-parse", "HEAD"]))?;
            return Ok(Tried::Merged(self.head.clone()));
        };
        let files = unmerged(&self.folder)?;
        self.clear()?;
        Ok(match files.is_empty() {
            true => Tried::Cannot(format!("{error:#}")),
            false => Tried::Conflict(files),
        })
    }

    /// Goes back to an earlier commit.
    pub fn go_back(&mut self, commit: &str) -> Result<()> {
        commit.clone_into(&mut self.head);
        self.clear()
    }

    /// Removes what merges and commands have left, except ignored files: build results help the
    /// next command.
    fn clear(&mut self) -> Result<()> {
        for link in self.links.drain(..) {
            // Skip what is not a link any more.
            if link.symlink_metadata().is_ok_and(|about| about.is_symlink()) {
                std::fs::remove_file(&link)
                    .with_context(|| format!("could not remove `{}`", link.display()))?;
            }
        }
        git::output(git::command(&self.folder).args(["reset", "-q", "--hard", &self.head]))?;
        git::output(git::command(&self.folder).args(["clean", "-q", "-ffd"])).map(drop)
    }

    /// The linked files and folders, relative to the worktree.
    pub fn linked(&self) -> impl Iterator<Item = String> + '_ {
        let names = self.links.iter().filter_map(|link| link.strip_prefix(&self.folder).ok());
        names.map(|name| name.to_string_lossy().into_owned())
    }

    /// Links ignored files and folders from the main working tree for which `is_needed` returns
    /// true. Nothing is ever committed while such a link exists.
    pub fn link(&mut self, is_needed: fn(&Path) -> bool) -> Result<()> {
        let listed = git::ignored(&self.top).context("could not list what git ignores")?;
        for name in git::zero_ended(&listed).take(MOST_LOOKED_AT) {
            let name = Path::new(OsStr::from_bytes(name.strip_suffix(b"/").unwrap_or(name)));
            let link = self.folder.join(name);
            let has_place = link.parent().is_some_and(Path::is_dir);
            if !is_needed(name) || !has_place || link.symlink_metadata().is_ok() {
                continue;
            }
            std::os::unix::fs::symlink(self.top.join(name), &link)
                .with_context(|| format!("could not link to `{}`", name.display()))?;
            self.links.push(link);
        }
        Ok(())
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // What remains is removed by the next merge, or by `ralph parallel clean`.
        let _ = remove_bench(&self.top, &self.folder);
    }
}

/// Removes the worktree, in whatever state a killed process left it.
pub fn remove_bench(top: &Path, folder: &Path) -> Result<()> {
    let _ = worktrees::remove(top, folder);
    atomic::remove(folder).map(drop)
}

/// Replaces the merge drivers that the configuration names, so that no such program runs. Git's own
/// merge takes their place, because git rejects a driver without a command.
fn own_drivers(top: &Path, command: &mut Command) -> Result<()> {
    let mut asked = git::command(top);
    let (_, listed) =
        git::answer(asked.args(["config", "-z", "--get-regexp", r"^merge\..*\.driver$"]))?;
    let names = git::zero_ended(&listed).filter_map(|entry| entry.split(|b| *b == b'\n').next());
    const OWN: &str = "git merge-file -q --marker-size=%L %A %O %B";
    git::configure(command, names.map(|name| (OsStr::from_bytes(name), OWN)));
    Ok(())
}

/// The files with conflicts.
fn unmerged(folder: &Path) -> Result<Vec<String>> {
    let listed = git::output(git::command(folder).args(["ls-files", "-u", "-z"]))?;
    let paths =
        git::zero_ended(&listed).filter_map(|line| line.splitn(2, |byte| *byte == b'\t').nth(1));
    let mut files: Vec<String> = paths.map(readable).collect();
    files.dedup();
    Ok(files)
}

/// The planned move and the work that it brings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// The loop that merges.
    pub loop_id: String,
    /// The commit that the loop is at.
    pub base: String,
    /// The commit that the loop moves to.
    pub merged: String,
    /// The branch that moves; empty for a detached `HEAD`.
    pub branch: String,
    /// The workers whose work is merged.
    pub steps: Vec<MergeStep>,
}

/// One worker's part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeStep {
    /// The call that identifies the worker.
    pub call: String,
    /// The commit with all of the worker's work.
    pub commit: String,
    /// The merge commit.
    pub merge: String,
}

/// Whether the branch moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moved {
    /// It moved with all files. The note stays until [`done`].
    Forward,
    /// Nothing moved: these files of the working tree would have been lost, and perhaps others.
    InTheWay { files: Vec<String>, and_others: bool },
    /// Nothing moved: `HEAD` has changed since.
    HeadMoved,
}

/// Moves the branch with its files, unless something of the user's would be lost.
///
/// # Errors
/// If git fails, or another git is running in this working tree.
pub fn forward(place: &MergeTarget, intent: &Intent) -> Result<Moved> {
    if !stands_at(place, intent, &intent.base)? {
        return Ok(Moved::HeadMoved);
    }
    let text = serde_json::to_vec_pretty(intent).context("could not write JSON")?;
    atomic::write(&place.note(), &text)?;
    let mut command = git::command(&place.top);
    // The user finds this name in the reflog; we parse git's messages, so they must be in English.
    command.env("GIT_REFLOG_ACTION", "ralph parallel merge").env("LC_ALL", "C");
    command.args(["-c", "core.logAllRefUpdates=true", "merge", "--ff-only", "-q", "--no-stat"]);
    command.args(["--no-overwrite-ignore", "--no-autostash", "--no-squash"]);
    command.args(["--no-verify-signatures", &intent.merged]);
    let Err(error) = git::output(&mut command) else { return Ok(Moved::Forward) };
    if stands_at(place, intent, &intent.merged)? {
        return Ok(Moved::Forward);
    }
    done(place)?;
    if !stands_at(place, intent, &intent.base)? {
        return Ok(Moved::HeadMoved);
    }
    let words = format!("{error:#}");
    let mut files = named(place, &words)?;
    // Git names only so many, and we keep only so much of that: the last name may be cut.
    let and_others = !words.ends_with("Aborting");
    if and_others {
        files.pop();
    }
    let lock = place.git_dir.join("index.lock");
    if files.is_empty() && lock.symlink_metadata().is_ok() {
        bail!(
            "another git runs in `{}`, or was killed there: when none runs any more, remove `{}`; \
             then run `ralph parallel merge` again",
            place.top.display(),
            lock.display()
        );
    }
    match files.is_empty() {
        true => Err(error.context("could not move the loop to what was merged")),
        false => Ok(Moved::InTheWay { files, and_others }),
    }
}

/// Extracts the file names from git's message, each on a line that starts with a tab. A folder
/// stands for all untracked files in it.
fn named(place: &MergeTarget, words: &str) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for name in words.split("; \t").skip(1).filter_map(|part| part.split("; ").next()) {
        if !place.top.join(name).is_dir() {
            files.push(name.to_owned());
            continue;
        }
        let mut list = git::command(&place.top);
        let listed = git::output(list.args(["ls-files", "--others", "-z", "--", name]))?;
        files.extend(
            git::zero_ended(&listed).map(|file| String::from_utf8_lossy(file).into_owned()),
        );
    }
    Ok(files)
}

/// Recovers a merge that was killed, whichever loop's it was; `None` if it had not moved the
/// branch. The caller holds the project's merge lock. The note stays until [`done`].
pub fn recover(place: &MergeTarget) -> Result<Option<Intent>> {
    let Some(text) = trusted_read::read(&place.note())? else { return Ok(None) };
    let Ok(intent) = serde_json::from_slice::<Intent>(&text) else {
        bail!("could not parse `{}`, the note of a merge", place.note().display());
    };
    if stands_at(place, &intent, &intent.merged)? {
        return Ok(Some(intent));
    }
    done(place)?;
    Ok(None)
}

/// Removes the note, once its content is recorded elsewhere.
pub fn done(place: &MergeTarget) -> Result<()> {
    atomic::remove(&place.note()).map(drop)
}

impl MergeTarget {
    fn note(&self) -> PathBuf {
        self.git_dir.join("ralph-merge")
    }
}

fn stands_at(place: &MergeTarget, intent: &Intent, commit: &str) -> Result<bool> {
    let head = worktrees::tip(&place.top, "HEAD")?;
    Ok(head.as_deref() == Some(commit) && branch(&place.top)? == intent.branch)
}
