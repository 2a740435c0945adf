//! `ralph pause` and `ralph resume`: a loop rests once the running turn has finished, and continues.

use crate::cli::who_may;
use crate::command::context_dir::{Here, note};
use crate::command::exit::{Exit, bad_state};
use crate::command::screen;
use crate::command::select_loop::FoundLoop;
use crate::command::select_shared::{self, SharedArgs, one_loop};
use crate::command::select_target::TargetArgs;
use crate::runs::parallel;
use anyhow::{Context, Result, bail};
use ralph_core::modes::mode;
use ralph_core::modes::orchestration::id::OrchestrationId;
use ralph_core::modes::orchestration::{in_session, signal};
use ralph_core::state::{LoopState, PauseCause};
use ralph_core::views::messages;
use ralph_io::client;
use ralph_io::git::shared::SharedPlace;
use ralph_io::store::orchestration::OrchestrationStore;
use std::path::Path;

#[derive(Debug, clap::Args)]
#[command(group = one_loop())]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    shared: SharedArgs,
}

pub(crate) fn run(args: &Args) -> Result<Exit> {
    ordered(args, select_shared::order_pause, pause)
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
    screen::say(&own(&here, &args.target.live_loop(&here)?)?)
}

/// Pauses a loop and the loops of its workers; returns the report for the user.
pub(super) fn pause(here: &Here, found: &FoundLoop) -> Result<String> {
    let how = who_may::stopped_by(Some(&found.state));
    let paused = found.file.update(|state| {
        let was_running = state.is_running();
        state.pause(PauseCause::Person, &how, here.now);
        (state.clone(), was_running)
    });
    let (state, was_running) = paused.map_err(bad_state)?.context("the loop is gone")?;
    if !state.is_live() {
        bail!("loop {} is not live any more", state.loop_id);
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

// `ralph resume`: a paused loop continues at its session's next prompt or stop.
//
// A PAUSE in its mailbox may also hold an orchestration, while a program drives it.
// Resuming lifts that too.

pub(crate) fn run_resume(args: &Args) -> Result<Exit> {
    ordered(args, select_shared::order_resume, resume)
}

/// Continues a loop; returns the report for the user.
pub(super) fn resume(here: &Here, found: &FoundLoop) -> Result<String> {
    let resumed = found.file.update(|state| {
        let was_running = state.is_running();
        match was_running {
            true => state.resume(here.now),
            false => mode::rules(&state.mode).resume(state, here.now),
        }
        if !was_running {
            // Nothing is outstanding until the session has a turn that belongs to the loop.
            state.turn = None;
        }
        (state.clone(), was_running)
    });
    let (state, was_running) = resumed.map_err(bad_state)?.context("the loop is gone")?;
    let was_held = lift_pause(here, &state)?;
    if was_running && was_held {
        note(here, &found.file, &state, "resume", "resumed", "the user ended a PAUSE");
        return Ok(format!(
            "loop {} continues at {}: PAUSE no longer holds its session",
            state.loop_id,
            state.position()
        ));
    }
    if was_running || !state.is_running() {
        let phase = screen::visible(state.phase.as_str());
        bail!("loop {} is not paused; it is in {phase} at {}", state.loop_id, state.position());
    }
    note(here, &found.file, &state, "resume", "resumed", "the user resumed on the command line");
    Ok(format!(
        "loop {} resumed at {}; {}",
        state.loop_id,
        state.position(),
        screen::visible(&what_to_do(&state))
    ))
}

/// Marks each PAUSE in the orchestration's mailbox as heard; true if there was one.
fn lift_pause(here: &Here, state: &LoopState) -> Result<bool> {
    let Ok(id) = OrchestrationId::parse(in_session::id(state)) else { return Ok(false) };
    // An orchestration whose project is gone has no mailbox.
    let Ok(sessions) = OrchestrationStore::open(Path::new(&state.project_root), &here.home) else {
        return Ok(false);
    };
    let lifted = sessions.update(&id, |seen| {
        let pauses = signal::pauses(&seen.signals);
        Ok((seen.without_signals(&pauses), !pauses.is_empty()))
    });
    Ok(lifted.map_err(bad_state)?.is_some_and(|lifted| lifted.what))
}

fn what_to_do(state: &LoopState) -> String {
    if state.rounds > 0 && state.round.is_none() {
        return "`ralph run` continues it".to_owned();
    }
    let again = format!("`claude --resume {}`, then type anything", state.session_id);
    match &state.client {
        Some(process) if client::is_alive(process) => {
            "type anything in its session to continue".to_owned()
        }
        Some(_) => format!("its client is not running: {again}"),
        None => format!("type anything in its session to continue; if its client is gone, {again}"),
    }
}
