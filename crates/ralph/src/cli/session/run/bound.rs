//! The loop that stands for an orchestration while it is driven. It holds the limits, the criteria
//! and the usage, and `ralph status`, `cancel` and `pause` find it.

use super::Args;
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, bad_state, refused};
use crate::command::journal::note;
use crate::command::select_loop::FoundLoop;
use anyhow::Result;
use ralph_core::modes::arguments::{self, LoopRequest, Options};
use ralph_core::modes::orchestration::id::OrchestrationId;
use ralph_core::state::{LoopState, Mode};
use ralph_hooks::begin::{self, StartOutcome};
use ralph_io::{client, project::environment};

/// Default number of agents that may be called.
const CALLS: u32 = 200;

/// Begins the loop, or continues the existing one.
pub(super) fn begin(here: &Here, id: &OrchestrationId, args: &Args) -> Result<FoundLoop> {
    let request = LoopRequest {
        task: Some(id.to_string()),
        options: options(args),
        ..LoopRequest::default()
    };
    let asked = here.asks(Mode::Orchestration, &request, "");
    let begun = begin::begin(&asked).map_err(bad_state)?;
    let (state, how) = match begun {
        StartOutcome::Started(state, _) => (state, "started"),
        StartOutcome::Continues(state) => (state, "continued"),
        StartOutcome::Refused(why) => return Err(refused(Exit::No, why)),
        StartOutcome::Answered | StartOutcome::Planned(..) => {
            anyhow::bail!("could not begin: another process has just done so")
        }
    };
    let found = FoundLoop::of(here, &state.loop_id)?;
    let us = client::this_process();
    let mine = |state: &mut LoopState| {
        environment::take(state);
        args.client.bind(here, state);
        state.client = Some(us.clone());
    };
    found.file.update(mine).map_err(bad_state)?;
    let why = "a person started it in a terminal";
    note(here, &found.file, &found.state, "session run", how, why);
    Ok(found)
}

fn options(args: &Args) -> Options {
    let mut criteria = args.criteria.clone();
    arguments::number_criteria(&mut criteria);
    Options {
        max_iterations: Some(args.max_iterations.unwrap_or(CALLS)),
        max_minutes: args.max_minutes,
        max_tokens: args.max_tokens,
        criteria,
        ..Options::default()
    }
}
