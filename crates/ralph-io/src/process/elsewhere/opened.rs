//! Learns which files are opened.
//!
//! Reading the names in a folder, and asking for the size or the time of a file, is no opening. Times
//! of access are no help: `cp` leaves them alone, and so does a read-only mount.

use std::path::PathBuf;

#[cfg(target_os = "linux")]
pub(super) use linux::Watches;

#[cfg(target_os = "linux")]
mod linux {
    use super::PathBuf;
    use crate::process::portable;
    use rustix::fd::OwnedFd;
    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
    use rustix::io::Errno;
    use std::collections::{BTreeSet, HashMap};
    use std::mem::MaybeUninit;

    /// A watch on each of some files.
    pub(crate) struct Watches {
        queue: OwnedFd,
        /// One watch can stand for several paths.
        files: HashMap<i32, Vec<usize>>,
    }

    impl Watches {
        /// Watches these files from now on; `None` if the system does not let us watch all of them. A
        /// file that does not exist, or that its user may not read, will not be opened.
        pub(crate) fn begin(paths: &[PathBuf]) -> Option<Watches> {
            if portable::is_used() {
                return None;
            }
            let queue = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
            let mut files: HashMap<i32, Vec<usize>> = HashMap::new();
            for (at, path) in paths.iter().enumerate() {
                // One event for each file: a queue that fills up forgets the rest.
                match inotify::add_watch(&queue, path, WatchFlags::OPEN | WatchFlags::ONESHOT) {
                    Ok(watch) => files.entry(watch).or_default().push(at),
                    Err(Errno::NOSPC | Errno::NOMEM | Errno::MFILE) => return None,
                    Err(_) => {}
                }
            }
            Some(Watches { queue, files })
        }

        /// The places of the files that were opened; `None` if events were lost.
        pub(crate) fn opened(self) -> Option<Vec<usize>> {
            let mut space = [MaybeUninit::uninit(); 4096];
            let mut events = Reader::new(&self.queue, &mut space);
            let mut opened = BTreeSet::new();
            loop {
                match events.next() {
                    Ok(event) if event.events().contains(ReadFlags::QUEUE_OVERFLOW) => return None,
                    Ok(event) if event.events().contains(ReadFlags::OPEN) => {
                        opened.extend(self.files.get(&event.wd()).into_iter().flatten());
                    }
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(Errno::AGAIN) => return Some(opened.into_iter().collect()),
                    Err(_) => return None,
                }
            }
        }
    }
}

/// macOS tells nobody without privileges who opens a file.
#[cfg(not(target_os = "linux"))]
pub(super) struct Watches;

#[cfg(not(target_os = "linux"))]
impl Watches {
    pub(super) fn begin(_paths: &[PathBuf]) -> Option<Watches> {
        None
    }

    pub(super) fn opened(self) -> Option<Vec<usize>> {
        None
    }
}
