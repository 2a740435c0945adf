//! Runs of Claude Code without a user at the prompt: one client after another, or several at once.
//!
//! `engine` starts the clients, shows them and handles Ctrl-C. Each kind of run is an `Owner` in a
//! file of its own, which decides from files what starts next; only `refine` has none, and calls
//! `engine::round`.

pub(crate) mod build;
pub mod client;
pub(crate) mod engine;
pub(crate) mod left;
pub(crate) mod options;
pub(crate) mod orchestration;
pub(crate) mod parallel;
pub(crate) mod plan;
pub(crate) mod ralplan;
pub(crate) mod refine;
pub(crate) mod review;
pub(crate) mod reviewers;
pub(crate) mod screen;
pub(crate) mod shared;
pub(crate) mod worker;
