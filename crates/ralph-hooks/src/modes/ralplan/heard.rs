//! After a tool or an agent has moved a planning run: tells the session what comes next.

use super::decide::{Decided, DecisionRequest, decide};
use super::tell_log;
use crate::active_loop::Bound;
use crate::hook_runner::HookCall;
use crate::{begin, signals};
use anyhow::Result;
use ralph_core::modes::arguments::LoopRequest;
use ralph_core::modes::ralplan::{self, question};
use ralph_core::protocol::event::HookEvent;
use ralph_core::protocol::reply::Reply;
use ralph_core::state::{DecidedBy, LoopState, Mode, PauseCause, Registration, StartedBy};
use ralph_core::{modes::mode, modes::start, views::messages};
use ralph_io::store::lifecycle::{self, ManifestFate};
use ralph_io::{process::clock, store::plan_files};
use serde_json::{Value, json};

/// Answers the result of an agent, or of the question to the user.
pub(super) fn after_a_tool(call: &HookCall) -> Result<Reply> {
    let Some(bound) = Bound::find(call)? else { return Ok(Reply::silent()) };
    if bound.is_outranked(call.via) || !bound.state.is_live() || plan_files::is_gone(&bound.state) {
        return Ok(Reply::silent());
    }
    if call.input.tool_name == "AskUserQuestion" {
        return answered(call, &bound);
    }
    if bound.state.via == Some(Registration::Skill) {
        return deaf(call, &bound);
    }
    // The agent is still working, and its report decides what comes next.
    let event: Value = serde_json::from_slice(&call.raw).unwrap_or_default();
    let reply = match event["tool_response"]["status"] == "async_launched" {
        true => Reply::silent(),
        false => Reply::context(call.input.hook_event_name, &ralplan::told(&bound.state)),
    };
    tell_log(&bound.file, &bound.state, reply)
}

/// Pauses the planning: hooks in a skill's front matter do not receive the agents' reports.
fn deaf(call: &HookCall, bound: &Bound) -> Result<Reply> {
    let why = "Ralph's hooks are registered only in the skill and do not see an agent's report: \
         the user must run `ralph install` and restart Claude Code";
    bound.file.update(|state| state.pause(PauseCause::BlockedOnHuman, why, clock::now()))?;
    bound.note(call, "paused", why, Value::Null);
    let told = format!("{why}. Report this, and end your turn.");
    Ok(Reply::context(call.input.hook_event_name, &told))
}

/// Answers the end of a background agent. In a terminal, every agent runs in the background,
/// whatever the call asks for. Without this the session would learn what comes next only at its
/// next stop, a whole request later.
pub(super) fn woken(call: &HookCall) -> Result<Reply> {
    let Some(bound) = Bound::find(call)? else { return Ok(Reply::silent()) };
    let is_ours = !bound.is_outranked(call.via) && bound.state.is_running();
    let is_news = bound.state.ralplan().is_some_and(|plan| !ralplan::is_told(plan));
    if !is_ours || plan_files::is_gone(&bound.state) {
        return Ok(Reply::silent());
    }
    let reply = match is_news {
        true => Reply::context(call.input.hook_event_name, &ralplan::told(&bound.state)),
        false => Reply::silent(),
    };
    tell_log(&bound.file, &bound.state, reply)
}

/// Takes the user's answer from the tool's own response.
fn answered(call: &HookCall, bound: &Bound) -> Result<Reply> {
    let event: Value = serde_json::from_slice(&call.raw).unwrap_or_default();
    let Some(plan) = bound.state.ralplan() else { return Ok(Reply::silent()) };
    let is_answer = call.input.hook_event_name == HookEvent::PostToolUse;
    let said = question::answer(plan, &event["tool_response"]).filter(|_| is_answer);
    let Some(said) = said else {
        bound.note(call, "no answer", "silence is not consent", Value::Null);
        return Ok(Reply::silent());
    };
    let start = said.start;
    let said = DecisionRequest {
        kind: said.kind,
        text: said.text,
        by: DecidedBy::Answer,
        via: Some(call.via),
    };
    let mut decided = decide(&call.home, &bound.file, said, ManifestFate::Remove)?;
    let (decision, why) = decided.describe();
    let file = decided.file().unwrap_or(&bound.file).clone();
    crate::active_loop::note(
        &file,
        call,
        &bound.state.position(),
        decision,
        &why,
        json!({"by": "answer"}),
    );
    let told = match &decided {
        Decided::Adjusted(state) => ralplan::told(state),
        Decided::Refused(_) => format!("Ralph: {why}."),
        _ => format!("Ralph: {why} Do not carry it out now: report this, and end your turn."),
    };
    let reply = Reply::context(HookEvent::PostToolUse, &told);
    match &mut decided {
        Decided::Adjusted(state) => tell_log(&file, state, reply),
        Decided::Refused(_) => Ok(reply),
        Decided::Approved { state, planned: Ok(planned), .. } if start => {
            let lines = ralplan::to_tell(state);
            let is_plan_mode = event["permission_mode"] == "plan";
            Ok(start_now(call, planned, is_plan_mode)?.tell_also(&lines))
        }
        Decided::Approved { state, .. } | Decided::Discarded { state, .. } => {
            Ok(reply.tell(messages::line(&why)).tell_also(&ralplan::to_tell(state)))
        }
    }
}

/// The user chose to run the plan in this session. Starts its loop as a typed `/ralph` would.
fn start_now(call: &HookCall, planned: &LoopState, is_plan_mode: bool) -> Result<Reply> {
    let refused = |why: &str| {
        let told = format!(
            "the plan is accepted as loop {}, but the loop did not start: {why}",
            planned.loop_id
        );
        let model =
            format!("Ralph: {told}. Do not carry it out now: report this, and end your turn.");
        Reply::context(HookEvent::PostToolUse, &model).tell(messages::line(&told))
    };
    if is_plan_mode {
        return Ok(refused("plan mode allows no changes; leave it, then type /ralph"));
    }
    let begun = begin::begin(&begin::StartRequest {
        mode: Mode::Plain,
        home: &call.home,
        request: &LoopRequest::default(),
        session_id: &call.input.session_id,
        prompt_id: &call.input.prompt_id,
        project_root: planned.project_root.clone().into(),
        started_by: StartedBy::Person,
        via: Some(call.via),
    });
    let state = match begun {
        Ok(begin::StartOutcome::Started(state, _)) if state.loop_id == planned.loop_id => state,
        Ok(begin::StartOutcome::Refused(why)) => {
            return Ok(refused(&format!("{why}; then type /ralph")));
        }
        Ok(_) => return Ok(refused("another loop started first; type /ralph when it has ended")),
        // The plan stays accepted, and the message must not suggest that it was lost.
        Err(error) => return Ok(refused(&format!("{error:#}; then type /ralph"))),
    };
    if let Some(bound) = Bound::find(call)? {
        bound.note(call, "started", "the user chose it with the plan", json!({"by": "answer"}));
    }
    let heading = mode::of(&state.mode).started_line(&state);
    let text = match lifecycle::by_id(&call.home, &state.loop_id) {
        Some(file) => signals::contract(&heading, &file, &state),
        None => mode::of(&state.mode).loop_prompt(&heading, &state, &[], clock::now()),
    };
    let text = format!("The user agreed to the plan and starts it now.\n{text}");
    Ok(Reply::context(HookEvent::PostToolUse, &text)
        .tell(messages::line(&start::announcement(&state))))
}
