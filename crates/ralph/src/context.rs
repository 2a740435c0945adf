//! What a session is told about its project: the facts of `ralph_core::project::facts`, gathered on disk, all
//! together and within a time.

mod disk;
mod gather;
mod ignored;
pub(crate) mod yaml;

pub(crate) use gather::{GatherFailure, Gathered};

#[cfg(fuzzing)]
pub(crate) use disk::document;

use disk::Disk;
use ralph_core::project::project_facts::choice::ContextSettings;
use ralph_core::project::project_facts::{BUDGET, Project};
use std::path::Path;
use std::sync::Arc;

/// The facts about the project in this folder.
pub(crate) fn of(root: &Path, choice: &ContextSettings) -> Gathered {
    let project: Arc<dyn Project> = Arc::new(Disk::at(root));
    gather::gather(&project, &choice.kinds(), BUDGET)
}
