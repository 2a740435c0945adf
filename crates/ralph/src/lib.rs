//! The command line.

mod check;
pub mod cli;
mod context;
pub mod demo;
pub mod driver;
#[cfg(fuzzing)]
pub mod fuzzing;
mod parallel;
mod refine;
pub mod standin;
mod verify;
