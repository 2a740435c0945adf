//! `ralph blocked`: the model reports what a person must do before the work can continue.
//!
//! The loop pauses at the next stop if no task is ready. Besides proof this is the model's only
//! honest way out, and it costs neither an iteration nor a stall.

use crate::command::context_dir::{Here, note};
use crate::command::exit::{Exit, bad_state, refused, usage};
use crate::command::screen;
use crate::command::select_loop::{self, LoopArgs, LoopFilter};
use anyhow::{Result, bail};
use ralph_core::state::Blocked;
use ralph_core::stop::blocked;
use ralph_core::tasks::graph::Graph;
use ralph_core::text::truncate::bounded;

/// Longer reasons are cut, since they are shown on one line.
const LONGEST: usize = 1_000;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What the user must do, in words for the user
    what: String,
    #[command(flatten)]
    which: LoopArgs,
}

/// Records what a person must do; is refused while a task is ready.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let here = Here::gather()?;
    let what = args.what.split_whitespace().collect::<Vec<_>>().join(" ");
    if what.is_empty() {
        return Err(usage("the action is missing; type `ralph blocked 'create the account at …'`"));
    }
    let found = select_loop::one(&here, &args.which, LoopFilter::Live)?;
    if !found.state.is_running() {
        bail!("loop {} rests already", screen::visible(&found.state.loop_id));
    }
    let graph = Graph::new(&found.state.task_graph, here.now);
    if let Some(task) = graph.ready().next() {
        bail!(
            "task {} can be done meanwhile, so the loop is not blocked: do it first, or give it \
             up with `ralph task fail {} --note TEXT`",
            screen::visible(&task.id),
            screen::visible(&task.id)
        );
    }
    if let Some(why) = blocked::refusal(&found.state, &what) {
        return Err(refused(Exit::No, why));
    }
    let said = Blocked { what: bounded(&what, LONGEST), at: here.now };
    let updated = found.file.update(|state| {
        state.blocked = Some(said);
        state.clone()
    });
    if let Some(state) = updated.map_err(bad_state)? {
        note(&here, &found.file, &state, "blocked", "blocked", &what);
    }
    screen::say("Noted. Stop now: the loop pauses until the user has done it.")
}
