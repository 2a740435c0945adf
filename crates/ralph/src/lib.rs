//! The command line.

pub mod cli;
pub mod demo;
#[cfg(fuzzing)]
pub mod fuzzing;
pub mod standin;
mod verify;
