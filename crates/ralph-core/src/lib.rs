//! The rules of Ralph: what may run, what may end, and why.
//!
//! Nothing in this crate opens a file, reads the clock or the environment, or starts a process;
//! what a rule needs arrives as an argument. `clippy.toml` beside this crate keeps it so.

pub mod contract;
pub mod ending_marks;
pub mod event;
pub mod progress;
pub mod reply;
pub mod say;
pub mod squeeze;
pub mod settings;
pub mod start;
pub mod state;
pub mod stop;
pub mod token;
