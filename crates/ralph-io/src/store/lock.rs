//! A lock file beside a document, held during one read, decision and write.
//!
//! The system releases the lock when its holder dies, for whatever reason. A stopped holder delays
//! the others until their deadline.

use crate::store::atomic;
use anyhow::{Context, Result};
use std::cell::Cell;
use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Long enough for any normal holder, short enough for every hook's own timeout.
pub const DEADLINE: Duration = Duration::from_secs(2);

thread_local! {
    static LATEST: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Ends each later wait of this thread at that moment at the latest. Several short waits in a row
/// could otherwise outlast the time that the client allows a hook.
pub fn wait_until(latest: Instant) {
    LATEST.set(Some(latest));
}

/// A held lock; dropping this releases it.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    /// Makes every process that we start from now on hold the lock too. If we are killed, the lock
    /// is held until they have ended.
    pub fn share_with_children(&self) -> Result<()> {
        rustix::io::fcntl_setfd(&self.file, rustix::io::FdFlags::empty())
            .context("could not share a lock")
    }

    /// For the standard input of a child, which then holds the lock too, as does what it starts.
    pub fn held_by_child(&self) -> Result<Stdio> {
        self.file.try_clone().map(Stdio::from).context("could not share a lock")
    }
}

/// Takes the lock of the document at `path`, waiting until the deadline.
///
/// # Errors
/// If another process held it all that time, or the lock file cannot be opened.
pub fn take(path: &Path, deadline: Duration) -> Result<Lock> {
    lock(path, OpenOptions::new().create(true).truncate(false), deadline, File::try_lock)
}

/// Takes the lock together with others that share it. Nobody can [`take`] it meanwhile.
pub fn share(path: &Path, deadline: Duration) -> Result<Lock> {
    lock(path, OpenOptions::new().create(true).truncate(false), deadline, File::try_lock_shared)
}

/// As `take`, for a reader: creates no lock file beside a document that nobody has written to.
///
/// # Errors
/// As for `take`, and if there is no lock file.
pub fn take_existing(path: &Path, deadline: Duration) -> Result<Lock> {
    lock(path, &mut OpenOptions::new(), deadline, File::try_lock)
}

fn lock(
    path: &Path,
    how: &mut OpenOptions,
    deadline: Duration,
    attempt: fn(&File) -> Result<(), TryLockError>,
) -> Result<Lock> {
    let lock_path = path.with_extension("lock");
    let describe = || format!("could not lock `{}`", lock_path.display());
    let file = how
        .read(true)
        .write(true)
        .mode(0o600)
        .custom_flags(atomic::NO_LINK_OR_PIPE)
        .open(&lock_path)
        .with_context(describe)?;
    let began = Instant::now();
    let left = LATEST.get().map(|latest| latest.saturating_duration_since(began));
    let deadline = left.map_or(deadline, |left| deadline.min(left));
    loop {
        match attempt(&file) {
            Ok(()) => return Ok(Lock { file }),
            Err(TryLockError::Error(error)) => return Err(error).with_context(describe),
            Err(TryLockError::WouldBlock) if began.elapsed() >= deadline => {
                // The holder usually waits for the user: stopped in a terminal, or in a debugger.
                let lock = lock_path.display();
                anyhow::bail!(
                    "another process has held the lock `{lock}` for too long; find it with `fuser \
                     -v {lock}`, then wait for it or end it"
                );
            }
            Err(TryLockError::WouldBlock) => {
                // The system offers no file lock with a deadline.
                std::thread::sleep(pause_after(began.elapsed()));
            }
        }
    }
}

/// How long to wait before the next attempt. The first attempts are for a holder that is nearly
/// done. After that, older waiters try more often than newer ones; otherwise newcomers would get
/// the lock first, and in a crowd some waiter would reach its deadline.
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
    fn no_wait_goes_beyond_the_latest_moment() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.json");
        let held = take(&path, DEADLINE).unwrap();
        let began = Instant::now();
        wait_until(began + Duration::from_millis(5));
        for _ in 0..3 {
            assert!(take(&path, DEADLINE).is_err());
        }
        assert!(began.elapsed() < DEADLINE, "{:?}", began.elapsed());
        drop(held);
        // A process that another test starts has our files until it runs its program.
        while take(&path, DEADLINE).is_err() {
            assert!(began.elapsed() < 2 * DEADLINE, "{:?}", began.elapsed());
        }
    }

    #[test]
    fn a_lock_is_passed_on_only_if_it_is_shared() {
        let folder = tempfile::tempdir().unwrap();
        let held = take(&folder.path().join("state.json"), DEADLINE).unwrap();
        let flags = || rustix::io::fcntl_getfd(&held.file).unwrap();
        assert!(flags().contains(rustix::io::FdFlags::CLOEXEC));
        held.share_with_children().unwrap();
        assert!(flags().is_empty());
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
