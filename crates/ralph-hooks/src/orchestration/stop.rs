//! The conversation of an orchestrated session wants to end its turn.

use super::after::note_ends;
use super::look::{self, Writes, look};
use crate::active_loop::Bound;
use crate::hook_runner::HookCall;
use crate::stop;
use anyhow::Result;
use ralph_core::modes::orchestration::agents::AgentRole;
use ralph_core::modes::orchestration::in_session::{Due, Routed};
use ralph_core::protocol::reply::Reply;
use ralph_core::state::{LoopState, Orchestrated, SessionCall};
use ralph_io::{client::transcript, process::clock, store::plan_files};
use std::path::Path;

/// Decides, on what the router says. Where a client is one call that a driver has made, its driver decides.
pub(crate) fn stopped(call: &HookCall) -> Result<Reply> {
    let Some(bound) = Bound::<LoopState>::find(call)? else { return Ok(Reply::silent()) };
    if bound.is_driven() || bound.is_outranked(call.via) {
        return Ok(Reply::silent());
    }
    let routed = routed(call, &bound)?;
    let Some(found) = Bound::<LoopState>::find(call)? else { return Ok(Reply::silent()) };
    let (file, driven) = (found.file.clone(), look::sessions(&call.home, &found.state)?);
    let heard = match &routed {
        Some(routed) if !matches!(routed.due, Due::Call | Due::Wait) => routed.heard.clone(),
        _ => Vec::new(),
    };
    let reply = stop::at_stop(call, found, routed)?;
    // Only now it has taken effect: the loop rests, or is over and put away.
    if !file.read()?.is_some_and(|loaded| loaded.state.is_running()) {
        let (sessions, id) = driven;
        look::use_up(&sessions, &id, &heard)?;
    }
    Ok(reply)
}

/// What the router says; none where the stop is decided without it.
fn routed(call: &HookCall, bound: &Bound) -> Result<Option<Routed>> {
    let state = &bound.state;
    if !state.is_running() || plan_files::is_gone(state) {
        return Ok(None);
    }
    let now = clock::now();
    let at_work = |session: &Orchestrated, one: &SessionCall| is_at_work(call, session, one);
    let ends = bound.file.update(|state| {
        let Some(session) = state.session.clone() else { return Ok(Vec::new()) };
        look::ended(&call.home, state, |one| !at_work(&session, one), now)
    })?;
    note_ends(call, bound, &ends.transpose()?.unwrap_or_default());
    let waits = call.input.background_tasks.iter().any(|task| task.is_subagent())
        || transcript::command_waits(
            Path::new(&call.input.transcript_path),
            &bound.state.scheduled,
        );
    if waits || state.blocked.is_some() {
        let still = bound.file.update(|state| look(&call.home, state, now, Writes::ForCalls))?;
        return Ok(still.transpose()?.flatten().map(|looked| looked.routed));
    }
    let looked = bound.file.update(|state| look(&call.home, state, now, Writes::Always))?;
    Ok(looked.transpose()?.flatten().map(|looked| looked.routed))
}

/// True where the client still knows the agent of this call: by its id; else one of its kind that no other call has.
fn is_at_work(call: &HookCall, session: &Orchestrated, one: &SessionCall) -> bool {
    let mut tasks = call.input.background_tasks.iter().filter(|task| task.is_subagent());
    if !one.agent.is_empty() {
        return tasks.any(|task| task.id == one.agent);
    }
    let is_anothers = |id: &str| session.calls.iter().any(|other| other.agent == id);
    tasks.any(|task| AgentRole::of(&task.agent_type) == one.agent() && !is_anothers(&task.id))
}
