//! The rules of Ralph: what may run, what may end, and why.
//!
//! Nothing in this crate opens a file, reads the clock or the environment, or starts a process;
//! what a rule needs arrives as an argument. `clippy.toml` beside this crate keeps it so.

pub mod arguments;
pub mod at_work;
pub mod beads;
pub mod build;
pub mod check;
pub mod contract;
pub mod edited;
pub mod ending_marks;
pub mod environment;
pub mod event;
pub mod facts;
pub mod from_json;
pub mod frozen;
pub mod globs;
pub mod graph;
pub mod guard;
pub mod parallel;
pub mod permission;
pub mod plain;
pub mod plan;
pub mod programs;
pub mod progress;
pub mod project;
pub mod ralplan;
pub mod receipt;
pub mod redact;
pub mod refine;
pub mod refusal;
pub mod registration;
pub mod replay;
pub mod reply;
#[cfg(feature = "session-files")]
pub mod report;
pub mod rounds;
pub mod row;
pub mod say;
pub mod secrets;
pub mod session;
pub mod settings;
pub mod shell;
pub mod signals;
pub mod squeeze;
pub mod start;
pub mod state;
pub mod statusline;
pub mod stop;
pub mod stream;
pub mod tests_run;
pub mod token;
pub mod usage;
pub mod vacuous;
pub mod waiting;
pub mod who_may;
