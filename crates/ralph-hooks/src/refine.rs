//! A refinement in a conversation: what begins and ends its loop, and which agents it may call.
//!
//! `ralph refine begin` makes the loop and `ralph refine end` ends it, since only they know what was measured.

use crate::active_loop::{self, Bound};
use crate::begin::{facts, own, run, unusable};
use crate::hook_runner::HookCall;
use anyhow::Result;
use ralph_core::modes::arguments::Options;
use ralph_core::modes::parallel::Grant;
use ralph_core::modes::refine::{MOST_IN_FOREGROUND, in_session};
use ralph_core::protocol::reply::Reply;
use ralph_core::state::{
    DrivenTurn, EndingKind, Glance, LoopState, Mode, ModeState, Refining, StartedBy,
};
use ralph_core::{modes::start, views::messages};
use ralph_io::store::home::Home;
use ralph_io::store::lifecycle::{self, ManifestFate};
use ralph_io::store::loop_file::LoopFile;
use ralph_io::{process::clock, project::settings};
use std::path::Path;

/// A refinement that a conversation is to carry out.
#[derive(Debug, Clone, Copy)]
pub struct RefineRequest<'a> {
    /// Where Ralph keeps its state.
    pub home: &'a Home,
    /// The project's folder.
    pub root: &'a Path,
    /// The conversation.
    pub session_id: &'a str,
    /// The session's name in the project's document.
    pub name: &'a str,
    /// The same, as a shell reads it.
    pub word: &'a str,
    /// What is refined, for people.
    pub what: &'a str,
    /// Rounds that are done.
    pub done: u32,
    /// Rounds that there may be.
    pub most: u32,
}

/// The conversation's loop.
#[derive(Debug)]
pub enum RefineStart {
    /// It was made.
    Made(LoopFile, Box<LoopState>),
    /// It is there already.
    Own(LoopFile, Box<LoopState>),
    /// There can be none, for this reason.
    Refused(String),
}

/// Finds the loop of this conversation, or makes it.
///
/// # Errors
/// When the state cannot be read or written. Nothing was begun then.
pub fn begin(asked: &RefineRequest<'_>) -> Result<RefineStart> {
    lifecycle::check_session_id(asked.session_id)?;
    if let Some(why) = unusable(asked.home, asked.session_id) {
        return Ok(RefineStart::Refused(why));
    }
    // One at a time: a session has one live mode.
    let _starting = lifecycle::lock_starts(asked.home)?;
    match own(asked.home, asked.session_id)? {
        Some((file, state)) => Ok(match not_its(&state, asked.name) {
            None => RefineStart::Own(file, Box::new(state)),
            Some(why) => RefineStart::Refused(why),
        }),
        None => create(asked),
    }
}

/// Why the live loop of this session is not the one of this refinement, or cannot have a round now.
fn not_its(state: &LoopState, name: &str) -> Option<String> {
    const BACKGROUND: &str = "`ralph refine loop` in another terminal refines beside it";
    match state.refining() {
        Some(refining) if refining.name == name => {
            (!state.is_running()).then(|| messages::paused(state))
        }
        Some(refining) => Some(format!(
            "the refinement `{}` is live in this session: it comes first, or a person ends it with /ralph-cancel",
            refining.name
        )),
        None => Some(format!(
            "a loop is live in this session at {}: a person ends it with /ralph-cancel first; {BACKGROUND}",
            state.position()
        )),
    }
}

/// How many rounds this conversation has made in loops that are over.
pub fn made_before(home: &Home, session_id: &str) -> u32 {
    let states = lifecycle::ended(home).into_iter().filter_map(|(_, state)| state.ok());
    let own = states.filter(|state| state.mode == Mode::Refine && state.session_id == session_id);
    // Each counts those before it.
    own.map(|state| in_session::made(&state)).max().unwrap_or_default()
}

fn create(asked: &RefineRequest<'_>) -> Result<RefineStart> {
    let (settings, _) = settings::read(asked.home, asked.root);
    let facts = facts(asked.root, Vec::new(), StartedBy::Model, clock::now())?;
    let now = facts.now;
    let goal = format!("refine {} until it no longer changes", asked.what);
    let mut state = start::new_loop(&goal, &Options::default(), &settings, facts);
    state.iteration = asked.done;
    state.max_iterations = asked.most.min(MOST_IN_FOREGROUND);
    state.mode = ModeState::Refine(Refining {
        name: asked.name.to_owned(),
        word: asked.word.to_owned(),
        from: asked.done,
        earlier: made_before(asked.home, asked.session_id),
        ..Refining::default()
    });
    // Which turn it is, the first agent's call will tell.
    run(&mut state, (asked.session_id, ""), None, now);
    let file = lifecycle::create(asked.home, &mut state)?;
    Ok(RefineStart::Made(file, Box::new(state)))
}

/// Brings the loop to what has become of its rounds; none if it is not live any more.
///
/// # Errors
/// When the state cannot be read or written.
pub fn note_round(file: &LoopFile, done: u32, open: u32) -> Result<Option<LoopState>> {
    let noted = file.update(|state| {
        if !state.is_live() {
            return None;
        }
        state.refining_mut()?.open = open;
        state.iteration = done;
        Some(state.clone())
    })?;
    Ok(noted.flatten())
}

/// Ends the loop with its refinement, and puts it away. Returns where it stands now; none if it had ended
/// before.
///
/// # Errors
/// When the state cannot be written.
pub fn end(
    home: &Home,
    file: &LoopFile,
    kind: &EndingKind,
    detail: &str,
    done: u32,
) -> Result<Option<(LoopState, LoopFile)>> {
    let now = clock::now();
    let ended = file.update(|state| {
        if !state.is_live() {
            return None;
        }
        state.iteration = done;
        state.end(kind.clone(), detail, now);
        Some(state.clone())
    })?;
    let Some(state) = ended.flatten() else { return Ok(None) };
    let away = lifecycle::put_away(home, file, &state, ManifestFate::Remove)?;
    Ok(Some((state, away.file)))
}

/// May this agent be called? Decided under the state's lock, so that of calls that are made at once no more
/// than the limit get through.
pub(crate) fn may_call(call: &HookCall, bound: &Bound<Glance>) -> Result<Reply> {
    // The copy that answers keeps the account.
    if bound.is_outranked(call.via) {
        return Ok(Reply::silent());
    }
    let (id, from_agent) = (&call.input.tool_use_id, call.input.from_subagent());
    let now = clock::now();
    let granted = bound.file.update(|state| {
        // It was paused or ended a moment ago, which is answered elsewhere.
        if !state.is_running() {
            return Grant::Again;
        }
        state.note_event(call.via);
        let granted = in_session::grant(state, id, from_agent);
        if granted == Grant::Granted && state.turn.is_none() {
            // No prompt has begun this loop, so this is the first that is known of its turn.
            state.turn = Some(DrivenTurn::new(call.input.prompt_id.clone(), now));
        }
        granted
    })?;
    let (decision, why, reply) = match granted {
        Some(Grant::Granted) => ("granted", "an agent for a round".to_owned(), Reply::silent()),
        Some(Grant::Refused(why)) => ("denied", why.clone(), Reply::deny(&why)),
        Some(Grant::Again) | None => return Ok(Reply::silent()),
    };
    bound.note(call, decision, &format!("refine: {why}"), active_loop::tool(call));
    Ok(reply)
}
