//! `ralph parallel …`: tasks carried out side by side, each in a worktree of its own.

mod next;
mod plan;

use super::exit::Exit;
use super::here::Here;
use anyhow::Result;

/// What to do about tasks that could be worked on side by side.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Show the waves in which the open tasks could be carried out
    Plan(plan::Args),
    /// Say what the session that starts the workers does now
    Next(next::Args),
}

/// Does it.
pub(crate) fn run(command: &Command) -> Result<Exit> {
    let here = Here::gather()?;
    match command {
        Command::Plan(args) => plan::run(&here, args),
        Command::Next(args) => next::run(&here, args),
    }
}
