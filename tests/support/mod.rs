//! Shared by the test binaries: a world to run in, freshly built executables, the
//! client and its terminal.
//!
//! Nothing here reads the developer's machine: every process gets an empty environment
//! and a private home.

// Each test binary includes the whole module and uses a part of it.
#![allow(dead_code, unreachable_pub, unused_imports)]

mod client;
mod executables;
mod journals;
mod probe;
mod run;
mod terminal;
mod world;

pub use client::{CLIENT_VARIABLE, Client, ClientRun};
pub use executables::{BIN_DIR_VARIABLE, executables};
pub use probe::Probe;
pub use run::Run;
pub use terminal::{Terminal, wait_until};
pub use world::World;

use std::time::Duration;

/// Long enough for a loaded machine; only a failing test uses it up.
pub const PATIENCE: Duration = Duration::from_secs(60);
