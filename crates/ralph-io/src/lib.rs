//! Everything Ralph does to the outside world: files, locks, git, processes, clock, environment.
//!
//! No rule lives here. A function of this crate gathers what a rule needs, or carries out what a
//! rule decided; its name says which.
//!
//! | folder | holds |
//! |---|---|
//! | [`store`] | Ralph's own files: home, manifest, state files, locks, journals, archive |
//! | [`project`] | the project's files, read within its bounds; its settings |
//! | [`git`] | git: the tree id, checkpoints, worktrees, merges |
//! | [`process`] | child processes, the supervisor, headless clients, signals, the clock |
//! | [`client`] | Claude Code's environment, settings, transcripts and payloads |
//! | [`terminal`] | the full-screen page, notifications, tmux |

pub mod client;
pub mod git;
pub mod process;
pub mod project;
pub mod store;
pub mod terminal;
