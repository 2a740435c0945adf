//! The private folder of one run.
//!
//! Who uses it holds a shared lock on it: the caller, and the process before the command, which may
//! live a moment longer than a killed caller. A folder without a lock was left by a killed run.

use anyhow::{Context, Result};
use rustix::fs::{FlockOperation, flock};
use std::fs::{DirBuilder, File, Permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
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
