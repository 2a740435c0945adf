//! The rules of Ralph: what may run, what may end, and why.
//!
//! Nothing in this crate opens a file, reads the clock or the environment, or starts a process;
//! what a rule needs arrives as an argument. `clippy.toml` beside this crate keeps it so.

pub mod evidence;
pub mod guard;
pub mod modes;
pub mod project;
pub mod protocol;
pub mod shell;
pub mod state;
pub mod stop;
pub mod tasks;
pub mod text;
pub mod transcript;
pub mod views;
