//! `ralph ralplan next`: the one next step of a planning, for the session that carries it out.

use super::super::exit::Exit;
use super::super::here::Here;
use super::super::screen::{self, visible_lines};
use super::super::which::Which;
use anyhow::Result;
use ralph_core::ralplan;
use serde_json::json;

/// How it is shown.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    which: Which,
}

pub(super) fn run(here: &Here, args: &Args) -> Result<Exit> {
    let state = super::live(here, &args.which)?.state;
    let prefix = ralplan::prefix(&state);
    let plan = state.ralplan.unwrap_or_default();
    let next = ralplan::next(&plan, prefix);
    match args.json {
        true => {
            screen::print_json(&json!({"schema_version": 1, "phase": plan.phase, "next": next}))?
        }
        false => screen::print(&visible_lines(&next.to_string()))?,
    }
    Ok(Exit::Done)
}
