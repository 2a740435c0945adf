//! The files in `receipts/` that keep what commands printed.

use jiff::Timestamp;
use std::path::Path;

/// Outputs of each criterion that are kept, the last ones: each may have 16 MiB.
const KEPT: usize = 5;

/// `AC-1-20260131T235959.123.txt`: those of one criterion stand in the order of time.
pub(super) fn name(id: &str, at: Timestamp) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let id: String = id.chars().take(40).map(plain).collect();
    format!("{id}-{}.txt", at.strftime("%Y%m%dT%H%M%S.%3f"))
}

/// Removes all but the last outputs of each criterion.
pub(super) fn forget_old(folder: &Path) {
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
    fn the_last_outputs_of_each_criterion_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let write = |id: &str, second: i64| {
            let at = Timestamp::from_second(1_000_000_000 + second).unwrap();
            std::fs::write(folder.path().join(name(id, at)), "").unwrap();
        };
        (0..8).for_each(|second| write("AC-1", second));
        (0..3).for_each(|second| write("AC-1-b", second));
        forget_old(folder.path());
        let mut left: Vec<_> = folder.path().read_dir().unwrap().flatten().collect();
        left.sort_by_key(std::fs::DirEntry::file_name);
        let names: Vec<_> = left.iter().map(|one| one.file_name().into_string().unwrap()).collect();
        assert_eq!(names.len(), KEPT + 3, "{names:?}");
        assert_eq!(names[0], "AC-1-20010909T014643.000.txt", "the oldest three are gone");
    }
}
