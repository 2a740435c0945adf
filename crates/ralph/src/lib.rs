//! The command line.

pub mod cli;
pub mod standin;
