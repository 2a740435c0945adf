//! The conversation of an orchestration wants to end its turn.

use super::after::note_ends;
use super::look::{self, Writes, look};
use crate::active_loop::Bound;
use crate::hook_runner::HookCall;
use crate::stop;
use anyhow::Result;
use ralph_core::modes::orchestration::agents::AgentRole;
use ralph_core::protocol::reply::Reply;
use ralph_core::state::{OrchestrationCall, OrchestrationState};
use ralph_core::stop::{Routed, RouterStep};
use ralph_io::{client::transcript, process::clock, store::plan_files};
use std::path::Path;

/// Decides by the router's answer.
pub(super) fn stopped(call: &HookCall, bound: Bound) -> Result<Reply> {
    let (sessions, id) = look::sessions(&call.home, &bound.state)?;
    let Some((bound, routed)) = routed(call, bound)? else { return Ok(Reply::silent()) };
    let heard = match &routed {
        Some(routed) if !matches!(routed.due, RouterStep::Call | RouterStep::Wait) => {
            routed.heard.clone()
        }
        _ => Vec::new(),
    };
    let (reply, goes_on) = stop::at_stop(call, bound, routed)?;
    if !goes_on {
        look::use_up(&sessions, &id, &heard)?;
    }
    Ok(reply)
}

/// The router's answer and the loop after it. The answer is `None` if the stop is decided without
/// the router, and the result is `None` if the loop is gone.
fn routed(call: &HookCall, bound: Bound) -> Result<Option<(Bound, Option<Routed>)>> {
    if plan_files::is_gone(&bound.state) {
        return Ok(Some((bound, None)));
    }
    let Some(mut bound) = without_ended_calls(call, bound)? else { return Ok(None) };
    let now = clock::now();
    let waits = call.input.subagents().next().is_some()
        || transcript::command_waits(
            Path::new(&call.input.transcript_path),
            stop::turn_from(&bound.state),
            &bound.state.scheduled,
        );
    let writes = match waits || bound.state.blocked.is_some() {
        true => Writes::ForCalls,
        false => Writes::Always,
    };
    let is_idle = bound.state.orchestration().is_some_and(|session| session.calls.is_empty());
    let looked = if is_idle {
        // No agent can change the state meanwhile, so no lock is needed before the decision.
        look(&call.home, &mut bound.state, now, writes)?
    } else {
        let changed = bound.change(|state| look(&call.home, state, now, writes))?;
        let Some((changed, looked)) = changed else { return Ok(None) };
        bound = changed;
        looked?
    };
    Ok(Some((bound, looked.map(|looked| looked.routed))))
}

/// Records the end of each call whose agent the client no longer knows. Returns `None` if the loop
/// is gone.
fn without_ended_calls(call: &HookCall, bound: Bound) -> Result<Option<Bound>> {
    let Some(session) = bound.state.orchestration().cloned() else { return Ok(Some(bound)) };
    let is_over = |one: &OrchestrationCall| !is_at_work(call, &session, one);
    if !session.calls.iter().any(is_over) {
        return Ok(Some(bound));
    }
    let now = clock::now();
    let changed = bound.change(|state| look::ended(&call.home, state, is_over, now))?;
    let Some((bound, ends)) = changed else { return Ok(None) };
    note_ends(call, &bound, &ends?);
    Ok(Some(bound))
}

/// True if the client still knows this call's agent: by its id, else as one of the same kind that
/// no other call has.
fn is_at_work(call: &HookCall, session: &OrchestrationState, one: &OrchestrationCall) -> bool {
    let mut tasks = call.input.subagents();
    if !one.agent.is_empty() {
        return tasks.any(|task| task.id == one.agent);
    }
    let is_anothers = |id: &str| session.calls.iter().any(|other| other.agent == id);
    tasks.any(|task| AgentRole::of(&task.agent_type) == one.agent() && !is_anothers(&task.id))
}
