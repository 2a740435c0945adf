//! The command line.

mod check;
pub mod cli;
pub mod demo;
#[cfg(fuzzing)]
pub mod fuzzing;
pub mod standin;
mod verify;
