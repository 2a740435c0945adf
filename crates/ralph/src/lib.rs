//! The command line.

pub mod cli;
pub mod demo;
pub mod standin;
mod verify;
