//! Waits for file changes without polling the files.
//!
//! Where the system reports no changes, a wait lasts until its deadline, and the caller then checks
//! the files once more.

use std::time::Instant;

/// Why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// Something has changed, or may have.
    Changed,
    /// The deadline has passed.
    Overdue,
}

pub use platform::Watch;

#[cfg(target_os = "linux")]
mod platform {
    use super::{Instant, Woken};
    use anyhow::{Context, Result};
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
    use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
    use rustix::io::Errno;
    use std::path::Path;

    /// A watch over folders and files. It misses nothing that happens after its start.
    #[derive(Debug)]
    pub struct Watch {
        queue: OwnedFd,
    }

    impl Watch {
        /// Starts to watch. A path that does not exist is not watched.
        pub fn begin(places: &[&Path]) -> Result<Watch> {
            let queue = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)
                .context("could not watch files")?;
            // Entries of a folder are replaced; a file is appended to, or moves with its folder.
            let changes = WatchFlags::MODIFY
                | WatchFlags::MOVE
                | WatchFlags::MOVE_SELF
                | WatchFlags::DELETE
                | WatchFlags::DELETE_SELF;
            for place in places {
                let _ = inotify::add_watch(&queue, *place, changes);
            }
            Ok(Watch { queue })
        }

        /// Waits until something changes or the deadline passes.
        pub fn wait(&self, deadline: Instant) -> Result<Woken> {
            let left = deadline.saturating_duration_since(Instant::now());
            let left = Timespec::try_from(left).context("could not wait that long")?;
            let mut ready = [PollFd::new(&self.queue, PollFlags::IN)];
            match poll(&mut ready, Some(&left)) {
                Ok(0) => Ok(Woken::Overdue),
                Ok(_) => self.drain().map(|()| Woken::Changed),
                Err(Errno::INTR) => Ok(Woken::Changed),
                Err(error) => Err(error).context("could not wait for a change"),
            }
        }

        /// Readable after a change; for callers that wait for other events as well.
        pub(crate) fn as_fd(&self) -> Option<BorrowedFd<'_>> {
            Some(self.queue.as_fd())
        }

        /// Discards the changes so far.
        pub(crate) fn forget(&self) -> Result<()> {
            self.drain()
        }

        /// Reads and drops the events: callers check everything they watch anyway.
        fn drain(&self) -> Result<()> {
            let mut events = [0; 4096];
            loop {
                match rustix::io::read(&self.queue, &mut events[..]) {
                    Ok(n) if n > 0 => {}
                    Ok(_) | Err(Errno::AGAIN) => return Ok(()),
                    Err(error) => return Err(error).context("could not read the changes"),
                }
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    use super::{Instant, Woken};
    use anyhow::Result;
    use std::path::Path;

    /// A watch that sees nothing.
    #[derive(Debug)]
    pub struct Watch;

    impl Watch {
        pub fn begin(_places: &[&Path]) -> Result<Watch> {
            Ok(Watch)
        }

        /// Waits until the deadline.
        pub fn wait(&self, deadline: Instant) -> Result<Woken> {
            std::thread::sleep(deadline.saturating_duration_since(Instant::now()));
            Ok(Woken::Overdue)
        }

        /// Not set: nothing is ever readable.
        pub(crate) fn as_fd(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
            None
        }

        pub(crate) fn forget(&self) -> Result<()> {
            Ok(())
        }
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;
    use std::path::Path;
    use std::time::Duration;

    /// Reached only by a failing test.
    const LONG: Duration = Duration::from_secs(60);

    #[track_caller]
    fn sees(act: impl FnOnce(&Path)) {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        fs::create_dir(&inner).unwrap();
        for name in ["inner/a", "inner/b", "log"] {
            fs::write(folder.path().join(name), "x").unwrap();
        }
        let watch = Watch::begin(&[&inner, &folder.path().join("log")]).unwrap();
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
        let watch = Watch::begin(&[Path::new("/nonexistent/place")]).unwrap();
        let began = Instant::now();
        let waited = watch.wait(began + Duration::from_millis(30)).unwrap();
        assert_eq!(waited, Woken::Overdue);
        assert!(began.elapsed() >= Duration::from_millis(30));
    }
}
