//! Reads the content of the paths of a tree without ever blocking, on as many threads as there are
//! processors.
//!
//! Each folder is opened from its parent and never through a link. If the `a` of a tracked `a/b`
//! has become a link, `a/b` no longer exists, wherever the link leads. Memory does not grow with
//! file size: each thread has one buffer.
//!
//! A link that leads out of the tree is read with its target: a command sees the target like any
//! file, and nothing else would show its changes. That is bounded, because such a link can lead to
//! a whole disk: the first two thousand files of a folder in name order, and 64 MiB of content;
//! beyond that, size and time stand for content. Links in the target are not followed.

use super::stored::{Remembered, Stamp};
use anyhow::{Context, Result};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use walkdir::{DirEntry, WalkDir};

/// How many paths a thread takes at once. Neighbours share their folders, and large files are still
/// spread over the threads.
const AT_ONCE: usize = 128;

/// More threads would only wait for the same disk.
const MOST_THREADS: usize = 8;

const BUFFER: usize = 128 * 1024;

/// The most files and bytes of a link's target that are read.
const MOST_FILES: usize = 2_000;
const MOST_BYTES: u64 = 64 << 20;

/// System folders whose files change when they are read.
const NEVER: [&str; 3] = ["/proc", "/sys", "/dev"];

/// `/dev/shm` is below `/dev`, but holds ordinary files, and everyone may write to it.
const SHARED_MEMORY: &str = "/dev/shm";

/// Access for traversal only. On Linux this does not need the right to list the folder.
#[cfg(target_os = "linux")]
const PASS: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const PASS: OFlags = OFlags::RDONLY;

/// What a path is. Folders are left out, because git does not keep them either.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathKind {
    Plain,
    Executable,
    Link,
    Pipe,
    Socket,
    Device,
    /// Size and time stand for its content.
    Unreadable,
}

const KINDS: [(PathKind, &str); 7] = [
    (PathKind::Plain, "100644"),
    (PathKind::Executable, "100755"),
    (PathKind::Link, "120000"),
    (PathKind::Pipe, "pipe"),
    (PathKind::Socket, "socket"),
    (PathKind::Device, "device"),
    (PathKind::Unreadable, "unreadable"),
];

impl PathKind {
    pub(super) fn word(self) -> &'static str {
        KINDS.iter().find(|(kind, _)| *kind == self).map_or("", |(_, word)| word)
    }

    pub(super) fn number(self) -> u8 {
        self as u8
    }

    pub(super) fn from_number(number: u8) -> Option<PathKind> {
        KINDS.get(usize::from(number)).map(|(kind, _)| *kind)
    }

    /// As in git, the owner's executable bit counts.
    fn of_file(about: &Stat) -> PathKind {
        if about.st_mode & 0o100 == 0 { PathKind::Plain } else { PathKind::Executable }
    }
}

/// The content of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PathContent {
    pub(super) kind: PathKind,
    pub(super) digest: [u8; 32],
    /// The metadata of the content that was read; `None` if the file changed meanwhile.
    pub(super) stamp: Option<Stamp>,
    /// True if the bytes were read, false if the digest was remembered.
    pub(super) was_read: bool,
}

impl PathContent {
    fn unread(kind: PathKind, content: &[u8]) -> PathContent {
        PathContent { kind, digest: Sha256::digest(content).into(), stamp: None, was_read: false }
    }
}

/// Reads the content of all names, in their order: `None` for a missing path or a folder. Returns
/// also when reading began, in nanoseconds: a file that changed later may have changed after it was
/// read.
pub(super) fn read(
    top: &Path,
    names: &[Vec<u8>],
    remembered: &Remembered,
) -> Result<(Vec<Option<PathContent>>, i64)> {
    let began = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut found: Vec<Option<PathContent>> = vec![None; names.len()];
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    let threads = threads.min(names.len().div_ceil(AT_ONCE));
    let blocks = Mutex::new(names.chunks(AT_ONCE).zip(found.chunks_mut(AT_ONCE)));
    let work = || -> Result<()> {
        let mut reader = FileReader::new(top, remembered).map_err(std::io::Error::from)?;
        loop {
            let block = blocks.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((names, places)) = block else { return Ok(()) };
            for (name, place) in names.iter().zip(places) {
                *place = reader.read(name);
            }
        }
    };
    std::thread::scope(|scope| {
        let started: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        started.into_iter().try_for_each(|thread| {
            thread.join().ok().context("a thread that reads files failed")?
        })
    })?;
    Ok((found, i64::try_from(began.as_nanos()).unwrap_or(0)))
}

/// The state that one thread needs to read files.
struct FileReader<'a> {
    top: &'a Path,
    remembered: &'a Remembered,
    folders: Folders,
    buffer: Vec<u8>,
}

impl<'a> FileReader<'a> {
    fn new(top: &'a Path, remembered: &'a Remembered) -> Result<FileReader<'a>, Errno> {
        let folders = Folders::new(top)?;
        Ok(FileReader { top, remembered, folders, buffer: vec![0; BUFFER] })
    }

    /// The content of a path; `None` for a missing path or a folder. A file with unchanged metadata
    /// is not read again.
    fn read(&mut self, path: &[u8]) -> Option<PathContent> {
        let place = self.folders.open_parent(path).and_then(|(folder, name)| {
            Ok((folder, name, rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?))
        });
        let (folder, name, about) = match place {
            Ok(place) => place,
            Err(error) => return unreachable_file(error, None),
        };
        match FileType::from_raw_mode(about.st_mode) {
            FileType::RegularFile => {
                let stamp = Stamp::from_stat(&about);
                if let Some(digest) = self.remembered.digest(path, stamp) {
                    let (kind, stamp) = (PathKind::of_file(&about), Some(stamp));
                    return Some(PathContent { kind, digest, stamp, was_read: false });
                }
                read_file(folder, name, &mut self.buffer)
                    .unwrap_or_else(|error| unreachable_file(error, Some(&about)))
            }
            FileType::Symlink => match rustix::fs::readlinkat(folder, name, Vec::new()) {
                Ok(target) => {
                    let behind = digest_behind(self.top, &self.top.join(OsStr::from_bytes(path)));
                    let behind = behind.as_ref().map_or(&[][..], |digest| &digest[..]);
                    let content = [target.as_bytes(), behind].concat();
                    Some(PathContent::unread(PathKind::Link, &content))
                }
                Err(error) => unreachable_file(error, Some(&about)),
            },
            FileType::Directory => None,
            FileType::Fifo => Some(PathContent::unread(PathKind::Pipe, b"")),
            FileType::Socket => Some(PathContent::unread(PathKind::Socket, b"")),
            _ => Some(PathContent::unread(PathKind::Device, b"")),
        }
    }
}

fn read_file(
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
    let digest = digest_of(&file, buffer)?;
    let stamp = Stamp::from_stat(&before);
    // For a file that was written to during reading, the metadata and the digest do not match.
    let unchanged = Stamp::from_stat(&rustix::fs::fstat(&file)?) == stamp;
    let (kind, stamp) = (PathKind::of_file(&before), unchanged.then_some(stamp));
    Ok(Some(PathContent { kind, digest, stamp, was_read: true }))
}

fn digest_of(file: &OwnedFd, buffer: &mut [u8]) -> Result<[u8; 32], Errno> {
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

/// `None` if the file is gone. Otherwise content that changes when the file is written to, as far
/// as its metadata shows. An error would end the whole listing, and a tree may always contain such
/// a file.
pub(super) fn unreachable_file(error: Errno, about: Option<&Stat>) -> Option<PathContent> {
    match error {
        // A folder that became a file or a link has no files any more.
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP => None,
        _ => {
            let seen = about.map(Stamp::from_stat).map(|stamp| [stamp.size, stamp.mtime]);
            let bytes = seen.unwrap_or_default().map(i64::to_le_bytes).concat();
            Some(PathContent::unread(PathKind::Unreadable, &bytes))
        }
    }
}

/// The open folders from the top to the one used last, for paths in sorted order.
struct Folders {
    top: OwnedFd,
    open: Vec<(Vec<u8>, OwnedFd)>,
}

impl Folders {
    fn new(top: &Path) -> Result<Folders, Errno> {
        let flags = PASS | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Folders { top: rustix::fs::open(top, flags, Mode::empty())?, open: Vec::new() })
    }

    /// The folder of a path, and the name in it.
    fn open_parent<'a>(&mut self, path: &'a [u8]) -> Result<(BorrowedFd<'_>, &'a [u8]), Errno> {
        let mut parts = path.split(|byte| *byte == b'/');
        let name = parts.next_back().unwrap_or_default();
        let mut depth = 0;
        for part in parts {
            if self.open.get(depth).is_none_or(|(open, _)| open != part) {
                self.open.truncate(depth);
                let flags = PASS | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let fd = rustix::fs::openat(self.last(), part, flags, Mode::empty())?;
                self.open.push((part.to_owned(), fd));
            }
            depth += 1;
        }
        self.open.truncate(depth);
        Ok((self.last(), name))
    }

    fn last(&self) -> BorrowedFd<'_> {
        self.open.last().map_or(self.top.as_fd(), |(_, fd)| fd.as_fd())
    }
}

/// The digest of the link's target; `None` if the target is part of the tree at `top`, contains the
/// tree, does not exist, or cannot be read.
fn digest_behind(top: &Path, link: &Path) -> Option<[u8; 32]> {
    let target = link.canonicalize().ok()?;
    let about = target.metadata().ok()?;
    let is_of_system = NEVER.iter().any(|never| target.starts_with(never));
    if is_of_system && !target.starts_with(SHARED_MEMORY) || top.starts_with(&target) {
        return None;
    }
    // The files of a folder inside the tree are listed on their own.
    if target.starts_with(top) && !about.is_file() {
        return None;
    }
    let mut content = TargetHash { hash: Sha256::new(), bytes: MOST_BYTES };
    let walk = WalkDir::new(&target).sort_by_file_name().into_iter();
    let is_seen = |entry: &DirEntry| entry.depth() == 0 || entry.file_name() != ".git";
    for entry in walk.filter_entry(is_seen).take(MOST_FILES) {
        content.add(&target, entry);
    }
    Some(content.hash.finalize().into())
}

struct TargetHash {
    hash: Sha256,
    bytes: u64,
}

impl TargetHash {
    fn add(&mut self, target: &Path, entry: walkdir::Result<DirEntry>) {
        let (path, about) = match &entry {
            Ok(entry) => (Some(entry.path()), entry.metadata().ok()),
            Err(error) => (error.path(), None),
        };
        let Some(path) = path else { return };
        let name = path.strip_prefix(target).unwrap_or(path);
        self.put(b"name", name.as_os_str().as_bytes());
        match about {
            None => self.put(b"closed", b""),
            Some(about) if about.is_dir() => self.put(b"folder", b""),
            Some(about) if about.is_file() => self.add_file(path, &about),
            Some(about) if about.is_symlink() => {
                let target = std::fs::read_link(path).unwrap_or_default();
                self.put(b"link", target.as_os_str().as_bytes());
            }
            Some(_) => self.put(b"other", b""),
        }
    }

    fn add_file(&mut self, path: &Path, about: &Metadata) {
        self.put(b"mode", &[u8::from(about.mode() & 0o100 != 0)]);
        if about.len() > self.bytes || self.add_content(path, about.len()).is_none() {
            for number in [about.len(), about.mtime() as u64, about.mtime_nsec() as u64] {
                self.put(b"seen", &number.to_le_bytes());
            }
        }
    }

    fn add_content(&mut self, path: &Path, length: u64) -> Option<()> {
        // The path may have become a pipe since it was checked.
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW;
        let mut options = File::options();
        let file = options.read(true).custom_flags(flags.bits() as i32).open(path).ok()?;
        let mut content = Sha256::new();
        std::io::copy(&mut file.take(length), &mut content).ok()?;
        self.bytes = self.bytes.saturating_sub(length);
        let content: [u8; 32] = content.finalize().into();
        self.put(b"file", &content);
        Some(())
    }

    /// Hashes each part with its length, so that different files have different input.
    fn put(&mut self, what: &[u8], part: &[u8]) {
        self.hash.update(what);
        self.hash.update((part.len() as u64).to_le_bytes());
        self.hash.update(part);
    }
}
