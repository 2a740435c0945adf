//! After a tool or an agent of a planning run: judges its report, and tells the session what comes
//! next.

use crate::active_loop::Bound;
use crate::hook_runner::HookCall;
use crate::modes::ralplan::decide::{Decided, DecisionRequest, decide};
use crate::modes::ralplan::tool::said_or;
use crate::modes::ralplan::{Who, change, inspect_plan, tell_log};
use crate::{active_loop, begin, signals, stop};
use anyhow::Result;
use ralph_core::modes::arguments::LoopRequest;
use ralph_core::modes::ralplan::{PlanEvent, PlanOutcome, PlanSeen, Role, formats, question, step};
use ralph_core::modes::{mode, ralplan, start};
use ralph_core::protocol::event::{HookEvent, HookEvent as Hook};
use ralph_core::protocol::reply::{GoOnForm, Reply};
use ralph_core::state::{
    DecidedBy, LoopState, Mode, PauseCause, RalplanState, Registration, StartedBy,
};
use ralph_core::views::messages;
use ralph_io::client;
use ralph_io::process::clock;
use ralph_io::store::lifecycle::ManifestFate;
use ralph_io::store::{lifecycle, plan_files};
use serde_json::{Value, json};
use std::path::Path;

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
        return pause_without_hooks(call, &bound);
    }
    // The agent is still working, and its report decides what comes next.
    let event: Value = serde_json::from_slice(&call.raw).unwrap_or_default();
    let reply = match event["tool_response"]["status"] == "async_launched" {
        true => Reply::silent(),
        false => Reply::context(call.input.hook_event_name, &ralplan::next_step_text(&bound.state)),
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
    let Some(bound) = Bound::find(call)? else { return Ok(Reply::silent()) };
    let is_ours = !bound.is_outranked(call.via) && bound.state.is_running();
    let is_news = bound.state.ralplan().is_some_and(|plan| !ralplan::is_told(plan));
    if !is_ours || plan_files::is_gone(&bound.state) {
        return Ok(Reply::silent());
    }
    let reply = match is_news {
        true => Reply::context(call.input.hook_event_name, &ralplan::next_step_text(&bound.state)),
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
        Decided::Adjusted(state) => ralplan::next_step_text(state),
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
    let heading = mode::rules(&state.mode).started_line(&state);
    let text = match lifecycle::by_id(&call.home, &state.loop_id) {
        Some(file) => signals::contract(&heading, &file, &state),
        None => mode::rules(&state.mode).loop_prompt(&heading, &state, &[], clock::now()),
    };
    let text = format!("The user agreed to the plan and starts it now.\n{text}");
    Ok(Reply::context(HookEvent::PostToolUse, &text)
        .tell(messages::line(&start::announcement(&state))))
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
    let root = Path::new(&bound.state.project_root);
    let seen = if role == Role::Planner { ready(root, message) } else { None };
    let changed = change(&bound.file, |state| {
        state.note_event(call.via);
        let transcript = match call.input.from_subagent() {
            true => &call.input.agent_transcript_path,
            false => &call.input.transcript_path,
        };
        stop::count(state, transcript);
        // A paused planning run sends no agent back, so the report is taken as it is.
        let rests = !state.is_running();
        let plan = state.ralplan_mut()?;
        if rests && !plan.sent_back.contains(&who.id) {
            plan.sent_back.push(who.id.clone());
        }
        Some(take(plan, role, &who.id, message, seen, root))
    })?;
    let Some(changed) = changed else { return Ok(Reply::silent()) };
    let Some(outcome) = changed.outcome else { return Ok(Reply::silent()) };
    let (decision, why) = describe_outcome(&outcome, &changed.lines);
    let about = json!({"agent": who.id, "kind": who.kind});
    active_loop::note(&bound.file, call, &changed.state.position(), decision, &why, about);
    Ok(match outcome {
        PlanOutcome::SentBack(_) => {
            let form = match call.input.hook_event_name {
                Hook::Stop => GoOnForm::for_client(&client::ai_agent()),
                _ => GoOnForm::Block,
            };
            Reply::go_on(
                call.input.hook_event_name,
                form,
                &format!("Ralph sends this back once:\n{why}"),
            )
        }
        _ => Reply::silent(),
    })
}

fn take(
    plan: &mut RalplanState,
    role: Role,
    agent: &str,
    message: &str,
    seen: Option<PlanSeen>,
    root: &Path,
) -> PlanOutcome {
    let hash_now;
    let event = match role {
        Role::Planner => PlanEvent::PlannerReported { agent, message, plan: seen },
        Role::Architect => PlanEvent::ArchitectReported { agent, message },
        Role::GapFinder => PlanEvent::GapFinderReported { message },
        Role::Critic => {
            hash_now = plan_files::plan_hash(root, &plan.plan_path);
            PlanEvent::CriticReported { agent, message, hash_now: &hash_now }
        }
    };
    step(plan, &event)
}

/// The plan that a planner calls ready, with everything that keeps it from the critic.
fn ready(root: &Path, message: &str) -> Option<PlanSeen> {
    let path = formats::plan_ready(message)?.ok()?;
    let root_named = format!("{}/", root.display());
    let path = path.strip_prefix("./").or(path.strip_prefix(&root_named)).unwrap_or(&path);
    inspect_plan(root, path).or_else(|| {
        // A plan in the wrong place is reported as such; a missing one counts as no plan.
        let is_plan = ralph_core::modes::ralplan::is_plans_place(path);
        (!is_plan).then(|| PlanSeen { path: path.to_owned(), ..PlanSeen::default() })
    })
}

/// The decision in a word or two, and the reason.
fn describe_outcome(outcome: &PlanOutcome, lines: &[String]) -> (&'static str, String) {
    match outcome {
        PlanOutcome::Moved(phases) => {
            let to = phases.last().map(ToString::to_string).unwrap_or_default();
            ("report taken", said_or(lines, &format!("now {to}")))
        }
        PlanOutcome::Noted => ("report taken", said_or(lines, "noted")),
        PlanOutcome::SentBack(wrong) => ("report sent back", wrong.join("\n")),
        PlanOutcome::Dropped(wrong) => ("report dropped", wrong.join("\n")),
        PlanOutcome::Refused(why) => ("report refused", why.clone()),
    }
}
