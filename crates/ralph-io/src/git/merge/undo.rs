//! Puts files back that a merge had written before it was stopped.
//!
//! Only what that merge can have made is overwritten: a file of the merged commit, the beginning of one,
//! or nothing where one was to be. What holds anything else was written by somebody and stays.

use super::MergeTarget;
use super::affected::{Touched, TouchedPaths, TreeEntry};
use super::fast_forward::Intent;
use crate::git;
use crate::git::checkpoint::work::{Objects, ScratchIndex};
use crate::git::tree_id::readable;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stands {
    /// The file from before.
    Old,
    /// What the merge made, or a part of it.
    Made,
    Nothing,
    /// Something else.
    Other,
}

/// True if the index has the merged version of every path that is touched.
pub(super) fn index_has(place: &MergeTarget, change: &TouchedPaths) -> Result<bool> {
    let entries = entries(git::output(git::command(&place.top).args(["ls-files", "-s", "-z"]))?);
    Ok(change.iter().all(|(path, touched)| entries.get(path) == touched.new.as_ref()))
}

/// Makes the files what they were; or names those that somebody has written since, and changes nothing.
pub(super) fn files(
    place: &MergeTarget,
    intent: &Intent,
    change: &TouchedPaths,
) -> Result<Vec<String>> {
    let stands = look(place, intent, change)?;
    let others: Vec<String> = stands
        .iter()
        .filter(|(_, stands)| **stands == Stands::Other)
        .map(|(path, _)| readable(path))
        .collect();
    if !others.is_empty() {
        return Ok(others);
    }
    let is_new = |path: &Vec<u8>| change.get(path).is_some_and(|touched| touched.old.is_none());
    for (path, stands) in stands.iter().filter(|(path, _)| is_new(path)) {
        take_away(&place.top, path, *stands)?;
    }
    let back = stands.iter().filter(|(path, stands)| **stands != Stands::Old && !is_new(path));
    let back: Vec<u8> = back.flat_map(|(path, _)| [path.as_slice(), b"\0"].concat()).collect();
    if !back.is_empty() {
        let work = ScratchIndex::copy(&place.top, Objects::Dropped)?;
        let mut command = work.command();
        command.args(["checkout-index", "-f", "-q", "-z", "--stdin"]);
        git::output(command.stdin(work.input("paths", &back)?))?;
    }
    Ok(Vec::new())
}

fn look(
    place: &MergeTarget,
    intent: &Intent,
    change: &TouchedPaths,
) -> Result<BTreeMap<Vec<u8>, Stands>> {
    let mut stands = BTreeMap::new();
    let mut there: Vec<u8> = Vec::new();
    for (path, _) in change.iter().filter(|(_, touched)| !touched.is_repository()) {
        match kind(&place.top, path) {
            UndoKind::File => {
                stands.insert(path.clone(), Stands::Other);
                there.extend([path.as_slice(), b"\0"].concat());
            }
            // A folder stands where the other version has files, and those are looked at too.
            UndoKind::Nothing | UndoKind::Folder => {
                stands.insert(path.clone(), Stands::Nothing);
            }
        }
    }
    // What git would take them for if they were added, filters and all.
    let work = ScratchIndex::copy(&place.top, Objects::Dropped)?;
    let mut update = work.command();
    update.args(["update-index", "--add", "--replace", "-z", "--stdin"]);
    git::output(update.stdin(work.input("paths", &there)?))?;
    let now = entries(git::output(work.command().args(["ls-files", "-s", "-z"]))?);
    for (path, found) in stands.iter_mut().filter(|(_, found)| **found == Stands::Other) {
        *found = judge(place, intent, path, &change[path], now.get(path))?;
    }
    Ok(stands)
}

fn judge(
    place: &MergeTarget,
    intent: &Intent,
    path: &[u8],
    touched: &Touched,
    now: Option<&TreeEntry>,
) -> Result<Stands> {
    if now == touched.old.as_ref() {
        return Ok(Stands::Old);
    }
    if now == touched.new.as_ref() {
        return Ok(Stands::Made);
    }
    let full = place.top.join(OsStr::from_bytes(path));
    if full.symlink_metadata()?.is_symlink() {
        return Ok(Stands::Other);
    }
    let text =
        std::fs::read(&full).with_context(|| format!("could not read `{}`", full.display()))?;
    for (commit, entry) in [(&intent.merged, &touched.new), (&intent.base, &touched.old)] {
        if entry.as_ref().is_some_and(|(mode, _)| mode != b"120000")
            && written(&place.top, commit, path)?.starts_with(&text)
        {
            return Ok(Stands::Made);
        }
    }
    Ok(Stands::Other)
}

/// The bytes that git writes for a file of a commit.
fn written(top: &Path, commit: &str, path: &[u8]) -> Result<Vec<u8>> {
    let name = OsString::from_vec([commit.as_bytes(), b":", path].concat());
    git::output(git::command(top).args(["cat-file", "--filters"]).arg(name))
}

enum UndoKind {
    Nothing,
    File,
    Folder,
}

/// What stands at a path, not through any link.
fn kind(top: &Path, path: &[u8]) -> UndoKind {
    let path = Path::new(OsStr::from_bytes(path));
    let is_folder = |part: &&Path| top.join(part).symlink_metadata().is_ok_and(|it| it.is_dir());
    if !above(path).iter().all(is_folder) {
        return UndoKind::Nothing;
    }
    match top.join(path).symlink_metadata() {
        Err(_) => UndoKind::Nothing,
        Ok(about) if about.is_dir() => UndoKind::Folder,
        Ok(_) => UndoKind::File,
    }
}

/// Removes a file that the merge made, and the folders that are empty without it.
fn take_away(top: &Path, path: &[u8], stands: Stands) -> Result<()> {
    let path = Path::new(OsStr::from_bytes(path));
    let full = top.join(path);
    if stands == Stands::Made {
        std::fs::remove_file(&full)
            .with_context(|| format!("could not remove `{}`", full.display()))?;
    }
    let is_folder = |part: &&Path| top.join(part).symlink_metadata().is_ok_and(|it| it.is_dir());
    let real: Vec<&Path> = above(path).into_iter().take_while(is_folder).collect();
    for folder in real.into_iter().rev() {
        if std::fs::remove_dir(top.join(folder)).is_err() {
            break;
        }
    }
    Ok(())
}

/// The folders above a path, from the top of the work tree on.
pub(super) fn above(path: &Path) -> Vec<&Path> {
    let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
    above.pop();
    above.reverse();
    above
}

/// Mode, object and path of each entry that `ls-files -s -z` prints.
fn entries(listed: Vec<u8>) -> BTreeMap<Vec<u8>, TreeEntry> {
    let lines = listed.split(|byte| *byte == 0).filter(|line| !line.is_empty());
    lines
        .filter_map(|line| {
            let tab = line.iter().position(|byte| *byte == b'\t')?;
            let mut fields = line[..tab].split(|byte| *byte == b' ');
            let entry = (fields.next()?.to_vec(), fields.next()?.to_vec());
            Some((line[tab + 1..].to_vec(), entry))
        })
        .collect()
}
