//! Moves the loop's files, index and branch to the merged commit: `git merge --ff-only`.
//!
//! A note in the git folder records the intent until the state records the result. A process that
//! finds the note checks `HEAD` to see whether the killed merge had moved the branch.

use super::{MergeTarget, branch};
use crate::{git, git::worktrees, project::trusted_read, store::atomic};
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::path::PathBuf;

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
        let below = listed.split(|byte| *byte == 0).filter(|file| !file.is_empty());
        files.extend(below.map(|file| String::from_utf8_lossy(file).into_owned()));
    }
    Ok(files)
}

/// Recovers a merge that was killed, whichever loop's it was; `None` if it had not moved the
/// branch. The caller holds the project's merge lock. The note stays until [`done`].
///
/// # Errors
/// If git fails.
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
///
/// # Errors
/// If it cannot be removed.
pub fn done(place: &MergeTarget) -> Result<()> {
    match std::fs::remove_file(place.note()) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("could not remove `{}`", place.note().display()))
        }
        _ => Ok(()),
    }
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
