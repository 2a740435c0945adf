//! Moves the loop's files, index and branch to the merged commit: `git merge --ff-only`.
//!
//! A note of what is meant stands in the git folder until the state says it too. A process that finds the
//! note knows from `HEAD` whether another, which was killed, had moved the branch.

use super::{MergeTarget, branch};
use crate::{git, git::worktrees, project::trusted_read, store::atomic};
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::path::PathBuf;

/// What is to be done, and what it will mean.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// Whose merge it is.
    pub loop_id: String,
    /// The commit that the loop stood on.
    pub base: String,
    /// The commit that it is to stand on.
    pub merged: String,
    /// The branch that moves; empty for a detached `HEAD`.
    pub branch: String,
    /// The workers whose work comes with it.
    pub steps: Vec<MergeStep>,
}

/// One worker's part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeStep {
    /// What tells the worker from all others.
    pub call: String,
    /// The commit with all of its work.
    pub commit: String,
    /// The commit by which that was merged.
    pub merge: String,
}

/// Whether it moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moved {
    /// All of it. The note stays until [`done`].
    Forward,
    /// Nothing did: these files of the work tree would have been lost.
    InTheWay(Vec<String>),
    /// Nothing did: somebody else has moved `HEAD` since.
    HeadMoved,
}

/// Moves the branch with its files, if nothing of the user's is lost by it.
///
/// # Errors
/// When git fails, or another git is at work in this work tree.
pub fn forward(place: &MergeTarget, intent: &Intent) -> Result<Moved> {
    if !stands_at(place, intent, &intent.base)? {
        return Ok(Moved::HeadMoved);
    }
    let text = serde_json::to_vec_pretty(intent).context("could not write JSON")?;
    atomic::write(&place.note(), &text)?;
    let mut command = git::command(&place.top);
    // The user finds it in their reflog, and we read git's words.
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
    let files = named(place, &format!("{error:#}"))?;
    let lock = place.git_dir.join("index.lock");
    if files.is_empty() && lock.symlink_metadata().is_ok() {
        bail!(
            "another git is at work in `{}`, or was killed there: when none runs any more, remove \
             `{}`; then run `ralph parallel merge` again",
            place.top.display(),
            lock.display()
        );
    }
    match files.is_empty() {
        true => Err(error.context("could not move the loop to what was merged")),
        false => Ok(Moved::InTheWay(files)),
    }
}

/// The files that git names, each on a line that a tab begins. Of a folder all that git does not know.
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

/// What a merge that was killed had done, whichever loop's it was; none if it had not moved the branch.
/// The project's merges are locked. The note stays until [`done`].
///
/// # Errors
/// When git fails.
pub fn recover(place: &MergeTarget) -> Result<Option<Intent>> {
    let Some(text) = trusted_read::read(&place.note())? else { return Ok(None) };
    let Ok(intent) = serde_json::from_slice::<Intent>(&text) else {
        bail!("could not understand `{}`, the note of a merge", place.note().display());
    };
    if stands_at(place, &intent, &intent.merged)? {
        return Ok(Some(intent));
    }
    done(place)?;
    Ok(None)
}

/// Takes the note away: what it says is known elsewhere.
///
/// # Errors
/// When it cannot be removed.
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
