//! The two YAML documents of a session: its metadata, and those of each iteration.
//!
//! Where a session is, which iteration it is in and how many tasks stand where. Members that nobody
//! here knows, comments and order stay: see [`super::yaml::set`].

mod iteration;
mod session;

pub use iteration::{IterationMetadata, planned};
pub use session::{Counts, SessionMetadata, refresh, set_state};

use super::yaml::{YamlError, set};

/// Members to be set, one after the other.
pub(super) type Changes<'a> = Vec<(&'a [&'a str], String)>;

/// The text with all of them set, or with none.
pub(super) fn set_all(text: &str, changes: &Changes<'_>) -> Result<String, YamlError> {
    changes.iter().try_fold(text.to_owned(), |text, (path, value)| set(&text, path, value))
}

#[cfg(test)]
mod tests;
