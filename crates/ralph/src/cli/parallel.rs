//! `ralph parallel …`: works on tasks side by side, each in a worktree of its own.

mod clean;
mod merge;
mod next;
mod plan;
mod run;

use crate::command::context_dir::Here;
use crate::command::exit::Exit;
use anyhow::Result;

/// What to do about tasks that could be worked on side by side.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum ParallelCommand {
    /// Show the waves in which the open tasks could be carried out
    Plan(plan::Args),
    /// Say what the session that starts the workers does now
    Next(next::Args),
    /// Work off the planned tasks without a person, several clients at once
    Run(run::Args),
    /// Merge what the workers have done, and run the criteria after each merge
    Merge(merge::Args),
    /// Remove the worktrees and branches whose work is merged
    Clean(clean::Args),
}

impl ParallelCommand {
    /// The command as it is typed, without its arguments.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            ParallelCommand::Plan(_) => "parallel plan",
            ParallelCommand::Next(_) => "parallel next",
            ParallelCommand::Run(_) => "parallel run",
            ParallelCommand::Merge(_) => "parallel merge",
            ParallelCommand::Clean(_) => "parallel clean",
        }
    }
}

pub(crate) fn run(command: &ParallelCommand) -> Result<Exit> {
    match command {
        ParallelCommand::Plan(args) => plan::run(&Here::gather()?, args),
        ParallelCommand::Next(args) => next::run(&Here::gather()?, args),
        ParallelCommand::Run(args) => run::run(args),
        ParallelCommand::Merge(args) => merge::run(args),
        ParallelCommand::Clean(args) => clean::run(args),
    }
}
