//! Waits for file changes.
//!
//! Linux reports them through inotify. Elsewhere the watch looks again at short intervals: the calls
//! of macOS need a descriptor for each file, and `unsafe`.

#[cfg(target_os = "linux")]
mod inotify;

use crate::process::portable;
#[cfg(target_os = "linux")]
use crate::process::waits::WATCH_AGAIN;
use anyhow::{Context, Result};
use rustix::event::{PollFd, Timespec, poll};
use rustix::fd::BorrowedFd;
use rustix::io::Errno;
use std::cell::RefCell;
use std::ffi::OsString;
use std::fs;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// Something has changed, or may have.
    Changed,
    /// The deadline has passed.
    Overdue,
}

/// A watch over folders and files. It misses nothing that happens after its start.
#[derive(Debug)]
pub struct Watch(Form);

#[derive(Debug)]
enum Form {
    #[cfg(target_os = "linux")]
    Inotify(inotify::Inotify),
    LookAgain(LookAgain),
}

impl Watch {
    /// Starts to watch. A path that does not exist is not watched.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn begin(places: &[&Path]) -> Result<Watch> {
        #[cfg(target_os = "linux")]
        if !portable::is_used() {
            return Ok(Watch(Form::Inotify(inotify::Inotify::begin(places)?)));
        }
        Ok(Watch::looking_again(places))
    }

    fn looking_again(places: &[&Path]) -> Watch {
        Watch(Form::LookAgain(LookAgain::begin(places)))
    }

    /// Waits until something changes or the deadline passes.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn wait(&self, deadline: Instant) -> Result<Woken> {
        loop {
            let until = self.look_before(deadline);
            let ready = poll_until(&mut self.ends(), until).context("could not wait")?;
            if self.take_change(ready)? {
                return Ok(Woken::Changed);
            }
            if Instant::now() >= deadline {
                return Ok(Woken::Overdue);
            }
        }
    }

    /// Readable after a change; for callers that wait for other events as well. Not set where the
    /// watch has to look again.
    pub(crate) fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        match &self.0 {
            #[cfg(target_os = "linux")]
            Form::Inotify(queue) => Some(queue.as_fd()),
            Form::LookAgain(_) => None,
        }
    }

    /// How long a caller that waits for other events may wait before it calls
    /// [`Watch::take_change`].
    pub(crate) fn look_before(&self, deadline: Instant) -> Instant {
        match &self.0 {
            #[cfg(target_os = "linux")]
            Form::Inotify(_) => deadline,
            Form::LookAgain(places) => places.look_before(deadline),
        }
    }

    /// True if something has changed since the start or the last change; `is_ready` says whether the
    /// descriptor is readable.
    pub(crate) fn take_change(&self, is_ready: bool) -> Result<bool> {
        match &self.0 {
            #[cfg(target_os = "linux")]
            Form::Inotify(queue) if is_ready => queue.drain().map(|()| true),
            #[cfg(target_os = "linux")]
            Form::Inotify(_) => Ok(false),
            Form::LookAgain(places) => Ok(places.has_changed() || is_ready),
        }
    }

    fn ends(&self) -> Vec<PollFd<'_>> {
        let ends = self.as_fd().into_iter();
        ends.map(|fd| PollFd::from_borrowed_fd(fd, rustix::event::PollFlags::IN)).collect()
    }
}

/// True if one of these is readable. A signal ends the wait as well.
pub(crate) fn poll_until(ends: &mut [PollFd<'_>], until: Instant) -> Result<bool> {
    let left = until.saturating_duration_since(Instant::now());
    let left = Timespec::try_from(left).context("could not wait that long")?;
    match poll(ends, Some(&left)) {
        Ok(n) => Ok(n > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[derive(Debug)]
struct LookAgain {
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
    fn begin(places: &[&Path]) -> LookAgain {
        let places: Vec<PathBuf> = places.iter().map(|place| (*place).to_owned()).collect();
        let last = RefCell::new(snapshot(&places));
        LookAgain { places, last }
    }

    fn look_before(&self, deadline: Instant) -> Instant {
        match self.places.is_empty() {
            true => deadline,
            false => deadline.min(Instant::now() + WATCH_AGAIN),
        }
    }

    fn has_changed(&self) -> bool {
        let now = snapshot(&self.places);
        self.last.replace_with(|_| now) != *self.last.borrow()
    }
}

fn snapshot(places: &[PathBuf]) -> Vec<Option<WatchedFile>> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;
    use std::path::Path;
    use std::time::Duration;

    /// Reached only by a failing test.
    const LONG: Duration = Duration::from_secs(60);

    #[track_caller]
    fn sees(act: impl Fn(&Path)) {
        sees_by(|places| Watch::begin(places).unwrap(), &act);
        sees_by(Watch::looking_again, &act);
    }

    #[track_caller]
    fn sees_by(begin: impl Fn(&[&Path]) -> Watch, act: &impl Fn(&Path)) {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        fs::create_dir(&inner).unwrap();
        for name in ["inner/a", "inner/b", "log"] {
            fs::write(folder.path().join(name), "x").unwrap();
        }
        let watch = begin(&[&inner, &folder.path().join("log")]);
        assert_eq!(watch.wait(Instant::now()).unwrap(), Woken::Overdue);
        act(folder.path());
        assert_eq!(watch.wait(Instant::now() + LONG).unwrap(), Woken::Changed);
        assert_eq!(watch.wait(Instant::now()).unwrap(), Woken::Overdue, "it was taken note of");
    }

    #[test]
    fn a_file_that_is_replaced_is_seen() {
        sees(|at| fs::rename(at.join("inner/a"), at.join("inner/b")).unwrap());
    }

    #[test]
    fn files_that_change_places_are_seen() {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        sees(|at| {
            let (a, b) = (at.join("inner/a"), at.join("inner/b"));
            renameat_with(CWD, &a, CWD, &b, RenameFlags::EXCHANGE).unwrap();
        });
    }

    #[test]
    fn a_folder_that_moves_away_is_seen() {
        sees(|at| fs::rename(at.join("inner"), at.join("archived")).unwrap());
    }

    #[test]
    fn a_row_that_is_appended_to_a_file_is_seen() {
        sees(|at| {
            let mut file = fs::OpenOptions::new().append(true).open(at.join("log")).unwrap();
            file.write_all(b"row\n").unwrap();
        });
    }

    #[test]
    fn a_place_that_is_not_there_is_no_error_and_the_deadline_holds() {
        let places = [Path::new("/nonexistent/place")];
        for watch in [Watch::begin(&places).unwrap(), Watch::looking_again(&places)] {
            let began = Instant::now();
            let waited = watch.wait(began + Duration::from_millis(30)).unwrap();
            assert_eq!(waited, Woken::Overdue);
            assert!(began.elapsed() >= Duration::from_millis(30));
        }
    }
}
