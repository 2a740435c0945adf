//! The command line.

pub mod standin;
