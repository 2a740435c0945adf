//! The private folder of one run.
//!
//! Who uses it holds a shared lock on it: the caller, and the process before the command, which may
//! live a moment longer than a killed caller. A folder without a lock was left by a killed run.

use super::{OtherFiles, OtherForm};
use crate::process::programs;
use anyhow::{Context, Result};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::fs::{DirBuilder, File, Permissions};
use std::io::{BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use walkdir::WalkDir;

#[derive(Debug)]
pub(super) struct PrivateFolder {
    path: PathBuf,
    store: PathBuf,
    _lock: File,
}

impl PrivateFolder {
    /// Makes a folder in `store`, after it has removed what killed runs left there.
    pub(super) fn make(store: &Path) -> Result<PrivateFolder> {
        let what = || format!("could not make a folder in `{}`", store.display());
        DirBuilder::new().recursive(true).mode(0o700).create(store).with_context(what)?;
        let store = store.canonicalize().with_context(what)?;
        // Held while a new folder has no lock yet.
        let whole = File::open(&store).with_context(what)?;
        flock(&whole, FlockOperation::LockExclusive).with_context(what)?;
        remove_abandoned(&store);
        let folder = tempfile::tempdir_in(&store).with_context(what)?.keep();
        let lock = use_folder(&folder)?;
        Ok(PrivateFolder { path: folder, store, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn store(&self) -> &Path {
        &self.store
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        // What cannot be removed now is tried again before the next run.
        let _ = remove(&self.path);
    }
}

/// Locks a private folder as in use, until the file is closed.
pub(super) fn use_folder(folder: &Path) -> Result<File> {
    let what = || format!("could not lock `{}`", folder.display());
    let lock = File::open(folder).with_context(what)?;
    flock(&lock, FlockOperation::LockShared).with_context(what)?;
    Ok(lock)
}

pub(super) fn remove_abandoned(store: &Path) {
    for entry in std::fs::read_dir(store).into_iter().flatten().flatten() {
        let Ok(folder) = File::open(entry.path()) else { continue };
        if flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = remove(&entry.path());
        }
    }
}

/// Removes a folder, also with folders in it that its owner may not enter: the kernel and commands
/// make such.
fn remove(folder: &Path) -> std::io::Result<()> {
    std::fs::remove_dir_all(folder).or_else(|_| {
        open_up(folder);
        std::fs::remove_dir_all(folder)
    })
}

/// A folder is read before it is handed out, so a closed one is walked again once it is open.
fn open_up(folder: &Path) {
    let open = |path: &Path| std::fs::set_permissions(path, Permissions::from_mode(0o700)).is_ok();
    for entry in WalkDir::new(folder) {
        match entry {
            Ok(entry) if entry.file_type().is_dir() => drop(open(entry.path())),
            Err(error)
                if error.path().is_some_and(|path| open(path) && path.read_dir().is_ok()) =>
            {
                error.path().into_iter().for_each(open_up);
            }
            _ => {}
        }
    }
}

// What the process before a command gets from its caller, and what it reports: files in the private
// folder of the run.
//
// The contents of the replaced files stand one after the other in a file of their own, in the order
// of the paths.

const ORDER: &str = "order";
pub(super) const CONTENTS: &str = "contents";
pub(super) const REPORT: &str = "report";

/// What to lay over the machine. Paths are bytes, because a path need not be UTF-8.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct OverlayOrder {
    /// The private folder of the run, and the one that holds those of all runs.
    pub(super) place: Vec<u8>,
    pub(super) store: Vec<u8>,
    /// Folders that must be writable, or the command must not start.
    pub(super) needed: Vec<Vec<u8>>,
    pub(super) files: Vec<OrderedFile>,
    /// Files of which to report whether they were opened; the report has their places in this list.
    pub(super) to_watch: Vec<Vec<u8>>,
    /// True if nothing but the overlay is of interest: then it is tried whether files can be written.
    pub(super) is_trial: bool,
    /// True if a file may be newer than the present rather than wait for the next second.
    #[serde(default)]
    pub(super) at_once: bool,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct OrderedFile {
    pub(super) path: Vec<u8>,
    pub(super) form: OrderedForm,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum OrderedForm {
    Absent,
    File { bytes: u64, is_executable: bool },
    Link(Vec<u8>),
}

/// What the process before the command has to tell, besides how the command ended.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct OverlayReport {
    /// Why the command was not started.
    pub(super) problem: Option<String>,
    pub(super) opened: Option<Vec<usize>>,
}

impl OverlayOrder {
    pub(super) fn new(folder: &Path, root: &Path) -> OverlayOrder {
        OverlayOrder { needed: vec![bytes(folder), bytes(root)], ..OverlayOrder::default() }
    }

    /// Writes the order into the private folder; returns its path.
    pub(super) fn write(&self, folder: &PrivateFolder, files: &OtherFiles) -> Result<PathBuf> {
        let place = folder.path();
        let mut ordered = Vec::new();
        let contents = std::fs::File::create_new(place.join(CONTENTS));
        let mut contents = BufWriter::new(contents.context("could not store files")?);
        for file in &files.replaced {
            let form = match &file.form {
                OtherForm::Absent => OrderedForm::Absent,
                OtherForm::Link(target) => OrderedForm::Link(bytes(target)),
                OtherForm::File { content, is_executable } => {
                    contents.write_all(content).context("could not store files")?;
                    let length = u64::try_from(content.len()).context("a file is too long")?;
                    OrderedForm::File { bytes: length, is_executable: *is_executable }
                }
            };
            ordered.push(OrderedFile { path: bytes(&file.path), form });
        }
        contents.flush().context("could not store files")?;
        let order = OverlayOrder {
            place: bytes(place),
            store: bytes(folder.store()),
            needed: self.needed.clone(),
            files: ordered,
            to_watch: files.to_watch().iter().map(|path| bytes(path)).collect(),
            is_trial: self.is_trial,
            at_once: self.at_once,
        };
        let path = place.join(ORDER);
        let json = serde_json::to_vec(&order).context("could not write JSON")?;
        std::fs::write(&path, json).context("could not store an order")?;
        Ok(path)
    }
}

/// The report of a run; an empty one if the process before the command was killed.
pub(super) fn read_report(place: &Path) -> OverlayReport {
    let report = std::fs::read(place.join(REPORT)).unwrap_or_default();
    serde_json::from_slice(&report).unwrap_or_default()
}

/// Starts the command line of a program: with an order, of the process that runs it on other files.
pub(crate) fn in_front(order: Option<&Path>, program: &Path) -> Result<Command> {
    let Some(order) = order else { return Ok(Command::new(program)) };
    let mut command = Command::new(programs::running()?);
    command.args(["supervise", "--elsewhere"]).arg(order).arg("--").arg(program);
    Ok(command)
}

pub(super) fn bytes(path: &Path) -> Vec<u8> {
    path.as_os_str().as_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_in_use_stays_and_what_a_killed_run_left_is_removed() {
        let store = tempfile::tempdir().unwrap();
        let used = PrivateFolder::make(store.path()).unwrap();
        let left = store.path().join("left");
        std::fs::create_dir_all(left.join("work/work")).unwrap();
        std::fs::write(left.join("work/work/file"), "").unwrap();
        std::fs::set_permissions(left.join("work/work"), Permissions::from_mode(0o000)).unwrap();
        let next = PrivateFolder::make(store.path()).unwrap();
        assert!(!left.exists());
        assert!(used.path().exists() && next.path().exists());
        drop(used);
        drop(next);
        assert_eq!(std::fs::read_dir(store.path()).unwrap().count(), 0);
    }
}
