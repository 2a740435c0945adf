//! What `SECURITY.md` promises, one module for each kind of attack.
//!
//! Every attack is real: the pipe is there, the sequence is in the name, the program that must not
//! run leaves a file if it does. A test that cannot be made where it runs says so and passes.
//!
//! `cargo test` takes a part of the generated attacks; with `RALPH_PROOF` set, which `tests/prove` and `.ci/run` do, all
//! are made.
#![allow(clippy::disallowed_methods, clippy::unwrap_used)]

mod attack;
mod blocked;
mod everyday;
#[allow(unreachable_pub)]
#[path = "../support/executables.rs"]
mod executables;
mod filters;
mod git;
#[allow(unreachable_pub)]
#[path = "../support/journals.rs"]
mod journals;
mod meaning;
mod modes;
mod names;
#[allow(dead_code, unreachable_pub, reason = "the rig of the hooks' own tests")]
#[path = "../support/planning.rs"]
mod planning;
mod planted;
mod promises;
mod proof;
mod redaction;
mod secrets;
mod shell;
mod speaker;
mod supply;
mod terminal;
#[allow(unreachable_pub)]
#[path = "../support/timeless.rs"]
mod timeless;
mod tools;
mod tree;
mod trust;
mod unreadable;
mod wall;
#[allow(dead_code, reason = "the rig of the hooks' own tests")]
#[path = "../support/session.rs"]
mod world;

/// Keeps one case in so many, unless the proof is asked for.
fn sample<T>(cases: Vec<T>, one_of: usize) -> Vec<T> {
    cases.into_iter().step_by(if is_proof() { 1 } else { one_of }).collect()
}

fn is_proof() -> bool {
    std::env::var_os("RALPH_PROOF").is_some()
}
