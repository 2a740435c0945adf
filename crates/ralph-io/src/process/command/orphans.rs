//! Ends the orphans of a command that has killed its own supervisor; they become our children.
//!
//! Only a process that has asked for orphans gets them. Our own children are told from orphans by
//! their POSIX session, and supervisors by a list; so both are handled here.

use super::family;
#[cfg(target_os = "linux")]
use crate::process::portable;
use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, WaitOptions, waitpid};
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// More than the kernel needs to kill what can be killed.
const PATIENCE: Duration = Duration::from_secs(10);

/// The supervisors that are running. Locked while one is started and while orphans are ended, so
/// that no new supervisor is taken for an orphan.
static SUPERVISORS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

fn supervisors() -> MutexGuard<'static, Vec<Pid>> {
    SUPERVISORS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on, a descendant that loses its parent becomes our child.
///
/// # Errors
/// If the system refuses. On a system without this feature, nothing happens.
pub fn adopt() -> Result<()> {
    #[cfg(target_os = "linux")]
    if !portable::is_used() {
        unless_unknown(rustix::process::set_child_subreaper(Some(rustix::process::getpid())))
            .context("could not ask for orphans")?;
    }
    Ok(())
}

/// A container for another processor runs in an emulator that knows fewer calls than Linux
/// (measured with qemu-user 7.2). Without orphans, a command is supervised as on macOS.
#[cfg(target_os = "linux")]
fn unless_unknown(asked: rustix::io::Result<()>) -> rustix::io::Result<()> {
    use rustix::io::Errno;
    match asked {
        Err(Errno::INVAL | Errno::NOSYS) => Ok(()),
        other => other,
    }
}

/// A supervisor, listed as long as this value lives.
pub(super) struct Supervisor {
    pub(super) child: Child,
}

/// Starts a supervisor and lists it.
pub(super) fn start(command: &mut Command) -> Result<Supervisor> {
    let mut list = supervisors();
    let child = command.spawn().context("could not start a process")?;
    list.push(Pid::from_child(&child));
    Ok(Supervisor { child })
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        let ours = Pid::from_child(&self.child);
        supervisors().retain(|pid| *pid != ours);
    }
}

/// Kills every orphan of ours with all its descendants, and waits until they are gone. They get no
/// SIGTERM first: they killed their supervisor, or ran beside the process that did.
pub(super) fn end_all() {
    let list = supervisors();
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        let orphans = family::orphans(&list);
        if orphans.children.is_empty() {
            return;
        }
        for one in &orphans.living {
            one.signal(Signal::KILL);
        }
        for child in orphans.children {
            wait_for(child, until);
        }
    }
}

/// Waits for a killed child to end, and reaps it.
fn wait_for(child: Pid, until: Instant) {
    #[cfg(target_os = "linux")]
    {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        use rustix::process::{PidfdFlags, pidfd_open};
        let left = until.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).unwrap_or_default();
        if let Ok(end) = pidfd_open(child, PidfdFlags::empty()) {
            let _ = poll(&mut [PollFd::new(&end, PollFlags::IN)], Some(&left));
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = until;
    let _ = waitpid(Some(child), WaitOptions::NOHANG);
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use rustix::io::Errno;

    #[test]
    fn a_system_that_knows_no_orphans_is_no_failure_and_one_that_refuses_is() {
        assert_eq!(unless_unknown(Err(Errno::INVAL)), Ok(()));
        assert_eq!(unless_unknown(Err(Errno::NOSYS)), Ok(()));
        assert_eq!(unless_unknown(Err(Errno::PERM)), Err(Errno::PERM));
    }
}
