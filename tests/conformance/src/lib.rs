//! Known failures of Ralph loops as black-box cases, for Ralph's own hooks and for anyone else's.
//!
//! A case says what is given, which events happen and what the client must be told. How a loop is
//! started, cancelled and stored is said by the description of an implementation. Nothing here
//! knows a line of the code that it tests.

mod case;
mod check;
mod expected;
mod hook;
mod implementation;
mod judge;
mod load;
mod payload;
mod play;
mod report;
mod step;
mod suite;
mod text;
mod typed;
mod work;
mod world;

pub use case::Case;
pub use expected::{listed, outcomes_of};
pub use implementation::Implementation;
pub use load::cases;
pub use report::{failures, proof, table};
pub use suite::{Form, Outcome, chosen, run};

use std::path::PathBuf;

/// The root of the repository that this suite is part of.
pub fn repository() -> PathBuf {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    root.canonicalize().unwrap_or(root)
}
