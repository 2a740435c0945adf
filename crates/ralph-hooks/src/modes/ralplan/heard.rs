//! After a tool or an agent of a planning run: judges its report, and tells the session what comes
//! next.

use crate::active_loop::Bound;
use crate::hook_runner::HookCall;
use crate::modes::ralplan::decide::{Decided, DecisionRequest, decide};
use crate::modes::ralplan::{Who, change, inspect_plan, tell_log};
use crate::{active_loop, begin, stop, typed};
use anyhow::Result;
use ralph_core::modes::arguments::LoopRequest;
use ralph_core::modes::ralplan::question::{self, PlanAnswer};
use ralph_core::modes::ralplan::{PlanEvent, PlanOutcome, step};
use ralph_core::modes::{mode, ralplan, start};
use ralph_core::protocol::event::HookEvent;
use ralph_core::protocol::reply::{GoOnForm, Reply};
use ralph_core::state::{DecidedBy, LoopState, Mode, PauseCause, Registration, StartedBy};
use ralph_core::views::messages;
use ralph_io::client;
use ralph_io::process::clock;
use ralph_io::store::lifecycle::ManifestFate;
use ralph_io::store::loop_file::LoopFile;
use ralph_io::store::plan_files;
use serde_json::{Value, json};
use std::path::Path;

/// Answers the result of an agent, or of the question to the user.
pub(super) fn after_a_tool(call: &HookCall) -> Result<Reply> {
    let Some(bound) = heard_by(call)?.filter(|bound| bound.state.is_live()) else {
        return Ok(Reply::silent());
    };
    if call.input.tool_name == "AskUserQuestion" {
        return answered(call, &bound);
    }
    if bound.state.via == Some(Registration::Skill) {
        return pause_without_hooks(call, &bound);
    }
    // An agent that is still working decides what comes next by its report.
    let event: Value = serde_json::from_slice(&call.raw).unwrap_or_default();
    tell_next(call, &bound, event["tool_response"]["status"] != "async_launched")
}

/// The session's planning, unless another copy of the hook answers or the document is gone.
fn heard_by(call: &HookCall) -> Result<Option<Bound>> {
    let bound = Bound::find(call)?;
    Ok(bound.filter(|bound| !bound.is_outranked(call.via) && !plan_files::is_gone(&bound.state)))
}

/// Tells the session the next step if it is due, and the user what happened.
fn tell_next(call: &HookCall, bound: &Bound, is_due: bool) -> Result<Reply> {
    let reply = match is_due {
        true => Reply::context(call.input.hook_event_name, &ralplan::next_step_text(&bound.state)),
        false => Reply::silent(),
    };
    tell_log(&bound.file, &bound.state, reply)
}

/// Pauses the planning: hooks in a skill's front matter do not receive the agents' reports.
fn pause_without_hooks(call: &HookCall, bound: &Bound) -> Result<Reply> {
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
    let Some(bound) = heard_by(call)?.filter(|bound| bound.state.is_running()) else {
        return Ok(Reply::silent());
    };
    let is_news = bound.state.ralplan().is_some_and(|plan| !ralplan::is_told(plan));
    tell_next(call, &bound, is_news)
}

/// Takes the user's answer from the tool's own response.
fn answered(call: &HookCall, bound: &Bound) -> Result<Reply> {
    let event: Value = serde_json::from_slice(&call.raw).unwrap_or_default();
    let is_answer = call.input.hook_event_name == HookEvent::PostToolUse;
    let plan = bound.state.ralplan().filter(|_| is_answer);
    let Some(said) = plan.and_then(|plan| question::answer(plan, &event["tool_response"])) else {
        bound.note(call, "no answer", "silence is not consent", Value::Null);
        return Ok(Reply::silent());
    };
    let PlanAnswer { kind, text, start } = said;
    let said = DecisionRequest { kind, text, by: DecidedBy::Answer, via: Some(call.via) };
    let decided = decide(&call.home, &bound.file, said, ManifestFate::Remove)?;
    let note = |file: &LoopFile, decision: &str, why: &str| {
        let position = bound.state.position();
        active_loop::note(file, call, &position, decision, why, json!({"by": "answer"}));
    };
    let Decided { word, why, mut state, file, planned } = match decided {
        Ok(decided) => decided,
        Err(why) => {
            note(&bound.file, "refused", &why);
            return Ok(Reply::context(HookEvent::PostToolUse, &format!("Ralph: {why}.")));
        }
    };
    note(&file, word, &why);
    if state.ending.is_none() {
        let reply = Reply::context(HookEvent::PostToolUse, &ralplan::next_step_text(&state));
        return tell_log(&file, &state, reply);
    }
    let reply = match planned.filter(|_| start) {
        Some(planned) => start_now(call, &planned, event["permission_mode"] == "plan")?,
        None => not_carried_out(&why, &why),
    };
    Ok(reply.tell_also(&ralplan::to_tell(&mut state)))
}

/// Tells the model and the user what was decided, and that nothing is to be done now.
fn not_carried_out(model: &str, user: &str) -> Reply {
    let model = format!("Ralph: {model} Do not carry it out now: report this, and end your turn.");
    Reply::context(HookEvent::PostToolUse, &model).tell(messages::line(user))
}

/// The user chose to run the plan in this session. Starts its loop as a typed `/ralph` would.
fn start_now(call: &HookCall, planned: &LoopState, is_plan_mode: bool) -> Result<Reply> {
    let refused = |why: &str| {
        let id = &planned.loop_id;
        let told = format!("the plan is accepted as loop {id}, but the loop did not start: {why}");
        not_carried_out(&format!("{told}."), &told)
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
    let started = mode::rules(&state.mode).started_line(&state);
    let heading = format!("The user agreed to the plan and starts it now.\n{started}");
    Ok(typed::contract(call, &heading, &state).tell(messages::line(&start::announcement(&state))))
}

// An agent of a planning run wants to end: judges its report.

/// Takes the report of a subagent, or of a session that a driver started as one.
pub(super) fn reported(call: &HookCall, bound: &Bound) -> Result<Reply> {
    let who = Who::from_call(call);
    if !bound.state.is_live() || plan_files::is_gone(&bound.state) {
        return Ok(Reply::silent());
    }
    let Some(role) = who.role() else { return Ok(Reply::silent()) };
    let message = call.input.last_assistant_message.as_deref().unwrap_or_default();
    let changed = change(&bound.file, |state| {
        state.note_event(call.via);
        let transcript = match call.input.from_subagent() {
            true => &call.input.agent_transcript_path,
            false => &call.input.transcript_path,
        };
        stop::count(state, transcript);
        let (root, rests) = (state.project_root.clone(), !state.is_running());
        let plan = state.ralplan_mut()?;
        // A paused planning run sends no agent back, so the report is taken as it is.
        if rests && !plan.sent_back.contains(&who.id) {
            plan.sent_back.push(who.id.clone());
        }
        let path = ralplan::reported_path(plan, role, message, &root);
        let file = inspect_plan(Path::new(&root), &path);
        Some(step(plan, &PlanEvent::Reported { role, agent: &who.id, message, file }))
    })?;
    let Some((Some(outcome), state)) = changed else { return Ok(Reply::silent()) };
    let is_sent_back = matches!(outcome, PlanOutcome::SentBack(_));
    let (decision, why) = match outcome {
        PlanOutcome::Taken(line) => ("report taken", line),
        PlanOutcome::SentBack(wrong) => ("report sent back", wrong.join("\n")),
        PlanOutcome::Dropped(wrong) => ("report dropped", wrong.join("\n")),
        PlanOutcome::Refused(why) => ("report refused", why),
    };
    let about = json!({"agent": who.id, "kind": who.kind});
    active_loop::note(&bound.file, call, &state.position(), decision, &why, about);
    if !is_sent_back {
        return Ok(Reply::silent());
    }
    let event = call.input.hook_event_name;
    let form = match event {
        HookEvent::Stop => GoOnForm::for_client(&client::ai_agent()),
        _ => GoOnForm::Block,
    };
    Ok(Reply::go_on(event, form, &format!("Ralph sends this back once:\n{why}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook_runner::tests::TestLoop;

    #[test]
    fn one_copy_of_the_hook_hears_for_a_planning_whose_document_is_there() {
        let at = TestLoop::started(Mode::Ralplan, "log in");
        let hears = |via| {
            let call = at.call("PostToolUse", json!({"tool_name": "Agent"}));
            heard_by(&HookCall { via, ..call }).unwrap().is_some()
        };
        assert!(hears(Registration::Settings) && !hears(Registration::Plugin));
        std::fs::remove_file(plan_files::document(&at.root())).unwrap();
        assert!(!hears(Registration::Settings));
    }
}
