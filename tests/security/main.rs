//! What `SECURITY.md` promises, one module for each kind of attack.
//!
//! Every attack is real: the pipe is there, the sequence is in the name, the program that must not
//! run leaves a file if it does. A test that cannot be made where it runs says so and passes.
//!
//! `cargo test` takes a part of the generated attacks; with `RALPH_PROOF` set, which `tests/prove` does, all are made.
#![allow(clippy::disallowed_methods, clippy::unwrap_used)]

mod attack;
mod blocked;
mod bounds;
mod counts;
mod filters;
mod git;
mod inside;
mod modes;
mod names;
mod planted;
mod promises;
mod proof;
mod redaction;
mod secrets;
mod shell;
mod speaker;
mod supply;
mod terminal;
mod tools;
mod tree;
mod trust;
mod unreadable;
mod wall;

use ralph_test_support::sample::{is_proof, sample};
use ralph_test_support::{planning, session as world};
