//! A lock beside a document, held for one read, decision and write.
//!
//! The system releases it when its holder dies, however it dies. A holder that is stopped delays
//! the others up to their deadline and no longer.

use anyhow::{Context, Result};
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Long enough for any honest holder, short enough for every hook's own timeout.
pub const DEADLINE: Duration = Duration::from_secs(2);

/// The held lock; dropping it lets go.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// Takes the lock of the document at `path`, waiting until the deadline.
///
/// # Errors
/// When another process held it all that time, or the lock file could not be opened.
pub fn take(path: &Path, deadline: Duration) -> Result<Lock> {
    let lock_path = path.with_extension("lock");
    let describe = || format!("could not lock `{}`", lock_path.display());
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        // A link would make us create, and lock, a file that somebody else chose.
        .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32)
        .open(&lock_path)
        .with_context(describe)?;
    let began = Instant::now();
    let mut pause = Duration::from_micros(200);
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Lock { _file: file }),
            Err(TryLockError::Error(error)) => return Err(error).with_context(describe),
            Err(TryLockError::WouldBlock) if began.elapsed() >= deadline => {
                anyhow::bail!("another process has held `{}` for too long", lock_path.display());
            }
            Err(TryLockError::WouldBlock) => {
                // The system offers no wait with a deadline for file locks.
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(10));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_taker_waits_until_its_deadline_and_then_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.json");
        let held = take(&path, DEADLINE).unwrap();
        let error = take(&path, Duration::from_millis(5)).unwrap_err();
        assert!(error.to_string().contains("held"), "{error}");
        drop(held);
        take(&path, Duration::from_millis(5)).unwrap();
    }

    #[test]
    fn a_link_or_a_pipe_in_its_place_is_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.json");
        let elsewhere = folder.path().join("elsewhere");
        std::os::unix::fs::symlink(&elsewhere, path.with_extension("lock")).unwrap();
        assert!(take(&path, DEADLINE).is_err());
        assert!(!elsewhere.exists());
    }
}
