//! Runs a command within the bounds of its loop: bubblewrap on Linux, `sandbox-exec` on macOS.
//!
//! On Linux, `ralph supervise --inside` is the first process inside. It opens the listeners for the
//! proxy and the ports in the network of the sandbox and hands them out through its standard input,
//! a socket; Ralph accepts outside what was connected to inside. So nothing has to be bridged, and
//! the command can reach nothing but these listeners.

mod inside;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
mod proxy;
mod serve;

pub(crate) use inside::FIRST_PROCESS;
pub use inside::run as run_inside;
#[cfg(target_os = "linux")]
use linux as platform;
#[cfg(target_os = "macos")]
use macos as platform;
pub(crate) use serve::InsideReport;
use serve::Served;

use crate::process::programs;
use anyhow::Result;
use ralph_core::state::Bounds;
use rustix::fs::{FlockOperation, flock};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A command that is about to run within bounds, and what has to be done after it.
#[derive(Debug)]
pub(crate) struct Bounded {
    /// The command line that starts everything.
    pub(crate) command: Command,
    /// Removed with everything that the command left in it.
    _temporary: tempfile::TempDir,
    /// The project's folder, locked together with the other commands in it.
    shared: std::fs::File,
    /// Folders that did not exist and stand there empty for the mounts.
    made: Vec<PathBuf>,
    /// Files that do not exist and that the command must not make.
    watched: Vec<PathBuf>,
    served: Option<Served>,
}

/// What the bounds did, besides what the command printed.
#[derive(Debug, Default)]
pub(crate) struct BoundsOutcome {
    /// What the command tried and did not get, each with its remedy.
    pub(crate) refused: Vec<String>,
    pub(crate) inside: Option<InsideReport>,
}

impl Bounded {
    /// Wraps a program. With the order for an overlay, the bounds are set up within it.
    ///
    /// # Errors
    /// If the bounds cannot be set up; the program must not run then.
    pub(crate) fn wrap(
        bounds: &Bounds,
        folder: &Path,
        elsewhere: Option<&Path>,
        program: &Path,
        arguments: &[&std::ffi::OsStr],
    ) -> Result<Bounded> {
        platform::wrap(bounds, folder, elsewhere, program, arguments)
    }

    /// Takes back what was made for the command and must not stay.
    pub(crate) fn finish(self) -> BoundsOutcome {
        let mut outcome = self.served.map(Served::finish).unwrap_or_default();
        for path in self.watched.iter().filter(|path| path.symlink_metadata().is_ok()) {
            let removed = std::fs::remove_file(path).or_else(|_| std::fs::remove_dir_all(path));
            let what = if removed.is_ok() { "removed" } else { "could not be removed" };
            outcome.refused.push(format!("it made `{}`, which was {what}", path.display()));
        }
        // Removing a folder would take the mount on it from another command that is running.
        if flock(&self.shared, FlockOperation::NonBlockingLockExclusive).is_err() {
            return outcome;
        }
        for folder in self.made.iter().rev() {
            // Only empty ones go: what anybody put there is not ours.
            let _ = std::fs::remove_dir(folder);
        }
        outcome
    }
}

/// Why the commands of a sandboxed loop cannot run here, with what to type; `None` if they can.
pub fn cannot_bound() -> Option<String> {
    let tool = platform::TOOL;
    let missing = programs::find_on_path(tool).is_none();
    missing.then(|| {
        format!(
            "could not find `{tool}`, within which the commands of this loop run; {}",
            platform::REMEDY
        )
    })
}
