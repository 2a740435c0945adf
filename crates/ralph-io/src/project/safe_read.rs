//! Reads files that a repository or the user may have put there, without blocking.
//!
//! The path may be a pipe without a writer, a device without an end, or a file of a terabyte. Links
//! are followed: the user may keep the file elsewhere, and no caller trusts the content because of
//! its path.

use anyhow::{Context, Result, bail};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Reads a regular file; `None` if it does not exist.
///
/// # Errors
/// If it is not a regular file, is larger than `largest`, or cannot be read.
pub(crate) fn read(path: &Path, largest: u64) -> Result<Option<Vec<u8>>> {
    let Some((file, length)) = open(path)? else { return Ok(None) };
    if length > largest {
        bail!("`{}` is larger than {} KiB", path.display(), largest >> 10);
    }
    read_on(path, file, largest).map(Some)
}

/// Reads at most `length` bytes from the beginning of a regular file; `None` if there are none to read.
pub(crate) fn beginning(path: &Path, length: u64) -> Option<Vec<u8>> {
    let (file, _) = open(path).ok()??;
    read_on(path, file, length).ok()
}

/// Reads at most `length` bytes from the end of a regular file. The flag is true if that is the
/// whole file. `None` if the file does not exist.
pub(crate) fn tail(path: &Path, length: u64) -> Result<Option<(Vec<u8>, bool)>> {
    let Some((mut file, whole)) = open(path)? else { return Ok(None) };
    let from = whole.saturating_sub(length);
    file.seek(SeekFrom::Start(from)).with_context(|| could_not(path))?;
    Ok(Some((read_on(path, file, length)?, from == 0)))
}

fn read_on(path: &Path, file: File, most: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).with_context(|| could_not(path))?;
    Ok(bytes)
}

/// A regular file and its length; `None` if it does not exist.
fn open(path: &Path) -> Result<Option<(File, u64)>> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(fd) => File::from(fd),
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(std::io::Error::from(error)).with_context(|| could_not(path)),
    };
    let about = file.metadata().with_context(|| could_not(path))?;
    if !about.is_file() {
        bail!("`{}` is not a regular file", path.display());
    }
    Ok(Some((file, about.len())))
}

/// Reads a UTF-8 text file, as [`read`] does.
pub(crate) fn text(path: &Path, largest: u64) -> Result<Option<String>> {
    let Some(bytes) = read(path, largest)? else { return Ok(None) };
    String::from_utf8(bytes)
        .map(Some)
        .with_context(|| format!("`{}` is not UTF-8 text", path.display()))
}

fn could_not(path: &Path) -> String {
    format!("could not read `{}`", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_regular_file_or_too_large_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        assert!(read(&path, 3).unwrap().is_none());
        std::fs::write(&path, "abc").unwrap();
        assert_eq!(text(&path, 3).unwrap().unwrap(), "abc");
        assert!(read(&path, 2).unwrap_err().to_string().contains("larger"));
        for other in [Path::new("/dev/zero"), folder.path()] {
            assert!(read(other, 3).unwrap_err().to_string().contains("not a regular file"));
        }
    }
}
