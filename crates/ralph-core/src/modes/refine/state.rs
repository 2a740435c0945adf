//! `.claude/refine-sessions.json`: all refinements of a project in one document.
//!
//! Other versions and other tools share the document. A refinement that is not changed is written
//! back as found, unknown members are kept, and a document that cannot be read is reported and
//! never overwritten.

mod document;
mod session;
mod version;

pub use document::{Damaged, RefineDocument};
pub use session::{OpenRound, Refinement, RoundEntry};
pub use version::{KeptVersion, What};

use crate::text::sanitize::acts;

/// The document, relative to the top of the project.
pub const DOCUMENT: &str = ".claude/refine-sessions.json";

/// The version of the document that this code writes.
pub const SCHEMA_VERSION: u64 = 1;

/// Maximum length of a refinement's name, in characters.
const LONGEST_NAME: usize = 100;

/// Why a refinement cannot have this name, and a name that it can have. `|`, `&` and spaces inside
/// a name are allowed.
pub fn refused_name(name: &str) -> Option<String> {
    let why = if name.trim().is_empty() {
        "is empty"
    } else if name.chars().any(acts) {
        "has invisible characters"
    } else if name.starts_with('-') {
        "begins like an option"
    } else if name.trim() != name {
        "begins or ends with a space"
    } else if name.chars().count() > LONGEST_NAME {
        "is too long"
    } else {
        return None;
    };
    Some(format!(
        "the session's name {why}; write up to {LONGEST_NAME} letters, such as `refine-api`"
    ))
}

#[cfg(test)]
mod tests;
