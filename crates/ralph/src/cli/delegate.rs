//! `ralph delegate`: work that hooks hand to `ralph`, since it runs other programs.
//!
//! Not for people. The hook holds standard input open: when the hook ends, the work here ends too.
//! Exceptions: no hook waits for a notification, and the shell of a command in the client's sandbox
//! asks for the report about it.

mod checks;
mod criteria;
mod left_running;
mod notify;
mod task;

use crate::command::exit::Exit;
use anyhow::Result;

/// The kinds of work.
#[derive(clap::Subcommand)]
pub(super) enum DelegateCommand {
    /// Run the criteria that no receipt proves or disproves
    Criteria(criteria::Args),
    /// Run the commands of a task
    Task(task::Args),
    /// Check edited files
    Checks(checks::Args),
    /// Report what a command leaves running in the client's sandbox
    LeftRunning(left_running::Args),
    /// Call the user for an event of a loop
    Notify(notify::Args),
}

pub(super) fn run(command: &DelegateCommand) -> Result<Exit> {
    match command {
        DelegateCommand::Criteria(args) => criteria::run(args),
        DelegateCommand::Task(args) => task::run(args),
        DelegateCommand::Checks(args) => checks::run(args),
        DelegateCommand::LeftRunning(args) => left_running::run(args),
        DelegateCommand::Notify(args) => notify::run(args),
    }
}
