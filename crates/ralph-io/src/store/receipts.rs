//! What runs of criteria leave in the loop's folder: command output in `receipts/`, and the trees
//! of receipts in `trees/`.

use crate::store::atomic;
use anyhow::Result;
use jiff::Timestamp;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// How many outputs of each criterion are kept, the latest ones: each may have 16 MiB.
const KEPT: usize = 5;

/// The folder of command outputs, created if missing.
pub fn outputs(loop_folder: &Path) -> Result<PathBuf> {
    let folder = loop_folder.join("receipts");
    atomic::make_last(&folder).map(|()| folder)
}

/// The folder of trees, created if missing.
pub fn trees(loop_folder: &Path) -> Result<PathBuf> {
    let folder = loop_folder.join("trees");
    atomic::make_last(&folder).map(|()| folder)
}

/// `AC-1-20260131T235959.123.txt`: the outputs of one criterion sort by time.
pub fn output_name(id: &str, at: Timestamp) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let id: String = id.chars().take(40).map(plain).collect();
    format!("{id}-{}.txt", at.strftime("%Y%m%dT%H%M%S.%3f"))
}

/// Removes the trees that nothing names any more; other files in the folder stay.
pub fn forget_trees(folder: &Path, named: &BTreeSet<&str>) {
    let is_tree = |name: &str| name.len() == 64 && name.bytes().all(|b| b.is_ascii_hexdigit());
    let Ok(entries) = folder.read_dir() else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| is_tree(name) && !named.contains(name)) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Removes all but the last outputs of each criterion.
pub fn forget_outputs(folder: &Path) {
    let Ok(entries) = folder.read_dir() else { return };
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.retain(|name| name.ends_with(".txt"));
    names.sort();
    let criterion = |name: &str| name.rsplit_once('-').map(|(id, _)| id.to_owned());
    for (old, later) in names.iter().zip(names.iter().skip(KEPT)) {
        if criterion(old) == criterion(later) {
            let _ = std::fs::remove_file(folder.join(old));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_that_was_put_away_does_not_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let gone = folder.path().join("loop");
        assert!(outputs(&gone).is_err() && trees(&gone).is_err());
        assert!(!gone.exists());
        std::fs::create_dir(&gone).unwrap();
        assert_eq!(outputs(&gone).unwrap(), outputs(&gone).unwrap());
    }

    #[test]
    fn the_last_outputs_of_each_criterion_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let write = |id: &str, second: i64| {
            let at = Timestamp::from_second(1_000_000_000 + second).unwrap();
            std::fs::write(folder.path().join(output_name(id, at)), "").unwrap();
        };
        (0..8).for_each(|second| write("AC-1", second));
        (0..3).for_each(|second| write("AC-1-b", second));
        forget_outputs(folder.path());
        let mut left: Vec<_> = folder.path().read_dir().unwrap().flatten().collect();
        left.sort_by_key(std::fs::DirEntry::file_name);
        let names: Vec<_> = left.iter().map(|one| one.file_name().into_string().unwrap()).collect();
        assert_eq!(names.len(), KEPT + 3, "{names:?}");
        assert_eq!(names[0], "AC-1-20010909T014643.000.txt", "the oldest three are gone");
    }

    #[test]
    fn trees_that_are_named_stay_and_so_does_what_is_no_tree() {
        let folder = tempfile::tempdir().unwrap();
        let (kept, old) = ("a".repeat(64), "b".repeat(64));
        for name in [&kept, &old, &"cache".to_owned()] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        forget_trees(folder.path(), &[kept.as_str()].into());
        let is_there = |name: &str| folder.path().join(name).exists();
        assert_eq!((is_there(&kept), is_there(&old), is_there("cache")), (true, false, true));
    }
}
