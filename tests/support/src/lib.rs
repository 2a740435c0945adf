//! What the tests share: worlds to run in, freshly built executables, the real client in a terminal,
//! and a fake Messages API for it.
//!
//! Nothing here reads the developer's machine: every process gets an empty environment and a
//! private home.

// Tests start the programs they test, and fail where they stand.
#![allow(clippy::disallowed_methods, clippy::unwrap_used)]
// To make a world starts processes, so there is no default one.
#![allow(clippy::new_without_default)]

pub mod checks;
mod client;
mod commands;
pub mod executables;
pub mod fake_api;
pub mod git_server;
pub mod journals;
pub mod machine;
pub mod orchestrated;
pub mod planning;
mod portable;
mod probe;
pub mod round;
mod run;
pub mod sample;
pub mod session;
mod terminal;
pub mod timeless;
mod world;

pub use client::{CLIENT_VARIABLE, Client, ClientRun};
pub use commands::commands;
pub use executables::{BIN_DIR_VARIABLE, copy_executable, executables, place_executable};
pub use portable::portable;
pub use probe::Probe;
pub use run::Run;
pub use terminal::{Terminal, is_running, wait_until};
pub use world::World;

use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

/// Free bytes from which on a folder in memory takes what the tests write.
const ROOM_IN_MEMORY: u64 = 4 << 30;

/// The folder for the tests' own: in memory where there is room, since a suite of tests waits for a disk a fifth of its
/// time; with `TMPDIR` it is that one.
pub fn scratch_folder() -> PathBuf {
    let memory = Path::new("/dev/shm");
    let free = rustix::fs::statvfs(memory).map_or(0, |disk| disk.f_bavail * disk.f_frsize);
    match std::env::var_os("TMPDIR") {
        None if free >= ROOM_IN_MEMORY => memory.to_owned(),
        _ => std::env::temp_dir(),
    }
}

/// A private folder in the [`scratch_folder`] that goes with the value.
pub fn private_folder(prefix: &str) -> TempDir {
    let parent = scratch_folder();
    let folder = tempfile::Builder::new().prefix(prefix).tempdir_in(&parent);
    folder.unwrap_or_else(|error| panic!("no folder in {}: {error}", parent.display()))
}

/// Long enough for a loaded machine; only a failing test uses it up.
pub const PATIENCE: Duration = Duration::from_secs(60);
