//! The command line of Ralph, as a library for its executable, benches and tests.
//!
//! | module | holds |
//! |---|---|
//! | [`cli`] | one file for each command; nothing imports it |
//! | `command` | what commands share: exit codes, output, the chosen loop |
//! | `setup` | install, uninstall, doctor |
//! | [`runs`] | clients, one or several at once: an engine, and an owner for each kind of run |
//! | `orchestration`, `parallel`, `refine` | effects of these modes |
//! | `verify`, `check` | run criteria and checks |
//! | `demo` | plays a loop |

// Both panic if the reader of a pipe is gone; `command::screen` and `setup::tell` print instead.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod check;
pub mod cli;
mod command;
mod demo;
#[cfg(fuzzing)]
pub mod fuzzing;
mod orchestration;
mod parallel;
mod refine;
pub mod runs;
mod setup;
mod verify;
