//! The files of a loop that are still to be checked, in the loop's folder.
//!
//! An edit adds its file. The runner beside the work takes a file off the list only when its checks
//! have ended: a runner that is killed leaves the file to the end of the turn. Each edit gives its
//! file a new number, so that the runner sees that its tools read an older content.

use crate::process::clock;
use crate::store::document::Document;
use crate::store::lock::{self, Lock};
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The most files remembered. With more edits than that in one turn, the criteria have to find the
/// rest.
const MOST: usize = 500;

/// A file to be checked.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LaterFile {
    /// Changes with each edit.
    pub edit: i64,
    /// True if its checks wait for the end of the turn, which has minutes.
    pub at_stop: bool,
    /// The ids of its checks; empty for all.
    pub checks: BTreeSet<String>,
    /// The subagent that edited it; empty for the conversation.
    pub agent: String,
}

/// The files, by path.
pub type LaterFiles = BTreeMap<PathBuf, LaterFile>;

/// True if files remain to be checked. Every stop asks this, so it costs one system call.
pub fn has_later(of_loop: &Path) -> bool {
    document(of_loop).path.symlink_metadata().is_ok()
}

/// The files that the runner checks.
pub fn beside(of_loop: &Path) -> LaterFiles {
    let all = document(of_loop).read().ok().flatten().unwrap_or_default();
    all.into_iter().filter(|(_, file)| !file.at_stop).collect()
}

/// Adds files, and gives each a new number. Returns them with it.
///
/// # Errors
/// If they cannot be written.
pub fn add_later(of_loop: &Path, mut files: LaterFiles) -> Result<LaterFiles> {
    if files.is_empty() {
        return Ok(files);
    }
    change(of_loop, |all| {
        let last = all.values().map(|file| file.edit).max().unwrap_or_default();
        let edit = clock::now().as_microsecond().max(last + 1);
        for (path, file) in &mut files {
            file.edit = edit;
            if all.contains_key(path) || all.len() < MOST {
                all.insert(path.clone(), file.clone());
            }
        }
        files
    })
}

/// Adds files whose content the checks have not seen, for the end of the turn, unless an edit has.
///
/// # Errors
/// If they cannot be written.
pub fn add_unseen(of_loop: &Path, files: impl IntoIterator<Item = PathBuf>) -> Result<()> {
    let mut files: LaterFiles = files
        .into_iter()
        .map(|path| (path, LaterFile { at_stop: true, ..LaterFile::default() }))
        .collect();
    let known = document(of_loop).read().ok().flatten().unwrap_or_default();
    files.retain(|path, _| !known.contains_key(path));
    add_later(of_loop, files).map(|_| ())
}

/// If no edit came after these files, takes them off and adds others. `first` runs before, while
/// nobody else can change the list.
///
/// # Errors
/// If the list cannot be written, or if `first` fails; then the files stay.
pub fn settle(
    of_loop: &Path,
    done: &LaterFiles,
    instead: LaterFiles,
    first: impl FnOnce() -> Result<()>,
) -> Result<()> {
    if done.is_empty() {
        return Ok(());
    }
    change(of_loop, |all| {
        let is_same = |(path, file): (&PathBuf, &LaterFile)| {
            all.get(path).is_some_and(|now| now.edit == file.edit)
        };
        if done.iter().all(is_same) {
            first()?;
            all.retain(|path, _| !done.contains_key(path));
            all.extend(instead);
        }
        Ok(())
    })?
}

/// Gives the files of the runner new numbers, so that it ends its tools and begins anew.
///
/// # Errors
/// If the list cannot be written.
pub fn renew(of_loop: &Path) -> Result<()> {
    add_later(of_loop, beside(of_loop)).map(|_| ())
}

/// Returns the files and forgets them.
pub fn take_later(of_loop: &Path) -> LaterFiles {
    // If the list cannot be written, its files are checked once more.
    change(of_loop, std::mem::take).unwrap_or_default()
}

/// Changes the list. An empty one has no file.
fn change<T>(of_loop: &Path, change: impl FnOnce(&mut LaterFiles) -> T) -> Result<T> {
    let document = document(of_loop);
    let _held = document.lock()?;
    let mut all = document.read()?.unwrap_or_default();
    let before = all.clone();
    let outcome = change(&mut all);
    if all.is_empty() {
        let _ = std::fs::remove_file(&document.path);
    } else if all != before {
        document.write(&all)?;
    }
    Ok(outcome)
}

fn document(of_loop: &Path) -> Document<LaterFiles> {
    Document::cache(of_loop.join("later.json"))
}

/// Held while the checks of an edit, or criteria, run: no tool runs beside them. Waits for those that
/// run until they have ended; see [`renew`].
///
/// # Errors
/// If they have not ended in time, or the lock cannot be taken.
pub fn hold_back(of_loop: &Path) -> Result<Lock> {
    lock::share(&at_work(of_loop), lock::DEADLINE)
}

/// Held by the runner while its tools run. `None` if it is held back for all this time.
pub fn may_run(of_loop: &Path, patience: Duration) -> Option<Lock> {
    lock::take(&at_work(of_loop), patience).ok()
}

fn at_work(of_loop: &Path) -> PathBuf {
    of_loop.join("at-work")
}

/// Makes this process the only runner of the loop, as long as it holds the lock.
///
/// # Errors
/// If another process is, for all this time.
pub fn become_runner(of_loop: &Path, patience: Duration) -> Result<Lock> {
    lock::take(&of_loop.join("beside"), patience)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(names: &[&str]) -> LaterFiles {
        names.iter().map(|name| (PathBuf::from(name), LaterFile::default())).collect()
    }

    fn names(files: &LaterFiles) -> Vec<&str> {
        files.keys().map(|path| path.to_str().unwrap()).collect()
    }

    #[test]
    fn files_for_later_are_remembered_once_and_forgotten_when_they_are_taken() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        assert!(!has_later(at));
        add_later(at, files(&["/a"])).unwrap();
        add_later(at, files(&["/a", "/b"])).unwrap();
        assert!(has_later(at));
        assert_eq!(names(&take_later(at)), ["/a", "/b"]);
        assert!(!has_later(at));
        assert!(take_later(at).is_empty());
    }

    #[test]
    fn many_are_remembered_and_those_that_are_known_are_always_renewed() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        let many: Vec<String> = (0..=MOST).map(|n| format!("/{n:03}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        add_later(at, files(&many[..MOST])).unwrap();
        add_later(at, files(&many[MOST..])).unwrap();
        let before = beside(at);
        assert_eq!(names(&before), many[..MOST]);
        add_later(at, files(&many[..1])).unwrap();
        let after = beside(at);
        assert_eq!(after.len(), MOST);
        assert!(after[Path::new("/000")].edit > before[Path::new("/000")].edit);
    }

    #[test]
    fn a_run_settles_only_what_no_edit_changed_since() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        add_later(at, files(&["/a", "/b"])).unwrap();
        let seen = beside(at);
        add_later(at, files(&["/b"])).unwrap();
        settle(at, &seen, LaterFiles::new(), || panic!("it is stale")).unwrap();
        let seen = beside(at);
        assert_eq!(names(&seen), ["/a", "/b"]);
        let at_stop = LaterFile { at_stop: true, ..LaterFile::default() };
        let instead = LaterFiles::from([("/a".into(), at_stop)]);
        assert!(settle(at, &seen, LaterFiles::new(), || anyhow::bail!("full")).is_err());
        assert_eq!(beside(at), seen);
        settle(at, &seen, instead, || Ok(())).unwrap();
        assert!(has_later(at) && beside(at).is_empty());
        assert_eq!(names(&take_later(at)), ["/a"]);
    }

    #[test]
    fn a_file_that_an_edit_added_keeps_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        add_later(at, files(&["/a"])).unwrap();
        add_unseen(at, ["/a", "/b"].map(PathBuf::from)).unwrap();
        assert_eq!(names(&beside(at)), ["/a"]);
        assert_eq!(names(&take_later(at)), ["/a", "/b"]);
    }

    #[test]
    fn no_tool_runs_while_an_edit_is_at_work_and_edits_do_not_wait_for_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        let held = [hold_back(at).unwrap(), hold_back(at).unwrap()];
        assert!(may_run(at, Duration::ZERO).is_none());
        drop(held);
        assert!(may_run(at, lock::DEADLINE).is_some());
    }

    #[test]
    fn a_loop_has_one_runner() {
        let folder = tempfile::tempdir().unwrap();
        let first = become_runner(folder.path(), Duration::ZERO).unwrap();
        assert!(become_runner(folder.path(), Duration::ZERO).is_err());
        drop(first);
        // A process that another test starts has our files until it runs its program.
        become_runner(folder.path(), lock::DEADLINE).unwrap();
    }
}
