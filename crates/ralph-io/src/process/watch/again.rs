//! Looks again and again whether a file, or an entry of a folder, is another one or was written.

use std::cell::RefCell;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Short enough for a person who watches, and long enough for some hundred files.
const EVERY: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub(super) struct LookAgain {
    places: Vec<PathBuf>,
    last: RefCell<Vec<Option<WatchedFile>>>,
}

/// A file, or a folder with its entries.
#[derive(Debug, PartialEq, Eq)]
struct WatchedFile {
    version: Version,
    entries: Vec<(OsString, Option<Version>)>,
}

/// Differs after each change: a rename moves the change time as well, an exchange the inode.
#[derive(Debug, PartialEq, Eq)]
struct Version {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl LookAgain {
    pub(super) fn begin(places: &[&Path]) -> LookAgain {
        let places: Vec<PathBuf> = places.iter().map(|place| (*place).to_owned()).collect();
        let last = RefCell::new(look(&places));
        LookAgain { places, last }
    }

    pub(super) fn look_before(&self, deadline: Instant) -> Instant {
        match self.places.is_empty() {
            true => deadline,
            false => deadline.min(Instant::now() + EVERY),
        }
    }

    pub(super) fn has_changed(&self) -> bool {
        let now = look(&self.places);
        self.last.replace_with(|_| now) != *self.last.borrow()
    }
}

fn look(places: &[PathBuf]) -> Vec<Option<WatchedFile>> {
    places.iter().map(|place| watched(place)).collect()
}

fn watched(place: &Path) -> Option<WatchedFile> {
    let about = place.metadata().ok()?;
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let mut entries: Vec<_> = entries
        .map(|entry| (entry.file_name(), entry.metadata().ok().as_ref().map(version)))
        .collect();
    entries.sort_by(|one, other| one.0.cmp(&other.0));
    Some(WatchedFile { version: version(&about), entries })
}

fn version(about: &Metadata) -> Version {
    Version {
        device: about.dev(),
        inode: about.ino(),
        size: about.size(),
        modified: (about.mtime(), about.mtime_nsec()),
        changed: (about.ctime(), about.ctime_nsec()),
    }
}
