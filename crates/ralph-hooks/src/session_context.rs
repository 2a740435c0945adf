//! `ralph-session-context`: tells the model about its project, and repeats the loop prompt when the
//! model may have lost it.

use crate::active_loop::{self, Bound};
use crate::backpressure::EVERY_SESSION;
use crate::begin;
use crate::delegate;
use crate::hook_runner::HookCall;
use crate::project_facts;
use crate::signals;
use crate::wall;
use anyhow::Result;
use ralph_core::protocol::event::HookEvent;
use ralph_core::protocol::reply::Reply;
use ralph_core::protocol::sandbox;
use ralph_core::state::{Bound as Former, LoopState, Pause, PauseCause};
use ralph_core::{modes::mode, modes::ralplan, modes::start, views::messages};
use ralph_io::store::loop_file::LoopFile;
use ralph_io::{
    client, client::transcript, process::clock, project, project::settings, store::lifecycle,
};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// Longest time between the end of a cleared session and the start of the next; 50 to 90 ms were
/// measured. A loop that was cleared longer ago has missed that start and belongs to no session.
const CLEARED_JUST_NOW: Duration = Duration::from_secs(60);

/// Answers SessionStart and PreCompact.
pub fn answer(call: &HookCall) -> Result<Reply> {
    if call.input.from_subagent() {
        return Ok(Reply::silent());
    }
    match call.input.hook_event_name {
        HookEvent::SessionStart => at_start(call),
        HookEvent::PreCompact => before_compaction(call),
        _ => Ok(Reply::silent()),
    }
}

fn at_start(call: &HookCall) -> Result<Reply> {
    note_wanted_checks(call)?;
    report_what_commands_leave_running();
    // Without the line, a planning has no Bash but a list of readers, and says why.
    let _ = wall::prepare(&call.home, &call.input.session_id);
    let reply = match call.input.source.as_str() {
        "compact" => after_compaction(call)?,
        "resume" => after_resume(call)?,
        "clear" => after_clear(call)?,
        _ => Reply::silent(),
    };
    Ok(project_facts::add(call, reply))
}

/// Records whether any settings ask for checks in every session, for the hook after tool calls,
/// which has no time to read settings. If no settings ever did, nothing is written.
fn note_wanted_checks(call: &HookCall) -> Result<()> {
    settings::note_wanted(&call.home, settings::mention(EVERY_SESSION))
}

/// Has each command in the sandbox of a round report what it leaves running. Without the report, the
/// round goes on all the same.
fn report_what_commands_leave_running() {
    if !client::is_sandboxed_round() {
        return;
    }
    let ralph = delegate::ralph().ok();
    if let Some(ralph) = ralph.as_deref().and_then(Path::to_str) {
        let _ = client::run_ahead_of_commands(&sandbox::left_running_script(ralph));
    }
}

/// The session's running loop, if this copy of the hook is the one that answers.
fn running(call: &HookCall) -> Result<Option<Bound>> {
    let bound = Bound::find(call)?;
    Ok(bound.filter(|bound| bound.state.is_running() && !bound.is_outranked(call.via)))
}

/// Makes the next stop repeat the whole loop prompt. The start that follows a compaction may not
/// come, or may come without this hook.
fn before_compaction(call: &HookCall) -> Result<Reply> {
    let Some(bound) = running(call)? else { return Ok(Reply::silent()) };
    bound.file.update(|state| {
        state.note_event(call.via);
        state.context_lost = state.is_running();
        // The loop prompt says it all again.
        state.details_due.clear();
    })?;
    bound.note(call, "context lost", "the conversation is compacted", Value::Null);
    Ok(Reply::silent())
}

fn after_compaction(call: &HookCall) -> Result<Reply> {
    let Some(bound) = running(call)? else { return Ok(Reply::silent()) };
    bound.note(call, "reminded", "the conversation was compacted", Value::Null);
    Ok(contract(call, &bound.file, &bound.state))
}

fn contract(call: &HookCall, file: &LoopFile, state: &LoopState) -> Reply {
    if state.orchestration().is_some() && client::session_call().is_some() {
        return signals::prepend_signals(call, file, state, Reply::silent());
    }
    let text = match client::planning_agent() {
        // An agent carries out one step and needs no instructions for the others.
        Some(_) => of_the_agent(state),
        None => signals::contract(&mode::rules(&state.mode).continues_line(state), file, state),
    };
    signals::prepend_signals(call, file, state, Reply::context(HookEvent::SessionStart, &text))
}

/// The prompt with which a planning agent's session was started.
fn of_the_agent(state: &LoopState) -> String {
    let next = state.ralplan().map(|plan| ralplan::next(plan, ""));
    match next {
        Some(ralplan::NextPlanStep::Call(next)) => {
            format!("What you are here for:\n{}", next.prompt)
        }
        _ => "Your report is taken; end your turn.".to_owned(),
    }
}

/// A resumed session is a new process, so its registrations are collected afresh. A loop that the
/// user did not stop continues by itself.
fn after_resume(call: &HookCall) -> Result<Reply> {
    let Some(bound) = Bound::find(call)?.filter(|bound| bound.state.is_live()) else {
        return Ok(left_elsewhere(call));
    };
    let process = client::process();
    let now = clock::now();
    let since = bound.state.turn.as_ref().map(|turn| turn.at);
    let cut_by =
        since.and_then(|at| transcript::cut_by(Path::new(&call.input.transcript_path), Some(at)));
    let updated = bound.file.update(|state| {
        // Another copy of this hook, started by the same event, may have answered before. The end
        // of a session forgets its process, so that a later resume counts as new.
        let is_first = process.is_none() || state.client != process;
        if is_first {
            state.via = None;
            state.client = process.clone();
        }
        state.note_event(call.via);
        if !is_first {
            return None;
        }
        // The client vanished without an event after the user had pressed Esc. A turn that the user
        // cut does not continue by itself.
        if let Some(cause) = cut_by.filter(|cause| !cause.resumes_by_itself()) {
            state.pause(cause, "the session ended without a word", now);
        }
        state.turn = None;
        if let Some(session) = state.orchestration_mut() {
            // The calls died with the client that made them.
            session.calls.clear();
        }
        let by_itself = state.pause.as_ref().is_some_and(|pause| pause.cause.resumes_by_itself())
            || state.awaits_decision();
        if by_itself {
            state.resume(now);
        }
        if let Some(pause) = &mut state.pause {
            // The client may not show what a session's start says, so the next prompt tells it.
            (pause.told, pause.attended) = (false, true);
        }
        Some(state.clone())
    })?;
    let Some(state) = updated.flatten() else { return Ok(Reply::silent()) };
    if state.is_running() {
        bound.note(call, "continued", "the session was resumed", json!({"was": bound.state.pause}));
        let message = format!("loop {} continues at {}", state.loop_id, state.position());
        return Ok(contract(call, &bound.file, &state).tell(messages::line(&message)));
    }
    let text = messages::paused(&state);
    bound.note(call, "let rest", "the session was resumed", json!({"is": state.pause}));
    Ok(Reply::silent().tell(messages::line(&text)))
}

/// Names a loop of the project whose client is gone: `claude --continue` continues the newest conversation,
/// which may be another than the one that crashed.
fn left_elsewhere(call: &HookCall) -> Reply {
    let is_left = |state: &LoopState| match &state.pause {
        Some(pause) => pause.cause == PauseCause::Crashed,
        None => state.rounds == 0 && !state.client.as_ref().is_some_and(client::is_alive),
    };
    let left = begin::live_in_project(&call.home, &call.root()).filter(is_left);
    let last = left.max_by_key(|state| state.created_at);
    match last.filter(|_| project_facts::is_ours_to_tell(call)) {
        Some(state) => Reply::silent().tell(messages::line(&start::elsewhere(&state))),
        None => Reply::silent(),
    }
}

/// The conversation was cleared in the same process: the loop follows into the new session, paused.
/// The process, the project, and the mark that the old session's end has just left identify it.
/// Adopt a loop only if all three match and exactly one loop qualifies.
fn after_clear(call: &HookCall) -> Result<Reply> {
    let Some(process) = client::process() else { return Ok(Reply::silent()) };
    let now = clock::now();
    let just_now = |pause: &Pause| {
        let since = Duration::try_from(now.duration_since(pause.at)).unwrap_or_default();
        pause.cause == PauseCause::Cleared && since <= CLEARED_JUST_NOW
    };
    let cleared = |state: &LoopState| {
        state.client.as_ref() == Some(&process)
            && state.pause.as_ref().is_some_and(just_now)
            && state.session_id != call.input.session_id
            && is_of_project(call, state)
    };
    let mut candidates = lifecycle::all(&call.home)
        .into_iter()
        .filter_map(|(file, state)| Some((file, state.ok()?)))
        .filter(|(_, state)| cleared(state));
    let (Some((file, state)), None) = (candidates.next(), candidates.next()) else {
        return Ok(Reply::silent());
    };
    let moved = file.update(|state| {
        cleared(state).then(|| {
            let former = std::mem::replace(&mut state.session_id, call.input.session_id.clone());
            state.lineage.push(Former {
                session_id: former,
                until: now,
                why: "cleared".to_owned(),
            });
            if let Some(pause) = &mut state.pause {
                pause.told = true;
            }
            messages::paused(state)
        })
    })?;
    let Some(text) = moved.flatten() else { return Ok(Reply::silent()) };
    lifecycle::bind(&call.home, &file, &call.input.session_id)?;
    lifecycle::release(&call.home, &file, &state.session_id)?;
    active_loop::note(
        &file,
        call,
        &state.position(),
        "moved",
        "the conversation was cleared",
        Value::Null,
    );
    Ok(Reply::silent().tell(messages::line(&text)))
}

fn is_of_project(call: &HookCall, state: &LoopState) -> bool {
    let here = call.root();
    project::identity(&here) == project::identity(Path::new(&state.project_root))
}
