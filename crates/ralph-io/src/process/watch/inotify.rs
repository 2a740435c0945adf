//! Changes as Linux reports them.

use anyhow::{Context, Result};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::Errno;
use std::path::Path;

#[derive(Debug)]
pub(super) struct Inotify {
    queue: OwnedFd,
}

impl Inotify {
    pub(super) fn begin(places: &[&Path]) -> Result<Inotify> {
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
        Ok(Inotify { queue })
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.queue.as_fd()
    }

    /// Reads and drops the events: callers check everything they watch anyway.
    pub(super) fn drain(&self) -> Result<()> {
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
