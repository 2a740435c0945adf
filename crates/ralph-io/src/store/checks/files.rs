//! Reads and writes the edited file, before and after a fixer.

use crate::{project::safe_read, store::atomic};
use anyhow::{Context, Result, bail};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A larger file is not source code that a person reads, and no tool runs on it.
const LARGEST: u64 = 8 << 20;

/// True if a check can read it: a regular file within the size limit.
pub fn is_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|about| about.is_file() && about.len() <= LARGEST)
}

/// The file's bytes; `None` if it is not a regular file any more, or has grown too large.
pub fn content(path: &Path) -> Option<Vec<u8>> {
    safe_read::read(path, LARGEST).ok().flatten()
}

/// Writes a formatter's output, unless the file has changed since it was `read`. The file keeps its
/// mode.
///
/// # Errors
/// If the file has changed, or cannot be written.
pub fn put_back(path: &Path, read: &[u8], new: &[u8]) -> Result<()> {
    if content(path).as_deref() != Some(read) {
        bail!("`{}` was changed at the same time", path.display());
    }
    let about =
        path.metadata().with_context(|| format!("could not inspect `{}`", path.display()))?;
    atomic::write_with_mode(path, new, about.permissions().mode())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_meanwhile_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, "other").unwrap();
        assert!(put_back(&path, b"mine", b"new").is_err());
        assert_eq!(content(&path).unwrap(), b"other");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        put_back(&path, b"other", b"new").unwrap();
        assert_eq!(content(&path).unwrap(), b"new");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o755);
    }

    #[test]
    fn only_a_regular_file_of_a_sane_size_is_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        assert!(!is_file(&path) && !is_file(folder.path()));
        std::fs::write(&path, "x").unwrap();
        assert!(is_file(&path));
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(!is_file(&link));
        std::fs::File::options().write(true).open(&path).unwrap().set_len(LARGEST + 1).unwrap();
        assert!(!is_file(&path));
    }
}
