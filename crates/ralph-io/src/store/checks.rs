//! What the checks after an edit keep outside the project: tool caches, run times, the findings
//! from before the work, and what the model was told.
//!
//! All of it can be recreated. What cannot be read counts as absent.

mod around;
mod files;
mod found;
mod later;
mod of_loop;
mod run;

pub use around::Surroundings;
pub use files::{content, is_file, put_back};
pub use found::{LateCheck, LateFindings, add_found, contents_before, has_found, take_found};
pub use later::{
    LaterFile, LaterFiles, add_later, add_unseen, become_runner, beside, has_later, hold_back,
    may_run, renew, settle, take_later,
};
pub use of_loop::{LoopBaseline, forget_start_at, note_start, note_start_at, start_of, start_tree};
pub use run::{Limits, OtherFilesOf, Ran, line_of, run};

use crate::store::home::Home;
use crate::store::{document::Document, lock};
use anyhow::{Context, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::DirBuilder;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use xxhash_rust::xxh3::xxh3_64;

/// A project without edits for this long is forgotten when a new project is first seen.
const KEPT_FOR: Duration = Duration::from_secs(30 * 24 * 3600);

/// The folder of one project.
#[derive(Debug, Clone)]
pub struct CheckStore {
    folder: PathBuf,
}

/// The subfolders.
const FOLDERS: [&str; 4] = ["tools", "locks", "output", "runs"];

/// The folders of older versions, with whole copies of the project.
const OLDER: [&str; 2] = ["before", "copies"];

impl CheckStore {
    /// The store of the project with this root, created if missing.
    ///
    /// # Errors
    /// If it cannot be created, or Ralph's home is not ours alone.
    pub fn open(home: &Home, root: &Path) -> Result<CheckStore> {
        home.prepare()?;
        let folder = folder_of_all(home).join(name_of(root.as_os_str().as_bytes()));
        if !folder.is_dir() {
            remove_unused(&folder_of_all(home));
        }
        for name in FOLDERS {
            let folder = folder.join(name);
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&folder)
                .with_context(|| format!("could not make the folder `{}`", folder.display()))?;
        }
        for name in OLDER {
            let _ = std::fs::remove_dir_all(folder.join(name));
        }
        Ok(CheckStore { folder })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The cache folder of the tools.
    pub fn tools(&self) -> PathBuf {
        self.folder.join("tools")
    }

    /// The folder for runs on the files of the start.
    pub fn elsewhere(&self) -> PathBuf {
        self.folder.join("elsewhere")
    }

    /// The file that keeps a check's output. A later run of the check on the same file overwrites
    /// it.
    pub fn output(&self, key: &str) -> PathBuf {
        self.folder.join("output").join(name_of(key.as_bytes()))
    }

    /// Reads a document; `None` if it is missing or unreadable.
    pub fn read<T: Serialize + DeserializeOwned>(&self, name: &str) -> Option<T> {
        Document::json(self.document(name)).read().ok().flatten()
    }

    /// Writes a document.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write<T: Serialize + DeserializeOwned>(&self, name: &str, value: &T) -> Result<()> {
        Document::json(self.document(name)).write(value)
    }

    /// Changes a document under its lock.
    ///
    /// # Errors
    /// If another process holds the lock for too long, or the document cannot be written.
    pub fn update<T, O>(&self, name: &str, change: impl FnOnce(&mut T) -> O) -> Result<O>
    where
        T: DeserializeOwned + Serialize + Default,
    {
        let lock = self.lock_path(name);
        let document = Document { lock, ..Document::cache(self.document(name)) };
        document.update(|value| Ok(change(value)))
    }

    /// Takes the lock of this name.
    ///
    /// # Errors
    /// If another process held it until the deadline.
    pub fn lock(&self, name: &str, deadline: Duration) -> Result<lock::Lock> {
        lock::take(&self.lock_path(name), deadline)
    }

    fn lock_path(&self, name: &str) -> PathBuf {
        self.folder.join("locks").join(name_of(name.as_bytes()))
    }

    fn document(&self, name: &str) -> PathBuf {
        self.folder.join("runs").join(format!("{}.json", name_of(name.as_bytes())))
    }
}

/// The folder that holds those of all projects.
pub fn folder_of_all(home: &Home) -> PathBuf {
    home.root().join("checks")
}

/// Removes the folders of projects without recent edits. Best effort: everything in them can be
/// recreated, and what remains is found again next time.
fn remove_unused(all: &Path) {
    let Some(since) = SystemTime::now().checked_sub(KEPT_FOR) else { return };
    for entry in std::fs::read_dir(all).into_iter().flatten().flatten() {
        let runs = entry.path().join("runs").metadata().and_then(|about| about.modified());
        if runs.is_ok_and(|at| at < since) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// A short name for any bytes. A collision would only share data that can be recreated.
fn name_of(bytes: &[u8]) -> String {
    format!("{:016x}", xxh3_64(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::atomic;

    #[test]
    fn a_project_that_was_not_edited_for_long_is_forgotten_when_another_is_met() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("home"));
        let [old, recent] =
            ["/old", "/recent"].map(|root| CheckStore::open(&home, Path::new(root)).unwrap());
        let before = SystemTime::now() - KEPT_FOR - Duration::from_secs(60);
        let runs = std::fs::File::open(old.folder().join("runs")).unwrap();
        runs.set_modified(before).unwrap();
        CheckStore::open(&home, Path::new("/recent")).unwrap();
        assert!(old.folder().exists(), "nothing new was met");
        CheckStore::open(&home, Path::new("/new")).unwrap();
        assert!(!old.folder().exists() && recent.folder().exists());
    }

    #[test]
    fn each_project_has_its_own_folder_without_what_older_versions_kept_there() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("home"));
        let [one, other] =
            ["/one", "/other"].map(|root| CheckStore::open(&home, Path::new(root)).unwrap());
        assert_ne!(one.folder(), other.folder());
        assert_eq!(one.folder().parent().unwrap(), home.root().join("checks"));
        for name in OLDER {
            std::fs::create_dir_all(one.folder().join(name).join("full")).unwrap();
        }
        let again = CheckStore::open(&home, Path::new("/one")).unwrap();
        assert_eq!(again.folder(), one.folder());
        let entries = std::fs::read_dir(one.folder()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["locks", "output", "runs", "tools"]);
        assert_eq!(one.tools(), one.folder().join("tools"));
        assert_eq!(one.elsewhere(), one.folder().join("elsewhere"));
        let [first, second] = ["first", "second"].map(|key| one.output(key));
        assert!(first != second && first == one.output("first"));
        assert_eq!(first.parent().unwrap(), one.folder().join("output"));
    }

    #[test]
    fn documents_are_changed_in_one_step_and_what_is_broken_counts_as_absent() {
        let folder = tempfile::tempdir().unwrap();
        let kept =
            CheckStore::open(&Home::at(folder.path().join("home")), Path::new("/p")).unwrap();
        let kept = &kept;
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(move || kept.update("n", |number: &mut u32| *number += 1).unwrap());
            }
        });
        assert_eq!(kept.read::<u32>("n"), Some(8));
        let names = |folder: &str| -> Vec<_> {
            let entries = std::fs::read_dir(kept.folder().join(folder)).unwrap();
            entries.map(|entry| entry.unwrap().path()).collect()
        };
        assert_eq!(names("runs"), [kept.document("n")]);
        assert_eq!(names("locks"), [kept.lock_path("n").with_extension("lock")]);
        kept.write("n", &3_u32).unwrap();
        kept.write("m", &4_u32).unwrap();
        assert_eq!(["n", "m", "o"].map(|name| kept.read::<u32>(name)), [Some(3), Some(4), None]);
        atomic::write(&kept.document("n"), b"{").unwrap();
        assert_eq!(kept.read::<u32>("n"), None);
    }
}
