//! Commits in the user's repository, with the project's git hooks.
//!
//! A hook may be a file of the work tree, which the model can write. So the whole `git commit` runs
//! within the bounds of the loop, below a supervisor that ends whatever a hook leaves.

use crate::process::command::{self, CommandOrder, CommandRun};
use anyhow::{Context, Result};
use ralph_core::project::check::choice::quoted;
use ralph_core::state::Bounds;
use std::path::Path;
use std::time::Duration;

/// What to commit.
#[derive(Debug, Clone, Copy)]
pub struct CommitOrder<'a> {
    /// The `ralph` executable, which supervises.
    pub ralph: &'a Path,
    /// The work tree, or a folder in it.
    pub folder: &'a Path,
    pub message: &'a str,
    /// The bounds of the loop; `None` if it is not sandboxed.
    pub bounds: Option<&'a Bounds>,
    /// For the commit with all its hooks.
    pub deadline: Duration,
}

/// Commits what is staged. `Exited(0)` is a commit; everything else is in the output's tail. Within
/// bounds the commit is not signed: the keys cannot be read there.
///
/// # Errors
/// If git cannot be started below a supervisor.
pub fn commit(order: &CommitOrder<'_>) -> Result<CommandRun> {
    let scratch = tempfile::tempdir().context("could not make a temporary folder")?;
    let unsigned = if order.bounds.is_some() { " --no-gpg-sign" } else { "" };
    command::run(&CommandOrder {
        ralph: order.ralph,
        command: &format!("git commit --quiet{unsigned} -m {}", quoted(order.message)),
        folder: order.folder,
        output: &scratch.path().join("output"),
        deadline: order.deadline,
        bounds: order.bounds,
    })
}
