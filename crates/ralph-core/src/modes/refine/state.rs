//! `.claude/refine-sessions.json`: the sessions of a project, many in one document.
//!
//! The document is shared with other versions and other tools: a session that is not touched is
//! written back as it was found, members that nobody knows stay, and a document that cannot be read is
//! reported and never written over.

mod document;
mod session;

pub use document::{Damaged, RefineDocument};
pub use session::{OpenRound, RefineSession, RoundEntry};

use crate::text::sanitize::acts;

/// The document, from the top of the project.
pub const DOCUMENT: &str = ".claude/refine-sessions.json";

/// The version of the document that this code writes.
pub const SCHEMA_VERSION: u64 = 1;

/// Letters of a session's name.
const LONGEST_NAME: usize = 100;

/// Why no session can have this name, and which one it can have. A `|`, a `&` or a space is a letter
/// like any other.
pub fn refused_name(name: &str) -> Option<String> {
    let why = if name.trim().is_empty() {
        "is empty"
    } else if name.chars().any(acts) {
        "holds letters that nobody sees"
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
