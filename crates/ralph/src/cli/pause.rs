//! `ralph pause`: pauses the loop; the running turn may finish.

use super::human_only;
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, bad_state, refused};
use crate::command::journal::note;
use crate::command::screen;
use crate::command::select_loop::{self, FoundLoop, LoopArgs, LoopFilter};
use crate::command::select_shared::{SharedArgs, one_loop};
use crate::command::shared_order;
use crate::runs::parallel;
use anyhow::{Context, Result};
use ralph_core::state::PauseCause;
use ralph_core::views::messages;
use ralph_io::git::shared::SharedPlace;

/// Which loop.
#[derive(Debug, clap::Args)]
#[command(group = one_loop())]
pub(crate) struct Args {
    #[command(flatten)]
    which: LoopArgs,
    #[command(flatten)]
    shared: SharedArgs,
}

pub(crate) fn run(args: &Args) -> Result<Exit> {
    ordered(args, shared_order::pause, pause)
}

/// Carries out a command on a loop that machines share, or on one of this machine.
pub(super) fn ordered(
    args: &Args,
    shared: fn(&SharedPlace) -> Result<Exit>,
    own: fn(&Here, &FoundLoop) -> Result<String>,
) -> Result<Exit> {
    let here = Here::gather()?;
    if let Some(place) = args.shared.place(&here)? {
        return shared(&place);
    }
    let found = select_loop::one(&here, &args.which, LoopFilter::Live)?;
    screen::say(&own(&here, &found)?)?;
    Ok(Exit::Done)
}

/// Pauses a loop and the loops of its workers; returns the report for the user.
pub(super) fn pause(here: &Here, found: &FoundLoop) -> Result<String> {
    let how = human_only::stopped_by(Some(&found.state));
    let paused = found.file.update(|state| {
        let was_running = state.is_running();
        state.pause(PauseCause::Person, &how, here.now);
        (state.clone(), was_running)
    });
    let (state, was_running) = paused.map_err(bad_state)?.context("the loop is gone")?;
    if !state.is_live() {
        return Err(refused(Exit::No, format!("loop {} is not live any more", state.loop_id)));
    }
    let text = format!("loop {} {}", state.loop_id, messages::paused(&state));
    let text = screen::visible_lines(&text);
    for (file, worker) in parallel::of_loop(here, &state.loop_id) {
        let rested = file.update(|state| {
            state.pause(PauseCause::Person, "with the loop above it", here.now);
        });
        rested.map_err(bad_state)?;
        note(here, &file, &worker, "pause", "paused", "the loop above it was paused");
    }
    if !was_running {
        return Ok(format!("{text}; it was paused already"));
    }
    note(here, &found.file, &state, "pause", "paused", &format!("paused {how}"));
    Ok(format!("{text}; the turn that is running may finish"))
}
