//! Before a tool runs in a session that plans.

use super::call::may_call;
use super::{Who, change, tell_log};
use crate::active_loop::{self, Bound, JournalLine};
use crate::cancel;
use crate::hook_runner::HookCall;
use anyhow::Result;
use ralph_core::guard::{self, Caller, DenialRecord, LoopActivity, PlanGate, Ruling, Situation};
use ralph_core::modes::ralplan::{self, Role, question};
use ralph_core::protocol::reply::Reply;
use ralph_core::state::{LoopState, PlanPhase, Ralplan};
use ralph_io::{git::repository, store::places, store::plan_files};
use serde_json::Value;
use std::path::Path;

/// The skills that plan, in the texts that Ralph ships.
const SHIPPED: [(&str, &str); 3] = [
    (
        "ralplan",
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../skills/ralplan/SKILL.md")),
    ),
    ("rp", include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../skills/rp/SKILL.md"))),
    (
        "planloop",
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../skills/planloop/SKILL.md")),
    ),
];

/// May this tool run now? An error is a refusal, too: the hook that asks makes it one.
pub(crate) fn before_a_tool(call: &HookCall) -> Result<Reply> {
    let Some(bound) = Bound::<LoopState>::find(call)? else { return Ok(Reply::silent()) };
    if plan_files::is_gone(&bound.state) {
        return removed(call, &bound);
    }
    let Some(plan) = bound.state.ralplan() else { return Ok(Reply::silent()) };
    let who = Who::of(call);
    if let Some((reason, record)) = ruling(call, &bound.state, plan, &who)? {
        // Every copy denies, since the client takes the strictest answer; one of them writes.
        if !bound.is_outranked(call.via) {
            let why = format!("{}: {reason}", record.rule);
            let position = bound.state.position();
            let said = JournalLine {
                position: &position,
                decision: "denied",
                why: &why,
                seen: active_loop::tool(call),
            };
            active_loop::keep(&bound.file, call, said, Some(&record));
        }
        return Ok(Reply::deny(&reason));
    }
    let role = call.input.tool_input.subagent_type.as_deref().and_then(Role::of);
    match (call.input.tool_name.as_str(), role) {
        ("Agent" | "Task", Some(role)) => called(call, &bound, role),
        ("AskUserQuestion", _) => {
            if !bound.is_outranked(call.via) {
                change(&bound.file, |state| state.ralplan_mut().map(ralplan::asked))?;
            }
            Ok(Reply::silent())
        }
        // The client would ask a person for each line that a planner writes. That it may write there is what
        // they have agreed to by starting this. In plan mode it asks all the same: see `is_granted`.
        _ if is_edit(call) => Ok(Reply::allow("a planner writes its plan below `.omc/plans/`")),
        _ => Ok(Reply::silent()),
    }
}

/// Whether a person is asked for what they have agreed to by starting a planning: that its planner writes
/// the plan. Plan mode refuses every edit that no person permits, whatever was said before the tool.
pub(crate) fn is_granted(call: &HookCall, state: &LoopState) -> Result<bool> {
    let Some(plan) = state.ralplan() else { return Ok(false) };
    if !is_edit(call) || plan_files::is_gone(state) {
        return Ok(false);
    }
    Ok(ruling(call, state, plan, &Who::of(call))?.is_none())
}

fn is_edit(call: &HookCall) -> bool {
    matches!(call.input.tool_name.as_str(), "Write" | "Edit" | "MultiEdit")
}

/// The person has removed the document. The turn is cut as by any other cancel.
fn removed(call: &HookCall, bound: &Bound) -> Result<Reply> {
    cancel::end_loop(&call.home, &bound.file, "a person removed the planning's document", false)?;
    match Bound::find(call)? {
        Some(bound) => cancel::cut_turn(call, &bound),
        None => Ok(Reply::silent()),
    }
}

/// What the guard says, with all that it was made from; none where it lets the call through.
fn ruling(
    call: &HookCall,
    state: &LoopState,
    plan: &Ralplan,
    who: &Who,
) -> Result<Option<(String, DenialRecord)>> {
    let root = Path::new(&state.project_root).canonicalize()?;
    let mut places = places::gather(&call.home);
    let resolved = call.input.tool_input.path().and_then(places::resolve);
    let tool_call = guard::ToolCall {
        tool: &call.input.tool_name,
        input: &call.input.tool_input,
        cwd: &call.input.cwd,
        resolved: resolved.as_deref(),
        cut: call.cut,
    };
    places::look(&mut places, &tool_call, &SHIPPED);
    let not_ours = not_its_question(call, plan);
    let elsewhere = git_elsewhere(call, &root);
    let gate = PlanGate {
        awaiting_person: plan.phase == PlanPhase::AwaitingUserApproval,
        planner_writes: plan.phase == PlanPhase::PlannerPlanning,
        project_root: &root.to_string_lossy(),
        plan_path: &plan.plan_path,
        plan_hash: &plan.plan_hash,
        gates_own_question: not_ours.as_deref().map_or(Ok(()), Err),
        git_elsewhere: elsewhere.as_deref(),
    };
    let situation = Situation {
        mode: &state.mode.word(),
        standing: if state.is_running() { LoopActivity::Running } else { LoopActivity::Paused },
        agent: who.kind.as_deref().map_or(Caller::Main, Caller::Subagent),
        session_id: &call.input.session_id,
        places: &places,
        ralplan: Some(gate),
        session: None,
    };
    Ok(match guard::decide(&situation, &tool_call) {
        Ruling::Allow => None,
        Ruling::Deny { rule, reason } => {
            Some((reason, DenialRecord::of(&situation, &tool_call, rule)))
        }
    })
}

/// The folder in which a command line would run git and that is not the project's own repository.
fn git_elsewhere(call: &HookCall, root: &Path) -> Option<String> {
    let line =
        call.input.tool_input.command.as_deref().filter(|_| call.input.tool_name == "Bash")?;
    let Some(folders) = guard::git_folders(line, &call.input.cwd) else {
        return Some("a folder that is computed".to_owned());
    };
    folders.into_iter().find(|folder| !repository::is_one_with(root, Path::new(folder)))
}

/// Why this is not the question of the gate; none where it is, or is no question at all.
fn not_its_question(call: &HookCall, plan: &Ralplan) -> Option<String> {
    if call.input.tool_name != "AskUserQuestion" {
        return None;
    }
    let Ok(event) = serde_json::from_slice::<Value>(&call.raw) else {
        return Some("it cannot be read".to_owned());
    };
    question::is_ours(plan, &event["tool_input"]).err().map(|why| why.to_string())
}

/// An agent of ours is called: each in its turn, and the critic on the text that it will judge.
fn called(call: &HookCall, bound: &Bound, role: Role) -> Result<Reply> {
    // In plan mode and in auto mode the client asks someone whether an agent may be called at all: whoever
    // started the planning has said so. The copy that answers keeps the account.
    if bound.is_outranked(call.via) {
        return Ok(Reply::silent());
    }
    let prompt = call.input.tool_input.prompt.as_deref().unwrap_or_default();
    let root = Path::new(&bound.state.project_root);
    let changed = change(&bound.file, |state| {
        state.note_event(call.via);
        let plan = state.ralplan_mut()?;
        Some(may_call(plan, role, prompt, root))
    })?;
    let Some((Some(refused), changed)) = changed.map(|mut one| (one.outcome.take(), one)) else {
        return Ok(Reply::silent());
    };
    let (decision, why) = match &refused {
        None => ("called", said_or(&changed.lines, role.agent())),
        Some(why) => ("denied", why.clone()),
    };
    active_loop::note(
        &bound.file,
        call,
        &changed.state.position(),
        decision,
        &why,
        active_loop::tool(call),
    );
    let reply = match refused {
        None => Reply::allow(&format!("it is the turn of `{}` in this planning", role.agent())),
        Some(why) => Reply::deny(&format!("{why}\n{}", ralplan::told(&changed.state))),
    };
    tell_log(&bound.file, &changed.state, reply)
}

/// What the log says, or else this.
pub(super) fn said_or(lines: &[String], other: &str) -> String {
    if lines.is_empty() { other.to_owned() } else { lines.join("; ") }
}
