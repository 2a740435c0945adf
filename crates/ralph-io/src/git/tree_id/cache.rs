//! Remembers digests by file metadata, so that only changed files are read.
//!
//! A remembered digest is valid while size, inode, mode, mtime and ctime are unchanged. The kernel
//! sets ctime itself: a write of equal size with a reset mtime still changes it. One case remains.
//! File system clocks tick (4 ms on most, 2 s on some), and a write in the tick in which the file
//! was read leaves both times unchanged. So a file is remembered only if both times are older than
//! the start of reading by more than any such tick; a file that changed later is read again next
//! time.

use super::kept::{Cursor, begin, end, open_sealed, put, put_name};
use super::names::Names;
use super::read::{PathContent, Read};
use crate::project::trusted_read;
use crate::store::atomic;
use rustix::fs::Stat;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const MARK: &[u8] = b"ralph-digests-1\n";

/// More than the coarsest clock of a file system in use, in nanoseconds.
pub(super) const MARGIN: i64 = 3_000_000_000;

/// A cache of ten million files. A larger one is not read; then all files are.
const LARGEST: u64 = 1 << 30;

/// A file's metadata. Times are in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) size: i64,
    pub(super) mtime: i64,
    ctime: i64,
    inode: i64,
    mode: i64,
}

/// One remembered file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CachedFile {
    name: (usize, usize),
    pub(super) stamp: Stamp,
    pub(super) digest: [u8; 32],
}

/// All remembered files, sorted by path.
#[derive(Debug, Default)]
pub(super) struct Remembered {
    names: Vec<u8>,
    entries: Vec<CachedFile>,
    size: usize,
}

/// The result of reading a tree, and which files of it may be remembered.
pub(super) struct CacheUpdate<'a> {
    pub(super) names: &'a Names,
    pub(super) read: &'a Read,
    /// A file that changed later may have changed after it was read.
    pub(super) settled_before: i64,
}

/// Looks up paths in ascending order.
pub(super) struct Onwards<'a> {
    remembered: &'a Remembered,
    at: usize,
}

impl Stamp {
    #[allow(clippy::unnecessary_cast, reason = "the widths differ between platforms")]
    pub(super) fn of(about: &Stat) -> Stamp {
        let time = |seconds: i64, nanoseconds: i64| {
            seconds.wrapping_mul(1_000_000_000).wrapping_add(nanoseconds)
        };
        Stamp {
            size: about.st_size as i64,
            mtime: time(about.st_mtime as i64, about.st_mtime_nsec as i64),
            ctime: time(about.st_ctime as i64, about.st_ctime_nsec as i64),
            inode: about.st_ino as i64,
            mode: about.st_mode as i64,
        }
    }

    fn is_settled(&self, before: i64) -> bool {
        self.mtime.max(self.ctime) < before
    }

    fn numbers(&self) -> [i64; 5] {
        [self.size, self.mtime, self.ctime, self.inode, self.mode]
    }
}

impl Remembered {
    /// Starts a lookup at the first path that is not before this one.
    pub(super) fn from(&self, path: &[u8]) -> Onwards<'_> {
        let at = self.entries.partition_point(|entry| self.name(entry) < path);
        Onwards { remembered: self, at }
    }

    fn name(&self, entry: &CachedFile) -> &[u8] {
        &self.names[entry.name.0..entry.name.1]
    }
}

impl<'a> Onwards<'a> {
    /// The entry of a path; each path must not sort before the previous one.
    pub(super) fn find(&mut self, path: &[u8]) -> Option<&'a CachedFile> {
        let remembered = self.remembered;
        loop {
            let entry = remembered.entries.get(self.at)?;
            match remembered.name(entry).cmp(path) {
                std::cmp::Ordering::Less => self.at += 1,
                std::cmp::Ordering::Equal => return Some(entry),
                std::cmp::Ordering::Greater => return None,
            }
        }
    }
}

/// Loads the cache of the tree at `root`. Empty if there is no cache, if it cannot be trusted, or
/// if it belongs to another tree; then every file is read.
pub(super) fn load(path: Option<&Path>, root: &Path) -> Remembered {
    let bytes = path.and_then(|path| trusted_read::read_at_most(path, LARGEST).ok().flatten());
    bytes.and_then(|bytes| parse(&bytes, root)).unwrap_or_default()
}

fn parse(bytes: &[u8], root: &Path) -> Option<Remembered> {
    let mut cursor = Cursor::at(open_sealed(bytes, MARK)?);
    if cursor.bytes()? != root.as_os_str().as_bytes() {
        return None;
    }
    let count = usize::try_from(cursor.number()?).ok()?;
    let mut remembered = Remembered { size: bytes.len(), ..Remembered::default() };
    // A wrong count must not make us allocate more than the file's own size justifies.
    remembered.entries.reserve(count.min(bytes.len() / 64));
    for _ in 0..count {
        let name = cursor.name(&mut remembered.names)?;
        let digest = cursor.array()?;
        let [size, mtime, ctime, inode, mode] = cursor.numbers()?;
        let stamp = Stamp { size, mtime, ctime, inode, mode };
        remembered.entries.push(CachedFile { name, stamp, digest });
    }
    Some(remembered)
}

/// The number of files in a cache, for the fuzz targets.
#[cfg(fuzzing)]
pub(crate) fn count(bytes: &[u8], root: &Path) -> Option<usize> {
    parse(bytes, root).map(|remembered| remembered.entries.len())
}

/// Rewrites the cache if that saves more reading than it costs. Write errors are ignored: the cache
/// is only an optimisation.
pub(super) fn keep(path: Option<&Path>, root: &Path, before: &Remembered, seen: &CacheUpdate<'_>) {
    let Some(path) = path else { return };
    if seen.is_worth_writing(before) {
        // A torn one does not match its checksum and is not used.
        let _ = atomic::write_unsynced(path, &seen.render(root));
    }
}

impl CacheUpdate<'_> {
    fn is_worth_writing(&self, before: &Remembered) -> bool {
        // The cost of opening and closing a file, as the number of bytes that could be read in that
        // time.
        const OPENING: usize = 4096;
        let new = self.read.found.iter().flatten().filter(|found| found.was_read);
        let new =
            new.filter_map(|found| found.stamp.filter(|it| it.is_settled(self.settled_before)));
        let spared: usize = new.map(|it| usize::try_from(it.size).unwrap_or(0) + OPENING).sum();
        spared > before.size / 16
    }

    fn settled(&self) -> impl Iterator<Item = (&[u8], &PathContent, Stamp)> {
        self.names.iter().zip(&self.read.found).filter_map(|(name, found)| {
            let found = found.as_ref()?;
            let stamp = found.stamp.filter(|stamp| stamp.is_settled(self.settled_before))?;
            Some((name, found, stamp))
        })
    }

    fn render(&self, root: &Path) -> Vec<u8> {
        let mut bytes = begin(MARK);
        put(&mut bytes, root.as_os_str().as_bytes());
        bytes.extend((self.settled().count() as u64).to_le_bytes());
        let mut last: &[u8] = b"";
        for (name, found, stamp) in self.settled() {
            put_name(&mut bytes, last, name);
            bytes.extend(found.digest);
            bytes.extend(stamp.numbers().into_iter().flat_map(i64::to_le_bytes));
            last = name;
        }
        end(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_times_must_be_older_than_the_margin() {
        let stamp = |mtime, ctime| Stamp { size: 1, mtime, ctime, inode: 1, mode: 0 };
        assert!(stamp(9, 9).is_settled(10));
        assert!(!stamp(10, 9).is_settled(10), "written in the moment of the reading");
        assert!(!stamp(9, 10).is_settled(10), "changed in it, with the time of writing set back");
        assert!(!stamp(i64::MAX, 9).is_settled(10), "written by a clock that is ahead");
    }
}
