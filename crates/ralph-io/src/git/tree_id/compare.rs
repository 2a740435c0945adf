//! Stores a listing in a file, and compares two listings.

use super::kept::{Cursor, begin, end, open_sealed, put, put_name};
use super::{Listing, PathKind};
use crate::{project::trusted_read, store::atomic};
use anyhow::{Context, Result};
use ralph_core::text::sanitize;
use std::cmp::Ordering;
use std::path::Path;

const MARK: &[u8] = b"ralph-listing-1\n";

/// Enough for a listing of ten million files.
const LARGEST: u64 = 1 << 30;

impl Listing {
    /// The paths that were added, removed or changed, sorted and printable.
    pub fn changed_since(&self, earlier: &Listing) -> Vec<String> {
        let mut changed = Vec::new();
        let (mut now, mut then) = (self.iter().peekable(), earlier.iter().peekable());
        loop {
            let order = match (now.peek(), then.peek()) {
                (None, None) => return changed,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((new, _)), Some((old, _))) => new.cmp(old),
            };
            let new = now.next_if(|_| order != Ordering::Greater);
            let old = then.next_if(|_| order != Ordering::Less);
            let differs = match (new, old) {
                (Some((_, new)), Some((_, old))) => {
                    (new.kind, new.digest) != (old.kind, old.digest)
                }
                _ => true,
            };
            changed.extend(new.or(old).filter(|_| differs).map(|(path, _)| readable(path)));
        }
    }

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
        let mut bytes = begin(MARK);
        put(&mut bytes, &self.base);
        bytes.extend((self.len() as u64).to_le_bytes());
        let mut last: &[u8] = b"";
        for (name, record) in self.iter() {
            put_name(&mut bytes, last, name);
            bytes.push(record.kind.number());
            bytes.extend(record.digest);
            last = name;
        }
        end(bytes)
    }

    /// Reads what [`Listing::save`] wrote; `None` if there is no such file.
    ///
    /// # Errors
    /// If the file is not a private file of ours, or is damaged.
    pub fn load(path: &Path) -> Result<Option<Listing>> {
        let Some(bytes) = trusted_read::read_at_most(path, LARGEST)? else { return Ok(None) };
        let listing = parse(&bytes);
        listing.map(Some).with_context(|| format!("`{}` is not a listing", path.display()))
    }
}

fn parse(bytes: &[u8]) -> Option<Listing> {
    let mut cursor = Cursor::at(open_sealed(bytes, MARK)?);
    let mut listing = Listing { base: cursor.bytes()?.to_owned(), ..Listing::default() };
    for _ in 0..cursor.number()? {
        let (_, end) = cursor.name(&mut listing.names)?;
        let [kind] = cursor.array()?;
        let (kind, digest) = (PathKind::from_number(kind)?, cursor.array()?);
        listing.records.push(super::PathRecord { end, kind, digest });
    }
    Some(listing)
}

/// Makes a path printable: terminal control characters are escaped, and bytes that are not UTF-8
/// replaced.
pub(crate) fn readable(path: &[u8]) -> String {
    let mut shown = String::with_capacity(path.len());
    for letter in String::from_utf8_lossy(path).chars() {
        if sanitize::acts(letter) {
            shown.extend(letter.escape_default());
        } else {
            shown.push(letter);
        }
    }
    shown
}
