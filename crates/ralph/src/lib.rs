//! The command line.

mod check;
pub mod cli;
pub mod demo;
pub mod driver;
#[cfg(fuzzing)]
pub mod fuzzing;
pub mod standin;
mod verify;
