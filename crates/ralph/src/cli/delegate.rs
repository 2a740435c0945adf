//! `ralph delegate`: the work that hooks leave to `ralph`, since it runs other programs.
//!
//! Not for people. Standard input is the life of the hook that asks: when that ends, nothing goes on here.

mod checks;
mod criteria;
mod facts;

use crate::command::exit::Exit;
use anyhow::Result;

/// The kinds of work.
#[derive(clap::Subcommand)]
pub(super) enum DelegateCommand {
    /// Run the criteria that no receipt proves or disproves
    Criteria(criteria::Args),
    /// Check edited files
    Checks(checks::Args),
    /// Print the facts about the project
    Facts(facts::Args),
}

pub(super) fn run(command: &DelegateCommand) -> Result<Exit> {
    match command {
        DelegateCommand::Criteria(args) => criteria::run(args),
        DelegateCommand::Checks(args) => checks::run(args),
        DelegateCommand::Facts(args) => facts::run(args),
    }
}
