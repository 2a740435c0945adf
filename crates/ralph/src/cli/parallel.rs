//! `ralph parallel …`: works on tasks side by side, each in a worktree of its own.

mod clean;
mod merge;
mod next;
mod plan;
mod run;

use super::Reach;
use crate::command::context_dir::Here;
use crate::command::exit::Exit;
use anyhow::Result;

/// What to do about tasks that could be worked on side by side.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum ParallelCommand {
    /// Show the open tasks in waves of tasks that can run side by side
    #[command(name = "waves", alias = "plan")]
    Plan(plan::Args),
    /// Print the next step of the session that starts the workers
    #[command(hide = true)]
    Next(next::Args),
    /// Carry out the planned tasks with several clients at once
    Run(run::Args),
    /// Merge the finished tasks and run the criteria after each merge
    Merge(merge::Args),
    /// Remove the worktrees and branches of merged tasks
    Clean(clean::Args),
}

impl ParallelCommand {
    pub(super) fn reach(&self) -> Reach {
        use ParallelCommand::*;
        match self {
            Plan(_) => Reach::Reads,
            Next(_) | Merge(_) | Clean(_) => Reach::OneLoop,
            Run(_) => Reach::User,
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
