//! Restores a checkpoint's files to the working tree.
//!
//! The present state is kept as a checkpoint first, so nothing is lost: a file is overwritten or
//! removed only if that checkpoint contains it. Git's own two-tree merge does the rest; it never
//! writes through a link, and it does all or nothing.

use super::look::{is_ours, top};
use super::work::{Objects, ScratchIndex};
use super::{Checkpoint, comparing, keep, list};
use crate::git::tree_id::readable;
use crate::{git, process::clock};
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use walkdir::{DirEntry, WalkDir};

/// The result of a restore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The checkpoint of the state before; restoring it undoes the restore.
    pub before: Checkpoint,
    /// Files that have their old content again.
    pub written: Vec<String>,
    /// Files that did not exist then and were removed.
    pub removed: Vec<String>,
    /// Files that could not be restored: an ignored file stands in their place, or they are nested
    /// repositories.
    pub left: Vec<String>,
}

/// A path that differs between now and the checkpoint.
struct RestoreChange<'a> {
    path: &'a [u8],
    /// Mode and object in the checkpoint; `None` if the file did not exist then.
    then: Option<(&'a [u8], &'a [u8])>,
    /// True if the file exists now.
    is_now: bool,
    is_repository: bool,
}

/// Makes the working tree what it was at the checkpoint. Ignored files, our own folders, the user's
/// index and all branches stay as they are.
pub fn restore(root: &Path, checkpoint: &Checkpoint) -> Result<Restored> {
    let number = checkpoint.number;
    let work = ScratchIndex::gather(&top(root)?, Objects::Kept)
        .context("could not save the present state; nothing was restored")?;
    let about = format!("before restoring {number}");
    let before = keep(&work, list(work.root(), None)?, checkpoint.loop_id(), &about, clock::now())
        .context("could not save the present state; nothing was restored")?;
    let listed = differences(&work, checkpoint)?;
    let changes: Vec<RestoreChange<'_>> = parse(&listed);
    let held: BTreeSet<&[u8]> =
        changes.iter().filter(|change| change.is_now).map(|change| change.path).collect();
    let (done, left): (Vec<_>, Vec<_>) = changes
        .iter()
        .partition(|change| !change.is_repository && has_room(work.root(), change, &held));
    if !done.is_empty() {
        carry_out(&work, &done).with_context(|| {
            format!("could not restore checkpoint {number}; nothing was changed")
        })?;
    }
    let (written, removed): (Vec<_>, Vec<_>) =
        done.iter().partition(|change| change.then.is_some());
    Ok(Restored { before, written: paths(&written), removed: paths(&removed), left: paths(&left) })
}

fn paths(changes: &[&RestoreChange<'_>]) -> Vec<String> {
    changes.iter().map(|change| readable(change.path)).collect()
}

fn differences(work: &ScratchIndex, checkpoint: &Checkpoint) -> Result<Vec<u8>> {
    let mut command = work.command();
    comparing(&mut command, "diff-tree");
    command.args(["-r", "-z", "--raw", "--no-renames", "--no-abbrev", work.tree()]);
    git::output(command.arg(&checkpoint.tree))
        .with_context(|| format!("could not read checkpoint {}", checkpoint.number))
}

/// Parses `:<mode now> <mode then> <object now> <object then> <letter>`, zero byte, path, zero
/// byte.
fn parse(listed: &[u8]) -> Vec<RestoreChange<'_>> {
    let mut parts = listed.split(|byte| *byte == 0);
    let mut changes = Vec::new();
    while let (Some(about), Some(path)) = (parts.next(), parts.next()) {
        let fields: Vec<&[u8]> = about.split(|byte| *byte == b' ').collect();
        let [now, then, _, object, _] = fields[..] else { continue };
        if is_ours(path) {
            continue;
        }
        changes.push(RestoreChange {
            path,
            then: (then != b"000000").then_some((then, object)),
            is_now: now != b":000000",
            is_repository: now == b":160000" || then == b"160000",
        });
    }
    changes
}

/// True unless the file's place is taken by something that the checkpoint of the present state does
/// not contain: an ignored file, or a link or folder with ignored content.
fn has_room(root: &Path, change: &RestoreChange<'_>, held: &BTreeSet<&[u8]>) -> bool {
    if change.then.is_none() || change.is_now {
        return true;
    }
    let path = Path::new(OsStr::from_bytes(change.path));
    let above: Vec<&Path> = path.ancestors().skip(1).collect();
    for part in above.into_iter().rev() {
        match root.join(part).symlink_metadata() {
            Ok(about) if about.is_dir() => {}
            // Git removes it first if the checkpoint contains it; where a link leads does not
            // matter.
            Ok(_) => return held.contains(part.as_os_str().as_bytes()),
            Err(_) => return true,
        }
    }
    is_held(root, path, held)
}

/// True if the path is free, or holds only what the checkpoint of the present state contains.
fn is_held(root: &Path, path: &Path, held: &BTreeSet<&[u8]>) -> bool {
    let place = root.join(path);
    let is_known = |entry: DirEntry| {
        let path = entry.path().strip_prefix(root).unwrap_or(entry.path());
        entry.file_type().is_dir() || held.contains(path.as_os_str().as_bytes())
    };
    place.symlink_metadata().is_err()
        || WalkDir::new(place)
            .follow_root_links(false)
            .into_iter()
            .all(|entry| entry.is_ok_and(is_known))
}

/// Builds the wanted tree, and lets git move the working tree from the present one to it.
fn carry_out(work: &ScratchIndex, changes: &[&RestoreChange<'_>]) -> Result<()> {
    let git = || work.command_with("wanted");
    git::output(git().args(["read-tree", work.tree()]))?;
    let mut lines: Vec<u8> = Vec::new();
    // Removals first: a folder may have to replace a file.
    for change in changes.iter().filter(|change| change.then.is_none()) {
        lines.extend([b"0 ", super::NONE.as_bytes(), b"\t", change.path, b"\0"].concat());
    }
    for change in changes {
        if let Some((mode, object)) = change.then {
            lines.extend([mode, b" ", object, b"\t", change.path, b"\0"].concat());
        }
    }
    let mut update = git();
    update.args(["update-index", "-z", "--index-info"]);
    git::output(update.stdin(work.input("changes", &lines)?))?;
    let wanted = git::line(git().args(["write-tree", "--missing-ok"]))?;
    // Without the sparse patterns, which would remove files outside of them.
    let mut merge = work.command();
    merge.args(["read-tree", "-m", "-u", "--no-sparse-checkout", work.tree(), &wanted]);
    git::output(&mut merge).map(drop)
}
