//! The two YAML documents of an orchestration: its own metadata, and those of each iteration.
//!
//! They hold the state, the iteration and the task counts. Unknown members, comments and order are
//! kept: see [`super::yaml::set`].

mod iteration;
mod orchestration;

pub use iteration::{IterationMetadata, planned};
pub use orchestration::{Counts, OrchestrationMetadata, refresh, set_state};

use super::yaml::{YamlError, set};

/// Members to set, in order.
pub(super) type Changes<'a> = Vec<(&'a [&'a str], String)>;

/// Sets all members, or none of them.
pub(super) fn set_all(text: &str, changes: &Changes<'_>) -> Result<String, YamlError> {
    changes.iter().try_fold(text.to_owned(), |text, (path, value)| set(&text, path, value))
}

#[cfg(test)]
mod tests;
