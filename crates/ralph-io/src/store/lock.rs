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
    file: File,
}

impl Lock {
    /// Has every process that we start from now on hold it too: when we are killed, it is held until
    /// what we had started is done.
    ///
    /// # Errors
    /// When the system does not let us.
    pub fn share_with_children(&self) -> Result<()> {
        rustix::io::fcntl_setfd(&self.file, rustix::io::FdFlags::empty())
            .context("could not share a lock")
    }
}

/// Takes the lock of the document at `path`, waiting until the deadline.
///
/// # Errors
/// When another process held it all that time, or the lock file could not be opened.
pub fn take(path: &Path, deadline: Duration) -> Result<Lock> {
    lock(path, OpenOptions::new().create(true).truncate(false), deadline)
}

/// As `take`, for a reader: it leaves nothing beside a document that nobody has written to.
///
/// # Errors
/// As `take`, and where there is no lock file.
pub fn take_existing(path: &Path, deadline: Duration) -> Result<Lock> {
    lock(path, &mut OpenOptions::new(), deadline)
}

fn lock(path: &Path, how: &mut OpenOptions, deadline: Duration) -> Result<Lock> {
    let lock_path = path.with_extension("lock");
    let describe = || format!("could not lock `{}`", lock_path.display());
    let file = how
        .read(true)
        .write(true)
        .mode(0o600)
        // A link would make us create, and lock, a file that somebody else chose.
        .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32)
        .open(&lock_path)
        .with_context(describe)?;
    let began = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Lock { file }),
            Err(TryLockError::Error(error)) => return Err(error).with_context(describe),
            Err(TryLockError::WouldBlock) if began.elapsed() >= deadline => {
                // It waits for a person as a rule: stopped in a terminal, or in a debugger.
                let lock = lock_path.display();
                anyhow::bail!(
                    "another process has held `{lock}` for too long; `fuser -v {lock}` names it: \
                     let it go on or end it"
                );
            }
            Err(TryLockError::WouldBlock) => {
                // The system offers no wait with a deadline for file locks.
                std::thread::sleep(pause_after(began.elapsed()));
            }
        }
    }
}

/// How long to wait before the next look. The first moments are for a holder that is nearly done.
/// Then who has waited longer looks oftener: were it the other way round, those who come would get
/// the lock before those who are there, and in a crowd somebody would wait to the deadline.
fn pause_after(waited: Duration) -> Duration {
    Duration::from_micros(match waited.as_millis() {
        0..2 => 200,
        2..200 => 5_000,
        200..1_000 => 1_000,
        _ => 300,
    })
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
