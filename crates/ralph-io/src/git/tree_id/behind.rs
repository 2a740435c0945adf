//! Reads the target of a link that leads out of the tree: a command sees the target like any file,
//! and nothing else would show its changes.
//!
//! Bounded, because such a link can lead to a whole disk: the first two thousand files of a folder
//! in name order, and 64 MiB of content; beyond that, size and time stand for content. Links in the
//! target are not followed, and only regular files and folders are opened.

use sha2::{Digest, Sha256};
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use walkdir::{DirEntry, WalkDir};

const MOST_FILES: usize = 2_000;

const MOST_BYTES: u64 = 64 << 20;

/// System folders whose files change when they are read.
const NEVER: [&str; 3] = ["/proc", "/sys", "/dev"];

/// `/dev/shm` is below `/dev`, but holds ordinary files, and everyone may write to it.
const SHARED_MEMORY: &str = "/dev/shm";

/// The digest of the link's target; `None` if the target is part of the tree at `top`, contains the
/// tree, does not exist, or cannot be read.
pub(super) fn digest(top: &Path, link: &Path) -> Option<[u8; 32]> {
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
    let mut content = Content { hash: Sha256::new(), bytes: MOST_BYTES };
    let walk = WalkDir::new(&target).sort_by_file_name().into_iter();
    let is_seen = |entry: &DirEntry| entry.depth() == 0 || entry.file_name() != ".git";
    for entry in walk.filter_entry(is_seen).take(MOST_FILES) {
        content.add(&target, entry);
    }
    Some(content.hash.finalize().into())
}

struct Content {
    hash: Sha256,
    bytes: u64,
}

impl Content {
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
        let mut file = file.take(length);
        let mut piece = [0; 16 * 1024];
        loop {
            match file.read(&mut piece).ok()? {
                0 => break,
                read => content.update(&piece[..read]),
            }
        }
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
