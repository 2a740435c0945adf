//! Refuses commands that are for a person only, inside the session of a live loop.
//!
//! A variable that the client sets shows that the shell runs in a session. If a command has cleared
//! it, its ancestor processes decide, which only the kernel records.

use super::Command;
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, bad_state, refused};
use crate::command::select_loop;
use anyhow::{Context, Result, bail};
use ralph_core::guard::human_only;
use ralph_core::guard::speaker::{self, Speaker};
use ralph_core::state::LoopState;
use ralph_io::{process::ancestry, project, store::lifecycle};
use std::path::Path;

/// Refuses a person's command if a model gives it, or if that cannot be ruled out.
pub(super) fn check(command: &Command) -> Result<()> {
    let name = command.name();
    let Some(refusal) = human_only::refusal(name) else { return Ok(()) };
    let here = Here::gather()?;
    match command {
        Command::Start(args) if args.repeats_what_was_typed(&here) => return Ok(()),
        _ if is_in_live_session(&here)? => return Err(refused(Exit::No, refusal)),
        _ => {}
    }
    match speaker(&here, name) {
        Speaker::Person => Ok(()),
        Speaker::Model => Err(refused(Exit::No, refusal)),
        Speaker::Unseen => Err(refused(Exit::No, speaker::refusal(name))),
    }
}

/// Who gives this command, judged by the clients of all live loops.
fn speaker(here: &Here, command: &str) -> Speaker {
    let mut heard = Speaker::Person;
    let mut is_unreadable = lifecycle::is_one_lost(&here.home);
    for (file, state) in select_loop::everything(here) {
        // An unreadable state may still name its client, which is then one more client to look for
        // among our ancestors.
        is_unreadable |= state.is_err();
        let Some(state) = state.ok().or_else(|| file.salvage()) else { continue };
        let Some(client) = state.client.as_ref().filter(|_| state.is_live()) else { continue };
        match ancestry::speaker(client, &state.session_id) {
            Speaker::Model => return Speaker::Model,
            Speaker::Unseen if !human_only::begins(command) || is_here(here, &state) => {
                heard = Speaker::Unseen;
            }
            _ => {}
        }
    }
    if heard == Speaker::Person && is_unreadable && !human_only::begins(command) {
        // The unreadable loop may belong to any client.
        heard = ancestry::speaker_among_clients();
    }
    heard
}

fn is_here(here: &Here, state: &LoopState) -> bool {
    project::identity(Path::new(&state.project_root)) == here.project()
}

fn is_in_live_session(here: &Here) -> Result<bool> {
    let Some(session) = &here.session else { return Ok(false) };
    let live = || -> Result<bool> {
        let Some(file) = lifecycle::of_session(&here.home, session)? else { return Ok(false) };
        let Some(loaded) = file.read()? else {
            // A missing state may have been live; a loop that had ended was archived.
            let had_ended = lifecycle::is_put_away(&here.home, &file);
            return if had_ended { Ok(false) } else { bail!("the state of its loop is gone") };
        };
        Ok(loaded.state.session_id == *session && loaded.state.is_live())
    };
    // A loop that cannot be read may be live. The user has other terminals.
    live()
        .context("could not tell whether a loop is live in this session; use another terminal")
        .map_err(bad_state)
}
