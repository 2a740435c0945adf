//! `ralph adopt`: frees a loop whose client is gone, or imports an old state file.
//!
//! The loop is only freed: `/ralph` in any session of the project then continues it. A loop whose
//! client may still run is left alone, since two sessions would drive it.

mod old_file;
mod plugin_file;

use super::session_id;
use crate::command::complete;
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, bad_state, must_exist, refused};
use crate::command::journal::note;
use crate::command::screen;
use crate::command::select_loop::of_session;
use crate::command::select_loop::{self, FoundLoop, LoopArgs, LoopFilter};
use anyhow::{Context, Result};
use clap_complete::engine::ArgValueCandidates;
use jiff::Timestamp;
use ralph_core::state::{Bound, LoopState, PauseCause, Phase};
use ralph_io::{client, store::lifecycle};
use std::path::PathBuf;

/// What a person may say about taking over.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// An old state file or manifest, or the official plugin's file
    #[arg(conflicts_with_all = ["loop_id", "session", "force"])]
    file: Option<PathBuf>,
    /// The loop with this id
    #[arg(long = "loop", value_name = "ID", id = "loop_id", add = ArgValueCandidates::new(complete::loops))]
    loop_id: Option<String>,
    /// Bind the loop to this Claude Code session, paused
    #[arg(long, value_name = "ID", value_parser = session_id::parse)]
    session: Option<String>,
    /// Take it over even if its client still runs; requires --loop
    #[arg(long, requires = "loop_id")]
    force: bool,
}

pub(crate) fn run(args: &Args) -> Result<Exit> {
    let here = Here::gather()?;
    if let Some(path) = &args.file {
        must_exist(path)?;
        return import(&here, path);
    }
    let found = find(&here, args)?;
    client_is_gone(&found.state, args.force)?;
    if let Some(session) = &args.session {
        is_free(&here, session)?;
    }
    let state = rebind(&here, &found, args.session.as_deref())?;
    note(
        &here,
        &found.file,
        &state,
        ("adopt", "adopted"),
        "a person took it over on the command line",
    );
    let go_on = match &args.session {
        Some(session) => format!("paused in session {session}; type /ralph there to continue"),
        None => "free; type /ralph in any session of this project to continue".to_owned(),
    };
    let (id, position) = (&state.loop_id, state.position());
    screen::say(&screen::visible(&format!("loop {id} adopted at {position}: {go_on}")))?;
    Ok(Exit::Done)
}

fn find(here: &Here, args: &Args) -> Result<FoundLoop> {
    let named = LoopArgs { session: None, loop_id: args.loop_id.clone() };
    if named.is_named() {
        return select_loop::one(here, &named, LoopFilter::Live);
    }
    // Prefers the only loop whose client is gone; otherwise `one` picks a live loop or
    // explains why it cannot.
    let mut live = select_loop::of_project(here, LoopState::is_live);
    let gone = |found: &FoundLoop| standing(&found.state) == ClientLiveness::Gone;
    if live.iter().filter(|found| gone(found)).count() == 1 {
        live.retain(gone);
        return Ok(live.remove(0));
    }
    select_loop::one(here, &LoopArgs::default(), LoopFilter::Live)
}

#[derive(Debug, PartialEq, Eq)]
enum ClientLiveness {
    Runs,
    Gone,
    Unknown,
}

fn standing(state: &LoopState) -> ClientLiveness {
    match &state.client {
        Some(process) if client::is_alive(process) => ClientLiveness::Runs,
        Some(_) => ClientLiveness::Gone,
        None => ClientLiveness::Unknown,
    }
}

fn client_is_gone(state: &LoopState, force: bool) -> Result<()> {
    let why = match standing(state) {
        ClientLiveness::Gone => return Ok(()),
        _ if force => return Ok(()),
        ClientLiveness::Runs => "its client is still running: close it first",
        ClientLiveness::Unknown => "its client may still be running: close it first",
    };
    let id = screen::visible(&state.loop_id);
    let message = format!("loop {id} was left alone; {why}, or give `--loop {id} --force`");
    Err(refused(Exit::No, message))
}

fn is_free(here: &Here, session: &str) -> Result<()> {
    let bound = of_session(here, session)?.filter(|found| found.state.is_live());
    bound.map_or(Ok(()), |found| {
        let id = screen::visible(&found.state.loop_id);
        Err(refused(
            Exit::No,
            format!(
                "that session has the live loop {id}; end it first: `ralph cancel --loop {id}`"
            ),
        ))
    })
}

/// Writes the state before the manifest: the state's `lineage` names each former session, so their
/// manifest entries are ignored until they are removed.
fn rebind(here: &Here, found: &FoundLoop, session: Option<&str>) -> Result<LoopState> {
    here.home.prepare()?;
    let is_in_place = lifecycle::is_in_place(&here.home, &found.file);
    let adopted = found.file.update(|state| {
        // The loop may have ended since `find` read it.
        state.is_live().then(|| {
            if is_in_place {
                lifecycle::complete(&found.file, state, &here.root);
            }
            free(state, "adopted", here.now);
            if let Some(session) = session {
                hold(state, session, here.now);
            }
            state.clone()
        })
    });
    let state = adopted
        .map_err(bad_state)?
        .flatten()
        .context("the loop has just ended; nothing was changed")?;
    lifecycle::point_project_at(&here.home, &found.file, &state.project_root)?;
    // An interrupted earlier adoption may have left an entry too. One for all sessions stays.
    for former in &state.lineage {
        if former.session_id != state.session_id && here.home.single_manifest().is_none() {
            lifecycle::release(&here.home, &found.file, &former.session_id)?;
        }
    }
    lifecycle::bind(&here.home, &found.file, &state.session_id)?;
    Ok(state)
}

/// Makes the loop planned and unbound; it continues in the phase it had.
fn free(state: &mut LoopState, why: &str, now: Timestamp) {
    if state.is_running() {
        state.resume_phase = Some(state.phase.clone());
    }
    let session_id = std::mem::take(&mut state.session_id);
    if !session_id.is_empty() {
        state.lineage.push(Bound { session_id, until: now, why: why.to_owned() });
    }
    state.phase = Phase::Planned;
    state.pause = None;
    state.turn = None;
    state.client = None;
    state.via = None;
}

/// Binds a freed loop to the session, paused.
fn hold(state: &mut LoopState, session: &str, now: Timestamp) {
    state.session_id = session.to_owned();
    state.rounds = 0;
    state.phase = state.resume_phase.take().unwrap_or(Phase::Implementation);
    state.pause(PauseCause::Person, "adopted on the command line", now);
}

fn import(here: &Here, path: &std::path::Path) -> Result<Exit> {
    let old_file::Old { mut state, still_acts } = old_file::read(path, here)?;
    let file = lifecycle::create(&here.home, &mut state)?;
    note(here, &file, &state, ("adopt", "imported"), &format!("from `{}`", path.display()));
    screen::say(&screen::visible(&format!(
        "loop {} planned from `{}` at {}; that file was left as it is. Type /ralph in Claude Code, \
         in `{}`, to continue",
        state.loop_id,
        path.display(),
        state.position(),
        state.project_root
    )))?;
    if still_acts {
        screen::say(&screen::visible(&format!(
            "its own plugin acts on that file as long as it is there: type /cancel-ralph, or remove \
             `{}`, before you type /ralph",
            path.display()
        )))?;
    }
    Ok(Exit::Done)
}
