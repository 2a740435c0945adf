//! Checkpoints: snapshots of a working tree, kept as commits on `refs/ralph/<loop_id>/<number>`.
//!
//! They contain tracked and untracked files, but no ignored ones and none of our own folders. We
//! use an index of our own, so the user's index, branches, `HEAD`, stash and reflogs stay
//! untouched. Of a nested repository a checkpoint records only the commit.

mod compare;
#[cfg(test)]
mod tests;
pub(crate) mod work;

pub use compare::{
    ChangedFile, ChangedSince, FileForm, FileKind, Restored, changed, changed_files,
    changed_since_start, commits, diff, diff_since, files_of, keep_start, present, restore, show,
};

use crate::git::{self, tree, worktrees};
use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use work::{Filters, Objects, ScratchIndex};

/// The prefix of all our refs.
const REFS: &str = "refs/ralph/";

/// The name of the ref that keeps the tree of a loop's start, in place of a number.
const START: &str = "start";

/// The old value of a ref that must not exist yet.
const NONE: &str = "0000000000000000000000000000000000000000";

/// Another process may take the next number first, or may have died holding its lock, but not this
/// often.
const ATTEMPTS: u32 = 5;

/// How many checkpoints of a loop are kept.
const CHECKPOINTS: usize = 20;

/// How long checkpoints of other loops are kept.
const LONGEST_KEPT: Duration = Duration::from_secs(30 * 24 * 3600);

/// A snapshot that was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// `refs/ralph/<loop_id>/<number>`.
    pub reference: String,
    /// The number within the loop, from 1.
    pub number: u32,
    /// The id of the commit.
    pub commit: String,
    /// The id of the commit's tree; equal content has an equal id.
    pub tree: String,
    /// The time, to the second.
    pub at: Timestamp,
    /// Why the checkpoint was taken.
    pub about: String,
}

impl Checkpoint {
    /// The loop that took the checkpoint.
    pub fn loop_id(&self) -> &str {
        let names = self.reference.strip_prefix(REFS).and_then(|rest| rest.split_once('/'));
        names.map_or("", |(loop_id, _)| loop_id)
    }
}

/// The files of a repository, stored by git without a commit. Git deletes them after two weeks unless
/// a checkpoint keeps them.
#[derive(Debug)]
pub struct TreeSnapshot(ScratchIndex);

impl TreeSnapshot {
    /// Stores the files of the repository that holds `root`; `None` if there is no repository.
    pub fn capture(root: &Path) -> Result<Option<TreeSnapshot>> {
        let Some(top) = tree::repository_root(root) else { return Ok(None) };
        let work = ScratchIndex::gather(&top, Objects::Kept, Filters::Run);
        work.map(|work| Some(TreeSnapshot(work))).context("could not keep a checkpoint")
    }

    /// Keeps the files as a checkpoint of the loop, and removes old checkpoints. If nothing has changed
    /// since the loop's newest checkpoint, returns that one.
    pub fn keep(self, loop_id: &str, about: &str, now: Timestamp) -> Result<Checkpoint> {
        keep(&self.0, loop_id, about, now).context("could not keep a checkpoint")
    }
}

/// The commit that is checked out; `None` without a repository or before its first commit.
pub fn head(root: &Path) -> Option<String> {
    worktrees::tip(&tree::repository_root(root)?, "HEAD").ok().flatten()
}

/// The tree of a commit.
pub fn tree_of(top: &Path, commit: &str) -> Result<String> {
    git::line(git::command(top).args(["rev-parse", &format!("{commit}^{{tree}}")]))
}

/// Commits the gathered tree and points the loop's next ref at it.
fn keep(work: &ScratchIndex, loop_id: &str, about: &str, now: Timestamp) -> Result<Checkpoint> {
    check_loop_id(loop_id)?;
    let about = about.trim();
    for attempt in 0..ATTEMPTS {
        let mut all = with_starts(work.root(), None)?;
        let own = all.iter().filter(|one| one.loop_id() == loop_id && one.number > 0);
        let newest = own.max_by_key(|checkpoint| checkpoint.number);
        if let Some(newest) = newest.filter(|newest| newest.tree == work.tree()) {
            return Ok(newest.clone());
        }
        // Each attempt takes a higher number: a killed git leaves its lock on the number that it
        // was writing, and git never removes that lock.
        let number = newest.map_or(1, |newest| newest.number + 1) + attempt;
        let reference = format!("{REFS}{loop_id}/{number}");
        let message = format!("Ralph checkpoint {number} of loop {loop_id}\n\n{about}\n");
        let commit = work.commit(work::Maker::Ralph, message.trim_end(), now)?;
        let mut update = git::command(work.root());
        update.args(["update-ref", "--no-deref", &reference, &commit, NONE]);
        if git::agreed(&mut update)? {
            let at = Timestamp::from_second(now.as_second()).unwrap_or(now);
            let (tree, about) = (work.tree().to_owned(), about.to_owned());
            let kept = Checkpoint { reference, number, commit, tree, at, about };
            all.push(kept.clone());
            // An old checkpoint does no harm.
            let _ = prune(work.root(), loop_id, all, CHECKPOINTS, LONGEST_KEPT, now);
            return Ok(kept);
        }
        // Another process took the number first, or died holding its lock.
    }
    bail!("could not find a free number below `{REFS}{loop_id}/`")
}

/// The checkpoints of one loop, or of all loops, oldest first; empty if there is no repository.
pub fn list(root: &Path, loop_id: Option<&str>) -> Result<Vec<Checkpoint>> {
    let mut found = with_starts(root, loop_id)?;
    found.retain(|checkpoint| checkpoint.number > 0);
    Ok(found)
}

/// As [`list`], with the starts of the loops, which have number 0.
fn with_starts(root: &Path, loop_id: Option<&str>) -> Result<Vec<Checkpoint>> {
    let Some(top) = tree::repository_root(root) else { return Ok(Vec::new()) };
    let below = match loop_id {
        Some(loop_id) => {
            check_loop_id(loop_id)?;
            format!("{REFS}{loop_id}/")
        }
        None => REFS.to_owned(),
    };
    const FORMAT: &str = "%(refname)%00%(objectname)%00%(tree)%00%(committerdate:unix)%00\
                          %(contents:body)%00";
    let mut command = git::command(&top);
    command.arg("for-each-ref").arg(format!("--format={FORMAT}")).arg(below);
    let printed = git::output(&mut command).context("could not list the checkpoints")?;
    let text = String::from_utf8_lossy(&printed);
    let fields: Vec<&str> = text.split('\0').collect();
    let mut found: Vec<Checkpoint> = fields.chunks_exact(5).filter_map(parse).collect();
    found.sort_by_key(|checkpoint| (checkpoint.at, checkpoint.number));
    if loop_id.is_some() {
        // Sorted by number: after a clock was set back, an older checkpoint must not count as the
        // newest.
        found.sort_by_key(|checkpoint| checkpoint.number);
    }
    Ok(found)
}

/// Parses five fields of a ref; `None` if its name or object type is not that of a checkpoint.
pub(crate) fn parse(fields: &[&str]) -> Option<Checkpoint> {
    let [reference, commit, tree, at, about] = fields else { return None };
    // Git ends each ref with a line feed, which precedes the next name.
    let reference = reference.trim_start_matches('\n');
    let (_, number) = reference.strip_prefix(REFS)?.split_once('/')?;
    Some(Checkpoint {
        reference: reference.to_owned(),
        number: if *number == *START { 0 } else { number.parse().ok()? },
        commit: (*commit).to_owned(),
        tree: Some(*tree).filter(|tree| !tree.is_empty())?.to_owned(),
        at: Timestamp::from_second(at.parse().ok()?).ok()?,
        about: about.trim().to_owned(),
    })
}

/// Removes old ones of all checkpoints: of this loop all but the newest `keep` (at least one stays), of
/// other loops those older than `oldest`. Returns how many were removed.
fn prune(
    top: &Path,
    loop_id: &str,
    all: Vec<Checkpoint>,
    keep: usize,
    oldest: Duration,
    now: Timestamp,
) -> Result<usize> {
    let (mut own, others): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|checkpoint| checkpoint.loop_id() == loop_id);
    own.retain(|checkpoint| checkpoint.number > 0);
    own.sort_by_key(|checkpoint| checkpoint.number);
    own.truncate(own.len().saturating_sub(keep.max(1)));
    let is_old = |checkpoint: &Checkpoint| {
        let age = now.as_second().saturating_sub(checkpoint.at.as_second());
        u64::try_from(age).is_ok_and(|age| age > oldest.as_secs())
    };
    let gone: Vec<Checkpoint> = own.into_iter().chain(others.into_iter().filter(is_old)).collect();
    for checkpoint in &gone {
        // With the expected value: a checkpoint that another process has replaced stays.
        git::remove_ref(top, &checkpoint.reference, Some(&checkpoint.commit))?;
    }
    Ok(gone.len())
}

/// The names of all our refs in the repository that holds `root`.
pub fn all_refs(root: &Path) -> Result<Vec<String>> {
    let Some(top) = tree::repository_root(root) else { return Ok(Vec::new()) };
    let mut command = git::command(&top);
    let printed = git::output(command.args(["for-each-ref", "--format=%(refname)", REFS]))?;
    Ok(String::from_utf8_lossy(&printed).lines().map(str::to_owned).collect())
}

/// Removes all our refs from the repository that holds `root`.
///
/// # Errors
/// If git fails, for example because another process holds the lock of a ref; the refs before that
/// one are gone.
pub fn forget_all(root: &Path) -> Result<()> {
    let Some(top) = tree::repository_root(root) else { return Ok(()) };
    all_refs(&top)?.iter().try_for_each(|name| forget(&top, name))
}

/// Removes a ref of ours.
pub fn forget(top: &Path, name: &str) -> Result<()> {
    git::remove_ref(top, name, None)
}

/// Checks that a loop id can be part of a ref's name.
fn check_loop_id(loop_id: &str) -> Result<()> {
    let fits = |letter: u8| letter.is_ascii_alphanumeric() || letter == b'-' || letter == b'_';
    if loop_id.is_empty() || loop_id.len() > 128 || !loop_id.bytes().all(fits) {
        let shown: String = loop_id.chars().take(80).collect();
        bail!("the loop id `{}` cannot be part of a ref's name", shown.escape_debug());
    }
    Ok(())
}

/// Configures a comparing git command: plain output, without colour and external programs.
fn comparing(command: &mut Command, task: &str) {
    command.arg(task).args([
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
        "--ignore-submodules=dirty",
    ]);
}
