//! `ralph ralplan next`: the next step of a planning, for the session that carries it out.

use super::PlanViewArgs;
use crate::command::context_dir::Here;
use crate::command::exit::Exit;
use crate::command::screen::{self, visible_lines};
use anyhow::Result;
use ralph_core::modes::ralplan;
use serde_json::json;

pub(super) fn run(here: &Here, args: &PlanViewArgs) -> Result<Exit> {
    let state = super::live(here, &args.which)?.state;
    let prefix = ralplan::prefix(&state);
    let plan = state.ralplan().cloned().unwrap_or_default();
    let next = ralplan::next(&plan, prefix);
    match args.json {
        true => {
            screen::print_json(&json!({"schema_version": 1, "phase": plan.phase, "next": next}))?
        }
        false => screen::print(&visible_lines(&next.to_string()))?,
    }
    Ok(Exit::Done)
}
