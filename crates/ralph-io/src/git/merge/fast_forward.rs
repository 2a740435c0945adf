//! Moves the loop's files, index and branch to the merged commit, together.
//!
//! The order is: a note of what is meant, git's lock of the index, the files, the index, the branch. A
//! process that finds the note knows from the index and the branch how far another came: files alone are
//! put back, and from the index on it is finished.

use super::affected::{TouchedPaths, Way, change, in_the_way_of};
use super::undo::above;
use super::{MergeTarget, branch, undo};
use crate::git::checkpoint::work::copy_index;
use crate::git::scratch::Scratch;
use crate::{git, git::worktrees, project::trusted_read, store::atomic};
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

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

/// What was found of a merge that was killed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recovered {
    /// Nothing.
    Nothing,
    /// It had not come far and was undone.
    Undone,
    /// It is finished now. The note stays until [`done`].
    Finished(Intent),
    /// It stopped between these files, and somebody has changed them since.
    InTheWay(Vec<String>),
}

/// Moves everything, or nothing.
///
/// # Errors
/// When git fails or is at work in this work tree; nothing has moved then.
pub fn forward(place: &MergeTarget, intent: &Intent) -> Result<Moved> {
    if !stands_at(place, intent, &intent.base)? {
        return Ok(Moved::HeadMoved);
    }
    let change = change(&place.top, Way { from: &intent.base, to: &intent.merged })?;
    let text = serde_json::to_vec_pretty(intent).context("could not write JSON")?;
    atomic::write(&place.note(), &text)?;
    if let Err(error) = hold(place) {
        // A note of what did not happen would only be read and dropped.
        let _ = done(place);
        return Err(error);
    }
    let moved = held(place, intent, &change);
    let moved = release(place).and(moved);
    // After an error it stays: what could not be put back now is, by the next merge.
    if moved.as_ref().is_ok_and(|moved| *moved != Moved::Forward) {
        done(place)?;
    }
    moved
}

/// With the index locked.
fn held(place: &MergeTarget, intent: &Intent, change: &TouchedPaths) -> Result<Moved> {
    if !stands_at(place, intent, &intent.base)? {
        return Ok(Moved::HeadMoved);
    }
    let files = in_the_way_of(place, change)?;
    if !files.is_empty() {
        return Ok(Moved::InTheWay(files));
    }
    let moved = move_files(place, Way { from: &intent.base, to: &intent.merged }, change)
        .and_then(|()| move_branch(place, intent));
    if let Err(error) = moved {
        let left = put_back(place, intent, change).context("could not put the files back")?;
        return Err(error.context(match left.is_empty() {
            true => "could not move the loop to what was merged; nothing was changed".to_owned(),
            false => format!(
                "could not move the loop to what was merged, and these were written meanwhile: {}",
                left.join(", ")
            ),
        }));
    }
    Ok(Moved::Forward)
}

/// Undoes what there is of a move whose branch has not moved. Returns what somebody else has written.
fn put_back(place: &MergeTarget, intent: &Intent, change: &TouchedPaths) -> Result<Vec<String>> {
    if undo::index_has(place, change)? {
        move_files(place, Way { from: &intent.merged, to: &intent.base }, change)?;
        return Ok(Vec::new());
    }
    undo::files(place, intent, change)
}

/// Finishes or undoes what a killed merge began, whichever loop's it was. The project's merges are locked.
///
/// # Errors
/// When git fails or is at work in this work tree.
pub fn recover(place: &MergeTarget) -> Result<Recovered> {
    let Some(text) = trusted_read::read(&place.note())? else { return Ok(Recovered::Nothing) };
    let Ok(intent) = serde_json::from_slice::<Intent>(&text) else {
        bail!("could not understand `{}`, the note of a merge", place.note().display());
    };
    release(place)?;
    if stands_at(place, &intent, &intent.merged)? {
        return Ok(Recovered::Finished(intent));
    }
    if !stands_at(place, &intent, &intent.base)? {
        // Somebody went on from here: what is in the work tree is theirs now.
        done(place)?;
        return Ok(Recovered::Undone);
    }
    hold(place)?;
    let outcome = recover_held(place, &intent);
    release(place)?;
    if outcome.as_ref().is_ok_and(|outcome| *outcome == Recovered::Undone) {
        done(place)?;
    }
    outcome
}

fn recover_held(place: &MergeTarget, intent: &Intent) -> Result<Recovered> {
    let change = change(&place.top, Way { from: &intent.base, to: &intent.merged })?;
    if undo::index_has(place, &change)? {
        move_branch(place, intent)?;
        return Ok(Recovered::Finished(intent.clone()));
    }
    let left = undo::files(place, intent, &change)?;
    Ok(if left.is_empty() { Recovered::Undone } else { Recovered::InTheWay(left) })
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

    pub(super) fn index(&self) -> PathBuf {
        self.git_dir.join("index")
    }

    fn index_lock(&self) -> PathBuf {
        self.git_dir.join("index.lock")
    }
}

fn stands_at(place: &MergeTarget, intent: &Intent, commit: &str) -> Result<bool> {
    let head = worktrees::tip(&place.top, "HEAD")?;
    Ok(head.as_deref() == Some(commit) && branch(&place.top)? == intent.branch)
}

/// Keeps every git from writing the index. The lock is the note by another name: who finds it after a
/// kill knows whose it is.
fn hold(place: &MergeTarget) -> Result<()> {
    let lock = place.index_lock();
    std::fs::hard_link(place.note(), &lock).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => anyhow::anyhow!(
            "another git is at work in `{}`, or was killed there: when none runs any more, remove \
             `{}`; then run `ralph parallel merge` again",
            place.top.display(),
            lock.display()
        ),
        _ => anyhow::Error::from(error).context(format!("could not make `{}`", lock.display())),
    })
}

fn release(place: &MergeTarget) -> Result<()> {
    let lock = place.index_lock();
    let (Ok(ours), Ok(there)) = (place.note().symlink_metadata(), lock.symlink_metadata()) else {
        return Ok(());
    };
    if (ours.dev(), ours.ino()) == (there.dev(), there.ino()) {
        std::fs::remove_file(&lock)
            .with_context(|| format!("could not remove `{}`", lock.display()))?;
    }
    Ok(())
}

/// Git's own two-tree merge on a copy of the index, which then takes the place of the index.
fn move_files(place: &MergeTarget, way: Way<'_>, change: &TouchedPaths) -> Result<()> {
    let scratch = Scratch::new()?;
    let copy = scratch.path("index");
    copy_index(&place.index(), &copy)?;
    // A file that was written again as it was is changed to git until it has looked. Exit code 1 says
    // that others are changed.
    let mut refresh = git::command(&place.top);
    refresh.env("GIT_INDEX_FILE", &copy).args(["update-index", "-q", "--refresh"]);
    git::answer(&mut refresh)?;
    let mut command = git::command(&place.top);
    command.env("GIT_INDEX_FILE", &copy).args(["read-tree", "-m", "-u", way.from, way.to]);
    git::output(&mut command)?;
    sync(place, change)?;
    install(place, &copy)
}

/// Git syncs no file of a work tree, and no object. After a power cut an index that says that all is there
/// would make deletions of what is not.
fn sync(place: &MergeTarget, change: &TouchedPaths) -> Result<()> {
    let mut folders = BTreeSet::new();
    for path in change.keys().map(|path| Path::new(OsStr::from_bytes(path))) {
        let full = place.top.join(path);
        if full.symlink_metadata().is_ok_and(|about| about.is_file()) {
            File::open(&full)
                .and_then(|file| file.sync_all())
                .with_context(|| format!("could not sync `{}`", full.display()))?;
        }
        let real =
            |part: &&Path| place.top.join(part).symlink_metadata().is_ok_and(|it| it.is_dir());
        folders.extend(above(path).into_iter().take_while(real).map(|part| place.top.join(part)));
    }
    folders.insert(place.top.clone());
    for folder in &folders {
        File::open(folder)
            .and_then(|folder| folder.sync_all())
            .with_context(|| format!("could not sync `{}`", folder.display()))?;
    }
    #[cfg(target_os = "linux")]
    rustix::fs::syncfs(File::open(&place.git_dir).context("could not open the git folder")?)
        .context("could not sync the repository")?;
    Ok(())
}

fn install(place: &MergeTarget, copy: &Path) -> Result<()> {
    let (index, beside) = (place.index(), place.git_dir.join("ralph-merge.index"));
    let install = || -> std::io::Result<()> {
        std::fs::copy(copy, &beside)?;
        let file = File::options().write(true).open(&beside)?;
        if let Ok(about) = index.metadata() {
            file.set_permissions(about.permissions())?;
        }
        // Git takes an entry for unchanged if its file is older than the index.
        file.set_modified(copy.metadata()?.modified()?)?;
        file.sync_all()?;
        std::fs::rename(&beside, &index)?;
        atomic::sync_folder(&index)
    };
    install().with_context(|| format!("could not write `{}`", index.display()))
}

fn move_branch(place: &MergeTarget, intent: &Intent) -> Result<()> {
    let mut command = git::command(&place.top);
    // The person finds it in their reflog.
    command.args(["-c", "core.logAllRefUpdates=true", "update-ref", "-m", "ralph parallel merge"]);
    git::output(command.args(["HEAD", &intent.merged, &intent.base])).map(drop)
}
