//! The command line of Ralph, as a library for its executable, benches and tests.

mod check;
pub mod cli;
mod command;
mod context;
pub mod demo;
#[cfg(fuzzing)]
pub mod fuzzing;
mod orchestration;
mod parallel;
mod refine;
pub mod runs;
mod setup;
mod verify;
