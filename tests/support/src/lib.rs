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

use std::time::Duration;

/// Long enough for a loaded machine; only a failing test uses it up.
pub const PATIENCE: Duration = Duration::from_secs(60);
