//! After an agent's call or end: what it achieved, and what comes next.

use super::look::{self, Writes, look};
use super::who;
use crate::active_loop::Bound;
use crate::hook_runner::HookCall;
use crate::stop;
use anyhow::Result;
use jiff::Timestamp;
use ralph_core::modes::orchestration::in_session::told;
use ralph_core::modes::orchestration::invocation::CallKey;
use ralph_core::modes::orchestration::recovery::CallEnd;
use ralph_core::protocol::event::HookEvent;
use ralph_core::protocol::reply::Reply;
use ralph_core::state::{LoopState, OrchestrationCall};
use ralph_core::stop::RouterStep;
use ralph_io::{process::clock, store::plan_files};
use serde_json::{Value, json};

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
    let at = bound
        .state
        .orchestration()
        .and_then(|session| who::place(call, session).map(|at| session.calls[at].call.clone()));
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
