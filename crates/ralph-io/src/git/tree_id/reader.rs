//! Reads the content of one path without ever blocking: a pipe is never opened.

use super::PathKind;
use super::behind;
use super::cache::{CachedFile, Stamp};
use super::folder::Folders;
use super::read::PathContent;
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const BUFFER: usize = 128 * 1024;

/// The state that one thread needs to read files.
pub(super) struct FileReader<'a> {
    top: &'a Path,
    folders: Folders,
    buffer: Vec<u8>,
}

impl<'a> FileReader<'a> {
    pub(super) fn new(top: &'a Path, folders: Folders) -> FileReader<'a> {
        FileReader { top, folders, buffer: vec![0; BUFFER] }
    }

    /// The content of a path; `None` for a missing path or a folder. A file with unchanged metadata
    /// is not read again.
    pub(super) fn look(&mut self, path: &[u8], known: Option<&CachedFile>) -> Option<PathContent> {
        let (folder, name) = match self.folders.of(path) {
            Ok(place) => place,
            Err(error) => return unreachable_file(error, None),
        };
        let about = match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(about) => about,
            Err(error) => return unreachable_file(error, None),
        };
        match FileType::from_raw_mode(about.st_mode) {
            FileType::RegularFile => {
                let stamp = Stamp::of(&about);
                match known.filter(|known| known.stamp == stamp) {
                    Some(known) => Some(remembered(known, &about)),
                    None => match read(folder, name, &mut self.buffer) {
                        Ok(found) => found,
                        Err(error) => unreachable_file(error, Some(&about)),
                    },
                }
            }
            FileType::Symlink => match rustix::fs::readlinkat(folder, name, Vec::new()) {
                Ok(target) => {
                    let behind = behind::digest(self.top, &self.top.join(OsStr::from_bytes(path)));
                    let behind = behind.as_ref().map_or(&[][..], |digest| &digest[..]);
                    Some(only(PathKind::Link, &[target.as_bytes(), behind].concat()))
                }
                Err(error) => unreachable_file(error, Some(&about)),
            },
            FileType::Directory => None,
            FileType::Fifo => Some(only(PathKind::Pipe, b"")),
            FileType::Socket => Some(only(PathKind::Socket, b"")),
            _ => Some(only(PathKind::Device, b"")),
        }
    }
}

fn read(
    folder: BorrowedFd<'_>,
    name: &[u8],
    buffer: &mut [u8],
) -> Result<Option<PathContent>, Errno> {
    // Non-blocking and not through a link: the path may have changed since it was checked.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = rustix::fs::openat(folder, name, flags, Mode::empty())?;
    let before = rustix::fs::fstat(&file)?;
    if FileType::from_raw_mode(before.st_mode) != FileType::RegularFile {
        return Ok(None);
    }
    let digest = digest(&file, buffer)?;
    let stamp = Stamp::of(&before);
    // For a file that was written to during reading, the metadata and the digest do not match.
    let unchanged = Stamp::of(&rustix::fs::fstat(&file)?) == stamp;
    Ok(Some(PathContent {
        kind: kind_of(&before),
        digest,
        stamp: unchanged.then_some(stamp),
        was_read: true,
    }))
}

fn digest(file: &OwnedFd, buffer: &mut [u8]) -> Result<[u8; 32], Errno> {
    let mut hash = Sha256::new();
    loop {
        match rustix::io::read(file, &mut *buffer) {
            Ok(0) => return Ok(hash.finalize().into()),
            Ok(read) => hash.update(&buffer[..read]),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
}

/// As in git, the owner's executable bit counts.
fn kind_of(about: &Stat) -> PathKind {
    if about.st_mode & 0o100 == 0 { PathKind::Plain } else { PathKind::Executable }
}

fn remembered(known: &CachedFile, about: &Stat) -> PathContent {
    PathContent {
        kind: kind_of(about),
        digest: known.digest,
        stamp: Some(known.stamp),
        was_read: false,
    }
}

fn only(kind: PathKind, content: &[u8]) -> PathContent {
    let digest = Sha256::digest(content).into();
    PathContent { kind, digest, stamp: None, was_read: false }
}

/// `None` if the file is gone. Otherwise content that changes when the file is written to, as far
/// as its metadata shows. An error would end the whole listing, and a tree may always contain such
/// a file.
pub(super) fn unreachable_file(error: Errno, about: Option<&Stat>) -> Option<PathContent> {
    match error {
        // A folder that became a file or a link has no files any more.
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP => None,
        _ => {
            let seen = about.map(Stamp::of).map(|stamp| [stamp.size, stamp.mtime]);
            let bytes = seen.unwrap_or_default().map(i64::to_le_bytes).concat();
            Some(only(PathKind::Unreadable, &bytes))
        }
    }
}
