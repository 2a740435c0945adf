//! What `SECURITY.md` promises, one module for each kind of attack.
//!
//! Every attack is real: the pipe is there, the sequence is in the name, the program that must not
//! run leaves a file if it does. A test that cannot be made where it runs says so and passes.
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
