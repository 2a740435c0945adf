//! Opens folders below the top of a tree, in the order of sorted paths.
//!
//! Each folder is opened from its parent and never through a link. If the `a` of a tracked `a/b`
//! has become a link, `a/b` no longer exists, wherever the link leads. This is also faster than
//! opening whole paths.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::path::Path;

/// Access for traversal only. On Linux this does not need the right to list the folder.
#[cfg(target_os = "linux")]
const PASS: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const PASS: OFlags = OFlags::RDONLY;

/// The open folders from the top to the one used last.
pub(super) struct Folders {
    top: OwnedFd,
    open: Vec<(Vec<u8>, OwnedFd)>,
}

impl Folders {
    pub(super) fn new(top: &Path) -> Result<Folders, Errno> {
        let flags = PASS | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Folders { top: rustix::fs::open(top, flags, Mode::empty())?, open: Vec::new() })
    }

    /// The folder of a path, and the name in it.
    pub(super) fn of<'a>(&mut self, path: &'a [u8]) -> Result<(BorrowedFd<'_>, &'a [u8]), Errno> {
        let (folder, name) = match path.iter().rposition(|byte| *byte == b'/') {
            Some(slash) => (&path[..slash], &path[slash + 1..]),
            None => (&b""[..], path),
        };
        self.enter(folder)?;
        let here = self.open.last().map_or(self.top.as_fd(), |(_, fd)| fd.as_fd());
        Ok((here, name))
    }

    fn enter(&mut self, folder: &[u8]) -> Result<(), Errno> {
        let wanted = folder.split(|byte| *byte == b'/').filter(|name| !name.is_empty());
        let mut depth = 0;
        for name in wanted {
            if self.open.get(depth).is_none_or(|(open, _)| open != name) {
                self.open.truncate(depth);
                let above = self.open.last().map_or(self.top.as_fd(), |(_, fd)| fd.as_fd());
                let flags = PASS | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let fd = rustix::fs::openat(above, name, flags, Mode::empty())?;
                self.open.push((name.to_owned(), fd));
            }
            depth += 1;
        }
        self.open.truncate(depth);
        Ok(())
    }
}
