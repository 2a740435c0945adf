//! The command line through the real executable: all of its output, and its exit code.
#![recursion_limit = "256"] // The document of `ralph status --json` is one `json!`.
#![allow(clippy::disallowed_methods, clippy::unwrap_used)]

mod adopt;
mod beads;
mod build;
mod checkpoint;
mod command;
mod demo;
mod driver;
mod elsewhere;
mod frozen_bounds;
mod goal_rounds;
mod graphs;
mod ideate;
mod killed;
mod left_running;
mod log;
mod loops;
mod merging;
mod migration;
mod mistakes;
mod notify;
mod parallel;
mod parallel_run;
mod plan;
mod plans;
mod progress;
mod ralplan_run;
mod reach;
mod refine;
mod refine_commit;
mod refine_inside;
mod refine_prompts;
mod refine_tmux;
mod release;
mod replay;
mod report;
mod reviewing;
mod run;
mod screens;
mod session;
mod session_run;
mod share;
mod shared;
mod signal;
mod starting;
mod status;
mod statusline;
mod sync;
mod tasks;
mod watch;
mod which;
mod who_may;
mod world;

use ralph_test_support::{executables, timeless};
