//! `ralph accept`, also `ralph criteria accept`: the user accepts the criteria as they are now.
//!
//! The criteria are frozen at the start. Accepting freezes them anew: the criteria and their commands, a smaller number
//! of tests, and what a request for completion was refused for, such as changed tests or a repository that a round left.

use super::diff;
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, bad_state};
use crate::command::journal::note;
use crate::command::screen::{self, visible};
use crate::command::select_loop::{self, LoopArgs, LoopFilter};
use crate::runs::left;
use anyhow::{Context, Result};
use ralph_core::evidence::pinned;
use ralph_core::evidence::receipt::{self, ReceiptStatus};

/// What can be done with criteria.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum CriteriaCommand {
    /// Accept the criteria as they are now, even with fewer tests
    Accept(Args),
}

/// Whose criteria.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    which: LoopArgs,
}

pub(crate) fn run(command: &CriteriaCommand) -> Result<Exit> {
    let CriteriaCommand::Accept(args) = command;
    accept(args)
}

pub(crate) fn accept(args: &Args) -> Result<Exit> {
    let here = Here::gather()?;
    let found = select_loop::one(&here, &args.which, LoopFilter::Live)?;
    let has_changed_tests = found
        .state
        .acceptance_criteria
        .iter()
        .any(|one| receipt::standing(one, None) == ReceiptStatus::TestsChanged);
    let taken = found.file.update(|state| {
        let taken = pinned::accept(state, here.now);
        (taken, state.clone())
    });
    let (mut taken, state) = taken.map_err(bad_state)?.context("the loop is gone")?;
    taken.extend(left::accept(found.file.folder())?);
    let mut lines: Vec<String> = state
        .acceptance_criteria
        .iter()
        .map(|one| format!("{}: {}", visible(&one.id), visible(&one.decided_by())))
        .collect();
    let why = match taken.as_slice() {
        [] => "nothing had changed since they were agreed to".to_owned(),
        taken => format!("taken: {}", taken.join("; ")),
    };
    note(&here, &found.file, &state, "criteria accept", "accepted", &why);
    lines.push(visible(&why));
    screen::print(&lines.join("\n"))?;
    if has_changed_tests {
        diff::show(&found, true)?;
    }
    Ok(Exit::Done)
}
