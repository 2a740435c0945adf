//! After an agent's call or end, and when the conversation wants to end its turn: what was achieved,
//! and what comes next.

use crate::active_loop::Bound;
use crate::hook_runner::HookCall;
use crate::modes::orchestration::look::{Writes, look};
use crate::modes::orchestration::{artefact, look};
use crate::stop;
use anyhow::Result;
use jiff::Timestamp;
use ralph_core::modes::orchestration::agents::AgentRole;
use ralph_core::modes::orchestration::in_session::told;
use ralph_core::modes::orchestration::invocation::CallKey;
use ralph_core::modes::orchestration::recovery::CallEnd;
use ralph_core::protocol::event::HookEvent;
use ralph_core::protocol::reply::Reply;
use ralph_core::state::{LoopState, OrchestrationCall, OrchestrationState};
use ralph_core::stop::{Routed, RouterStep};
use ralph_io::client::transcript;
use ralph_io::process::clock;
use ralph_io::store::plan_files;
use serde_json::{Value, json};
use std::path::Path;

/// Answers the end of an agent's call.
pub(super) fn after_an_agent(call: &HookCall) -> Result<Reply> {
    let Some(bound) = ours(call)? else { return Ok(Reply::silent()) };
    if call.input.from_subagent() || bound.is_driven() {
        return Ok(Reply::silent());
    }
    let event: Value = serde_json::from_slice(&call.raw).unwrap_or_default();
    let answer = &event["tool_response"];
    let id = &call.input.tool_use_id;
    // The agent is still working, and the files it writes decide what comes next.
    if call.input.hook_event_name == HookEvent::PostToolUse && answer["status"] == "async_launched"
    {
        let agent = answer["agentId"].as_str().unwrap_or_default().to_owned();
        bound.file.update(|state| {
            let calls = state.orchestration_mut().map(|session| &mut session.calls);
            if let Some(made) = calls.and_then(|calls| calls.iter_mut().find(|one| one.call == *id))
            {
                made.agent = agent;
            }
        })?;
        return Ok(Reply::silent());
    }
    over(call, &bound, |one| one.call == *id)?;
    next(call, &bound)
}

/// The orchestration's state after its router has chosen the first step.
///
/// # Errors
/// When the state or the orchestration's files cannot be read or written.
pub(super) fn first_look(call: &HookCall) -> Result<LoopState> {
    let Some(bound) = Bound::find(call)? else {
        anyhow::bail!(
            "the orchestration is \
         gone"
        )
    };
    let now = clock::now();
    let looked = bound.file.update(|state| -> Result<LoopState> {
        let looked = look(&call.home, state, now, Writes::ForCalls)?;
        if let (Some(session), Some(looked)) = (state.orchestration_mut(), looked)
            && looked.calls.is_empty()
        {
            session.given.clear();
            session.says = "end your turn; Ralph then names the next step".to_owned();
        }
        Ok(state.clone())
    })?;
    looked.transpose()?.ok_or_else(|| anyhow::anyhow!("the orchestration is gone"))
}

/// Answers the end of a background agent. The client wakes the conversation, which is told what
/// comes next.
pub(super) fn woken(call: &HookCall) -> Result<Reply> {
    match ours(call)? {
        Some(bound) => next(call, &bound),
        None => Ok(Reply::silent()),
    }
}

/// An agent of the orchestration wants to end. Its files show what it achieved.
pub(super) fn reported(call: &HookCall, bound: &Bound) -> Result<Reply> {
    if plan_files::is_gone(&bound.state) {
        return Ok(Reply::silent());
    }
    bound.file.update(|state| {
        state.note_event(call.via);
        stop::count(state, &call.input.agent_transcript_path);
    })?;
    let at = bound.state.orchestration().and_then(|session| {
        artefact::place(call, session).map(|at| session.calls[at].call.clone())
    });
    if let Some(id) = at {
        over(call, bound, |one| one.call == id)?;
    }
    Ok(Reply::silent())
}

/// The running orchestration, if this copy of the hook is the one that answers.
fn ours(call: &HookCall) -> Result<Option<Bound>> {
    let bound = Bound::find(call)?;
    Ok(bound.filter(|bound| {
        bound.state.is_running()
            && !bound.is_outranked(call.via)
            && !plan_files::is_gone(&bound.state)
    }))
}

/// Closes the matching calls and records their outcome.
fn over(call: &HookCall, bound: &Bound, which: impl Fn(&OrchestrationCall) -> bool) -> Result<()> {
    let now = clock::now();
    let ends = bound.file.update(|state| look::ended(&call.home, state, &which, now))?;
    note_ends(call, bound, &ends.transpose()?.unwrap_or_default());
    Ok(())
}

pub(super) fn note_ends(call: &HookCall, bound: &Bound, ends: &[(CallKey, CallEnd)]) {
    for (key, how) in ends {
        let what = match how {
            CallEnd::Met => "completed its call",
            CallEnd::Failed => "ended without completing its call",
        };
        let about = if key.task.is_empty() { String::new() } else { format!(" {}", key.task) };
        let why = format!("{} {}{about} {what}", key.mode.agent(), key.mode);
        bound.note(call, "agent ended", &why, json!({"agent": call.input.agent_id}));
    }
}

/// The next calls, if any. An end or a pause of the orchestration is announced at its stop.
fn next(call: &HookCall, bound: &Bound) -> Result<Reply> {
    let now: Timestamp = clock::now();
    let said = bound.file.update(|state| -> Result<String> {
        let Some(looked) = look(&call.home, state, now, Writes::ForCalls)? else {
            return Ok(String::new());
        };
        Ok(match looked.routed.due {
            RouterStep::Call => told(state),
            RouterStep::Wait => String::new(),
            _ => "Next: end your turn; the orchestration is paused or over.".to_owned(),
        })
    })?;
    let said = said.transpose()?.unwrap_or_default();
    Ok(match said.is_empty() {
        true => Reply::silent(),
        false => Reply::context(call.input.hook_event_name, &said),
    })
}

// The conversation of an orchestration wants to end its turn.

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
