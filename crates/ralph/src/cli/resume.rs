//! `ralph resume`: a paused loop continues at its session's next prompt or stop.
//!
//! A PAUSE in its mailbox may also hold an orchestration, while a program drives it.
//! Resuming lifts that too.

use super::pause::{Args, ordered};
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, bad_state, refused};
use crate::command::journal::note;
use crate::command::screen;
use crate::command::select_loop::FoundLoop;
use crate::command::shared_order;
use anyhow::{Context, Result};
use ralph_core::modes::mode;
use ralph_core::modes::orchestration::change::{RouterWrite, apply};
use ralph_core::modes::orchestration::id::OrchestrationId;
use ralph_core::modes::orchestration::{in_session, signal};
use ralph_core::state::LoopState;
use ralph_io::client;
use ralph_io::process::clock;
use ralph_io::store::orchestration::OrchestrationStore;
use std::path::Path;

pub(crate) fn run(args: &Args) -> Result<Exit> {
    ordered(args, shared_order::resume, resume)
}

/// Continues a loop; returns the report for the user.
pub(super) fn resume(here: &Here, found: &FoundLoop) -> Result<String> {
    let resumed = found.file.update(|state| {
        let was_running = state.is_running();
        match was_running {
            true => state.resume(here.now),
            false => mode::of(&state.mode).resume(state, here.now),
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
        note(here, &found.file, &state, "resume", "resumed", "a person ended a PAUSE");
        return Ok(format!(
            "loop {} continues at {}: PAUSE no longer holds its session",
            state.loop_id,
            state.position()
        ));
    }
    if was_running || !state.is_running() {
        let phase = screen::visible(state.phase.as_str());
        let message = format!(
            "loop {} is not paused; it is in {phase} at {}",
            state.loop_id,
            state.position()
        );
        return Err(refused(Exit::No, message));
    }
    note(here, &found.file, &state, "resume", "resumed", "a person resumed on the command line");
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
    let Ok(sessions) = OrchestrationStore::of(Path::new(&state.project_root), &here.home) else {
        return Ok(false);
    };
    let lifted = sessions.update(&id, |seen| {
        let pauses = signal::pauses(&seen.signals);
        let was_held = !pauses.is_empty();
        let after = apply(seen, &[RouterWrite::Heard(pauses)], clock::local(here.now));
        Ok((after.map_err(anyhow::Error::msg)?, was_held))
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
