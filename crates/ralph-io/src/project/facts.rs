//! Gathers the facts about a project that a session starts with: those of
//! `ralph_core::project::project_facts`, read from disk within a time limit.

mod disk;
mod gather;
mod ignored;

pub use gather::Gathered;

#[cfg(fuzzing)]
pub(crate) use disk::document;

use disk::Disk;
use ralph_core::project::project_facts::BUDGET;
use ralph_core::project::project_facts::choice::ContextSettings;
use std::path::Path;
use std::time::Instant;

/// The facts about the project in this folder.
pub fn of(root: &Path, choice: &ContextSettings) -> Gathered {
    let deadline = Instant::now() + BUDGET;
    let (disk, kinds) = (Disk::at(root, deadline), choice.kinds());
    if kinds.iter().any(|kind| kind.wants_status) {
        disk.begin_status();
    }
    gather::gather(&disk, &kinds, deadline)
}
