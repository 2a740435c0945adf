//! Everything Ralph does to the outside world: files, locks, git, processes, clock, environment.
//!
//! No rule lives here. A function of this crate gathers what a rule needs, or carries out what a
//! rule decided; which of the two its name says.

pub mod client;
pub mod git;
pub mod process;
pub mod project;
pub mod store;
pub mod terminal;
