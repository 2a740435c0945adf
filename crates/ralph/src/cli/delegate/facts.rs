//! `ralph delegate facts`: prints the facts about the project for a new session.

use crate::command::context_dir::Here;
use crate::command::exit::Exit;
use crate::command::screen;
use anyhow::Result;
use ralph_core::project::project_facts::page;
use ralph_io::{client::given, project::facts, project::settings};

/// How much the session can take.
#[derive(clap::Args)]
pub(in crate::cli) struct Args {
    /// The UTF-16 units that the hook's answer has room for
    #[arg(long)]
    room: usize,
}

/// Prints nothing if the settings switch facts off.
pub(super) fn run(args: &Args) -> Result<Exit> {
    given::end_with_input();
    let here = Here::gather()?;
    let choice = settings::read(&here.home, &here.root).0.facts();
    if !choice.is_enabled() {
        return Ok(Exit::Done);
    }
    let gathered = facts::of(&here.root, &choice);
    if let Some(page) = page::page(&gathered.facts, choice.size().min(args.room)) {
        screen::print(&page)?;
    }
    Ok(Exit::Done)
}
