//! Everything Ralph does to the outside world: files, locks, git, processes, clock, environment.
//!
//! No rule lives here. A function of this crate gathers what a rule needs, or carries out what a
//! rule decided; which of the two its name says.

pub mod ancestry;
pub mod archive;
pub mod atomic;
pub mod attention;
pub mod beads;
pub mod chance;
pub mod checkpoint;
pub mod checks;
pub mod client;
pub mod client_settings;
pub mod clock;
pub mod command;
pub mod crew;
pub mod digest;
pub mod environment;
#[cfg(fuzzing)]
pub mod fuzzing;
mod git;
pub mod given;
pub mod headless;
pub mod home;
pub mod idle;
pub mod interrupts;
pub mod journal;
pub mod lifecycle;
pub mod lock;
pub mod mailbox;
pub mod manifest;
pub mod meaning;
pub mod merge;
pub mod notify;
pub mod outside;
pub mod owned;
pub mod page;
pub mod person;
pub mod places;
mod plain_file;
pub mod planning;
pub mod probe;
pub mod process;
pub mod programs;
pub mod project;
pub mod project_files;
pub mod receipts;
pub mod refine;
pub mod repository;
mod scratch;
#[cfg(feature = "session-files")]
pub mod sessions;
pub mod settings;
pub mod status_line;
pub mod stdin;
pub mod store;
pub mod test_files;
pub mod tmux;
pub mod transcript;
pub mod tree;
pub mod tree_id;
pub mod watch;
pub mod within;
pub mod worker_base;
pub mod worker_tree;
pub mod worktrees;

#[cfg(test)]
mod sandbox;
