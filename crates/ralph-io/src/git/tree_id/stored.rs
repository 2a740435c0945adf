//! Two files about a tree: a listing, and the digests of its files by their metadata, so that only
//! changed files are read.
//!
//! A remembered digest is valid while size, inode, mode, mtime and ctime are unchanged. The kernel
//! sets ctime itself: a write of equal size with a reset mtime still changes it. One case remains.
//! File system clocks tick (4 ms on most, 2 s on some), and a write in the tick in which the file
//! was read leaves both times unchanged. So a file is remembered only if both times are older than
//! the start of reading by more than any such tick; a file that changed later is read again next
//! time.
//!
//! Both files have a mark, the top of the tree or the project's path in it, and a number of entries
//! in path order; names without the prefix that they share with the previous one, little-endian
//! numbers, and a checksum at the end.

use super::contents::{PathContent, PathKind};
use super::{Listing, PathRecord};
use crate::{project::trusted_read, store::atomic};
use anyhow::{Context, Result};
use rustix::fs::Stat;
use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use xxhash_rust::xxh3::xxh3_128;

const LISTING: &[u8] = b"ralph-listing-1\n";

const DIGESTS: &[u8] = b"ralph-digests-1\n";

/// More than the coarsest clock of a file system in use, in nanoseconds.
pub(super) const MARGIN: i64 = 3_000_000_000;

/// Ten million files. Larger digests are not read; then all files are.
const LARGEST: u64 = 1 << 30;

impl Listing {
    /// Writes the listing to a private file.
    pub fn save(&self, path: &Path) -> Result<()> {
        atomic::write(path, &self.sealed())
    }

    /// As [`Listing::save`], without a sync: after a power cut the file may be gone or torn, and the files
    /// that changed since then cannot be named.
    pub fn save_unsynced(&self, path: &Path) -> Result<()> {
        let written = atomic::write_unsynced(path, &self.sealed());
        written.with_context(|| format!("could not write `{}`", path.display()))
    }

    fn sealed(&self) -> Vec<u8> {
        let mut writer = Writer::new(LISTING, &self.base, self.len());
        for record in &self.records {
            writer.put_name(&record.path);
            writer.bytes.push(record.kind.number());
            writer.bytes.extend(record.digest);
        }
        writer.seal()
    }

    /// Reads what [`Listing::save`] wrote; `None` if there is no such file.
    ///
    /// # Errors
    /// If the file is not a private file of ours, or is damaged.
    pub fn load(path: &Path) -> Result<Option<Listing>> {
        let Some(bytes) = trusted_read::read_at_most(path, LARGEST)? else { return Ok(None) };
        let listing = Listing::parse(&bytes);
        listing.map(Some).with_context(|| format!("`{}` is not a listing", path.display()))
    }

    fn parse(bytes: &[u8]) -> Option<Listing> {
        let (mut reader, base, count) = Reader::open(bytes, LISTING)?;
        let mut listing = Listing { base: base.to_owned(), ..Listing::default() };
        for _ in 0..count {
            let path = reader.name()?;
            let [kind] = reader.array()?;
            let (kind, digest) = (PathKind::from_number(kind)?, reader.array()?);
            listing.records.push(PathRecord { path, kind, digest });
        }
        Some(listing)
    }
}

/// A file's metadata. Times are in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) size: i64,
    pub(super) mtime: i64,
    ctime: i64,
    inode: i64,
    mode: i64,
}

impl Stamp {
    #[allow(clippy::unnecessary_cast, reason = "the widths differ between platforms")]
    pub(super) fn from_stat(about: &Stat) -> Stamp {
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
}

/// The remembered digests, with the metadata of the files that had them.
#[derive(Debug, Default)]
pub(super) struct Remembered {
    files: HashMap<Vec<u8>, (Stamp, [u8; 32])>,
    size: usize,
}

impl Remembered {
    /// Loads the digests of the tree at `root`. Empty if there are none, if they cannot be trusted,
    /// or if they belong to another tree; then every file is read.
    pub(super) fn load(path: &Path, root: &Path) -> Remembered {
        let bytes = trusted_read::read_at_most(path, LARGEST).ok().flatten();
        bytes.and_then(|bytes| Remembered::parse(&bytes, root)).unwrap_or_default()
    }

    fn parse(bytes: &[u8], root: &Path) -> Option<Remembered> {
        let (mut reader, of, count) = Reader::open(bytes, DIGESTS)?;
        let mut remembered = Remembered { size: bytes.len(), ..Remembered::default() };
        (of == root.as_os_str().as_bytes()).then_some(())?;
        for _ in 0..count {
            let (name, digest) = (reader.name()?, reader.array()?);
            let mut number = || reader.array().map(i64::from_le_bytes);
            let (size, mtime, ctime) = (number()?, number()?, number()?);
            let stamp = Stamp { size, mtime, ctime, inode: number()?, mode: number()? };
            remembered.files.insert(name, (stamp, digest));
        }
        Some(remembered)
    }

    /// The digest of a file whose metadata has not changed.
    pub(super) fn digest(&self, path: &[u8], now: Stamp) -> Option<[u8; 32]> {
        let (stamp, digest) = self.files.get(path)?;
        (*stamp == now).then_some(*digest)
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Writes the digests of the files that have not changed since `before`, if that saves more
    /// reading than it costs. Errors are ignored: this is only an optimisation.
    pub(super) fn renew<'a>(
        &self,
        path: &Path,
        root: &Path,
        found: impl Iterator<Item = (&'a Vec<u8>, &'a PathContent)>,
        before: i64,
    ) {
        // The cost of opening and closing a file, as the number of bytes that could be read in that
        // time.
        const OPENING: usize = 4096;
        let settled: Vec<(&Vec<u8>, &PathContent, Stamp)> = found
            .filter_map(|(name, it)| Some((name, it, it.stamp?)))
            .filter(|(.., stamp)| stamp.is_settled(before))
            .collect();
        let new = settled.iter().filter(|(_, found, _)| found.was_read);
        let spared: usize =
            new.map(|(.., it)| usize::try_from(it.size).unwrap_or(0) + OPENING).sum();
        if spared <= self.size / 16 {
            return;
        }
        let mut writer = Writer::new(DIGESTS, root.as_os_str().as_bytes(), settled.len());
        for (name, found, Stamp { size, mtime, ctime, inode, mode }) in settled {
            writer.put_name(name);
            writer.bytes.extend(found.digest);
            writer.bytes.extend([size, mtime, ctime, inode, mode].map(i64::to_le_bytes).concat());
        }
        // A torn one does not match its checksum and is not used.
        let _ = atomic::write_unsynced(path, &writer.seal());
    }
}

/// The number of files with a remembered digest, for the fuzz targets.
#[cfg(fuzzing)]
pub(crate) fn count(bytes: &[u8], root: &Path) -> Option<usize> {
    Remembered::parse(bytes, root).map(|remembered| remembered.files.len())
}

/// Writes a file of this form.
struct Writer {
    bytes: Vec<u8>,
    last: Vec<u8>,
}

impl Writer {
    fn new(mark: &[u8], place: &[u8], count: usize) -> Writer {
        let number = |number: usize| (number as u64).to_le_bytes();
        let bytes = [mark, &number(place.len()), place, &number(count)].concat();
        Writer { bytes, last: Vec::new() }
    }

    /// Writes a name as the length of the prefix shared with the previous one, and the rest.
    fn put_name(&mut self, name: &[u8]) {
        let shared = self.last.iter().zip(name).take_while(|(a, b)| a == b).count();
        self.bytes.extend((shared as u32).to_le_bytes());
        self.bytes.extend(((name.len() - shared) as u32).to_le_bytes());
        self.bytes.extend(&name[shared..]);
        self.last.truncate(shared);
        self.last.extend(&name[shared..]);
    }

    fn seal(mut self) -> Vec<u8> {
        let seal = xxh3_128(&self.bytes);
        self.bytes.extend(seal.to_le_bytes());
        self.bytes
    }
}

/// Reads such a file in order; `None` at the end of the bytes.
struct Reader<'a> {
    rest: &'a [u8],
    last: Vec<u8>,
}

impl<'a> Reader<'a> {
    /// Opens a file with this mark and a right checksum; returns its place and number of entries.
    fn open(bytes: &'a [u8], mark: &[u8]) -> Option<(Reader<'a>, &'a [u8], u64)> {
        let (body, seal) = bytes.split_last_chunk()?;
        (xxh3_128(body).to_le_bytes() == *seal).then_some(())?;
        let mut reader = Reader { rest: body.strip_prefix(mark)?, last: Vec::new() };
        let length = reader.array().map(u64::from_le_bytes)?;
        let place = reader.take(usize::try_from(length).ok()?)?;
        let count = reader.array().map(u64::from_le_bytes)?;
        Some((reader, place, count))
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*first)
    }

    fn name(&mut self) -> Option<Vec<u8>> {
        let shared = u32::from_le_bytes(self.array()?) as usize;
        let length = u32::from_le_bytes(self.array()?) as usize;
        let rest = self.take(length)?;
        (shared <= self.last.len()).then_some(())?;
        self.last.truncate(shared);
        self.last.extend(rest);
        Some(self.last.clone())
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (first, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(first)
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
