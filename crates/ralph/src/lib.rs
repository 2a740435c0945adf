//! The command line.

mod check;
pub mod cli;
mod context;
pub mod demo;
#[cfg(fuzzing)]
pub mod fuzzing;
pub mod standin;
mod verify;
