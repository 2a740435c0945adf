//! Who may say what: inside the session of a live loop some commands are for a person only.
//!
//! The variable of the client tells where the shell runs. A model that clears it is the guard's
//! business; here it is about mistakes, and about shells that the guard does not see.

use super::Command;
use super::exit::{Exit, bad_state, refused};
use super::here::Here;
use anyhow::{Context, Result, bail};
use ralph_core::who_may;
use ralph_io::lifecycle;

/// Refuses a command that may not be given here.
pub(super) fn check(command: &Command) -> Result<()> {
    let Some(refusal) = who_may::refusal(command.name()) else { return Ok(()) };
    let here = Here::gather()?;
    match command {
        Command::Start(args) if args.repeats_what_was_typed(&here) => Ok(()),
        _ if is_in_live_session(&here)? => Err(refused(Exit::No, refusal)),
        _ => Ok(()),
    }
}

fn is_in_live_session(here: &Here) -> Result<bool> {
    let Some(session) = &here.session else { return Ok(false) };
    let live = || -> Result<bool> {
        let Some(file) = lifecycle::of_session(&here.home, session)? else { return Ok(false) };
        let Some(loaded) = file.read()? else {
            // What is gone may have been live; what had ended was put away.
            let had_ended = lifecycle::is_put_away(&here.home, &file);
            return if had_ended { Ok(false) } else { bail!("the state of its loop is gone") };
        };
        Ok(loaded.state.session_id == *session && loaded.state.is_live())
    };
    // What cannot be read may be live: a person has other terminals.
    live()
        .context("could not tell whether a loop is live in this session; use another terminal")
        .map_err(bad_state)
}
