//! The files that a change of the loop's commit would touch, and what of a person's stands there.
//!
//! Asked before anything moves. Git would ask too, but it lets go of ignored files, and it believes the
//! bits by which a person told it not to look.

use super::MergeTarget;
use super::undo::above;
use crate::git;
use crate::git::checkpoint::work::{Objects, ScratchIndex};
use crate::git::tree_id::readable;
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Names that a refusal holds.
const MOST_NAMED: usize = 200;

/// Mode and object of a file.
pub(super) type TreeEntry = (Vec<u8>, Vec<u8>);

/// One path that differs between two commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Touched {
    pub(super) old: Option<TreeEntry>,
    pub(super) new: Option<TreeEntry>,
}

impl Touched {
    pub(super) fn is_repository(&self) -> bool {
        [&self.old, &self.new].into_iter().flatten().any(|(mode, _)| mode == b"160000")
    }
}

/// What differs between two commits, by path.
pub(super) type TouchedPaths = BTreeMap<Vec<u8>, Touched>;

/// From one commit to another.
#[derive(Debug, Clone, Copy)]
pub struct Way<'a> {
    /// The commit that the files are of.
    pub from: &'a str,
    /// The commit that they would be of.
    pub to: &'a str,
}

pub(super) fn change(top: &Path, way: Way<'_>) -> Result<TouchedPaths> {
    let mut command = git::command(top);
    command.args(["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev"]);
    let listed = git::output(command.args([way.from, way.to]))?;
    let mut parts = listed.split(|byte| *byte == 0);
    let mut change = TouchedPaths::new();
    while let (Some(about), Some(path)) = (parts.next(), parts.next()) {
        let fields: Vec<&[u8]> = about.split(|byte| *byte == b' ').collect();
        let [old, new, old_object, new_object, _] = fields[..] else { continue };
        let entry = |mode: &[u8], object: &[u8]| {
            (mode != b"000000").then(|| (mode.to_vec(), object.to_vec()))
        };
        let old = entry(old.strip_prefix(b":").unwrap_or(old), old_object);
        change.insert(path.to_owned(), Touched { old, new: entry(new, new_object) });
    }
    Ok(change)
}

/// The files of the work tree, changed and not committed or not known to git, that would be
/// overwritten or removed.
///
/// # Errors
/// When git fails.
pub fn in_the_way(place: &MergeTarget, way: Way<'_>) -> Result<Vec<String>> {
    in_the_way_of(place, &change(&place.top, way)?)
}

pub(super) fn in_the_way_of(place: &MergeTarget, change: &TouchedPaths) -> Result<Vec<String>> {
    let work = ScratchIndex::copy(&place.top, Objects::Dropped)?;
    let mut found: BTreeSet<Vec<u8>> = BTreeSet::new();
    let mut staged = work.command();
    staged.args(["diff-index", "--cached", "-z", "--name-only", "--no-renames"]);
    let staged = git::output(staged.arg(&place.head))?;
    // Exit code 1 says that some differ, which is what is asked next.
    git::answer(work.command().args(["update-index", "-q", "--refresh"]))?;
    let mut unstaged = work.command();
    unstaged.args(["diff-files", "-z", "--name-only", "--ignore-submodules=dirty"]);
    let unstaged = git::output(&mut unstaged)?;
    let dirty = staged.split(|byte| *byte == 0).chain(unstaged.split(|byte| *byte == 0));
    found.extend(dirty.filter(|path| change.contains_key(*path)).map(<[u8]>::to_vec));
    for (path, touched) in change {
        let is_new = touched.old.is_none() && touched.new.is_some();
        let was_repository = touched.old.as_ref().is_some_and(|(mode, _)| mode == b"160000");
        let stays_one = touched.new.as_ref().is_some_and(|(mode, _)| mode == b"160000");
        if is_new || was_repository && !stays_one {
            occupied(&place.top, path, change, &mut found);
        }
    }
    Ok(found.iter().take(MOST_NAMED).map(|path| readable(path)).collect())
}

/// Notes what stands where a file is to be.
fn occupied(top: &Path, path: &[u8], change: &TouchedPaths, found: &mut BTreeSet<Vec<u8>>) {
    let goes = |path: &Path| {
        let touched = change.get(path.as_os_str().as_bytes());
        touched.is_some_and(|touched| touched.old.is_some())
    };
    let path = Path::new(OsStr::from_bytes(path));
    for part in above(path) {
        match top.join(part).symlink_metadata() {
            Err(_) => return,
            Ok(about) if about.is_dir() => {}
            Ok(_) => {
                if !goes(part) {
                    found.insert(part.as_os_str().as_bytes().to_vec());
                }
                return;
            }
        }
    }
    stands(top, path, &goes, found);
}

fn stands(top: &Path, path: &Path, goes: &dyn Fn(&Path) -> bool, found: &mut BTreeSet<Vec<u8>>) {
    let place = top.join(path);
    let Ok(about) = place.symlink_metadata() else { return };
    if !about.is_dir() {
        if !goes(path) {
            found.insert(path.as_os_str().as_bytes().to_vec());
        }
        return;
    }
    for entry in place.read_dir().into_iter().flatten().flatten() {
        if found.len() >= MOST_NAMED {
            return;
        }
        stands(top, &path.join(entry.file_name()), goes, found);
    }
}
