//! Before a tool runs in a planning session.

use super::{Who, change, hash_now, tell_log};
use crate::active_loop::{self, Bound};
use crate::cancel;
use crate::hook_runner::HookCall;
use crate::pre_tool_use::{self, Denial, GuardedCall};
use crate::wall;
use anyhow::{Result, bail};
use ralph_core::guard::{Caller, LoopActivity, PlanGate, Situation};
use ralph_core::modes::ralplan::{self, Role, question};
use ralph_core::protocol::reply::Reply;
use ralph_core::state::{LoopState, PlanPhase};
use ralph_io::{store::loop_file::LoopFile, store::plan_files};
use serde_json::Value;
use std::path::Path;

/// The planning skills as shipped with Ralph.
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

/// Decides whether a tool may run. The calling hook turns an error into a refusal.
pub(super) fn before_a_tool(
    call: &HookCall,
    bound: &Bound,
    activity: LoopActivity,
) -> Result<Reply> {
    if plan_files::is_gone(&bound.state) {
        return removed(call, bound);
    }
    if let Some(denial) = denial(call, Some(&bound.file), &bound.state, activity)? {
        return Ok(pre_tool_use::denied(call, bound, &denial));
    }
    let role = call.input.tool_input.subagent_type.as_deref().and_then(Role::from_agent_type);
    match (call.input.tool_name.as_str(), role) {
        ("Agent" | "Task", Some(role)) => called(call, bound, role),
        ("AskUserQuestion", _) => {
            if !bound.is_outranked(call.via) {
                change(&bound.file, |state| state.ralplan_mut().map(ralplan::asked))?;
            }
            Ok(Reply::silent())
        }
        // Otherwise the client would ask the user about each line that a planner writes. Starting
        // the planning was the user's consent to that. In plan mode the client asks anyway: see
        // `is_granted`.
        _ if is_edit(call) => Ok(Reply::allow("a planner writes its plan below `.omc/plans/`")),
        _ => Ok(Reply::silent()),
    }
}

/// Whether the user has already allowed this call by starting a planning run, whose planner writes
/// the plan. Plan mode refuses every edit without a person's permission, whatever the PreToolUse
/// hook answered.
pub(super) fn is_granted(call: &HookCall, state: &LoopState) -> Result<bool> {
    if !is_edit(call) || plan_files::is_gone(state) {
        return Ok(false);
    }
    Ok(denial(call, None, state, LoopActivity::Running)?.is_none())
}

fn is_edit(call: &HookCall) -> bool {
    matches!(call.input.tool_name.as_str(), "Write" | "Edit" | "MultiEdit")
}

/// The user has removed the document, which cancels the planning. The turn is cut as by any other
/// cancel.
fn removed(call: &HookCall, bound: &Bound) -> Result<Reply> {
    cancel::end_loop(&call.home, &bound.file, "the user removed the planning's document", false)?;
    match Bound::find(call)? {
        Some(bound) => cancel::cut_turn(call, &bound),
        None => Ok(Reply::silent()),
    }
}

/// Why the guard refuses the call; `None` if it may run.
fn denial(
    call: &HookCall,
    file: Option<&LoopFile>,
    state: &LoopState,
    activity: LoopActivity,
) -> Result<Option<Denial>> {
    // The loop has changed since the summary of its state was read.
    let Some(plan) = state.ralplan() else { bail!("the loop is no longer a planning") };
    let root = Path::new(&state.project_root).canonicalize()?;
    let obstacle = wall::runs_lines(&call.input.tool_name)
        .then(|| wall::raise(call, file).err().map(|error| format!("{error:#}")))
        .flatten();
    let not_its_question = (call.input.tool_name == "AskUserQuestion")
        .then(|| {
            let event: Value = serde_json::from_slice(&call.raw).unwrap_or_default();
            question::is_ours(plan, &event["tool_input"]).err()
        })
        .flatten();
    let gate = PlanGate {
        awaiting_person: plan.phase == PlanPhase::AwaitingUserApproval,
        planner_writes: plan.phase == PlanPhase::PlannerPlanning,
        project_root: root.to_string_lossy().into_owned(),
        plan_path: plan.plan_path.clone(),
        plan_hash: plan.plan_hash.clone(),
        not_its_question,
        no_wall: obstacle,
    };
    let who = Who::from_call(call);
    let guarded = GuardedCall::gather(call, None, &SHIPPED);
    let agent = who.kind.as_deref().map_or(Caller::Main, Caller::Subagent);
    let situation = guarded.situation(activity, agent);
    Ok(guarded.denial(&Situation { ralplan: Some(&gate), ..situation }))
}

/// Calls an agent of the planning: each in its turn, and the critic on the frozen text.
fn called(call: &HookCall, bound: &Bound, role: Role) -> Result<Reply> {
    // In plan mode and in auto mode the client checks whether an agent may be called at all.
    // Starting the planning was the user's consent. Only the copy that answers records the call.
    if bound.is_outranked(call.via) {
        return Ok(Reply::silent());
    }
    let prompt = call.input.tool_input.prompt.as_deref().unwrap_or_default();
    let changed = change(&bound.file, |state| {
        state.note_event(call.via);
        let hash_now = hash_now(state);
        Some(ralplan::may_call(state.ralplan_mut()?, role, prompt, &hash_now))
    })?;
    let Some((Some(may), state)) = changed else { return Ok(Reply::silent()) };
    let agent = role.agent();
    let (decision, why, reply) = match may {
        Ok(()) => {
            let why = format!("the next agent of this planning is `{agent}`");
            ("called", agent.to_owned(), Reply::allow(&why))
        }
        Err(why) => {
            let reply = Reply::deny(&format!("{why}\n{}", ralplan::next_step_text(&state)));
            ("denied", why, reply)
        }
    };
    let about = active_loop::tool(call);
    active_loop::note(&bound.file, call, &state.position(), decision, &why, about);
    tell_log(&bound.file, &state, reply)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::begin::{StartOutcome, StartRequest, begin};
    use crate::hook_runner::tests::call;
    use ralph_core::modes::arguments;
    use ralph_core::state::{Mode, Registration, StartedBy};
    use ralph_io::store::home::Home;
    use serde_json::json;

    #[test]
    fn a_call_is_not_let_through_when_another_loop_has_taken_the_place_of_the_planning() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("home"));
        let started = begin(&StartRequest {
            mode: Mode::Plain,
            home: &home,
            request: &arguments::parse("task").unwrap(),
            session_id: "s",
            prompt_id: "p",
            project_root: folder.path().to_owned(),
            started_by: StartedBy::Person,
            via: Some(Registration::Settings),
        });
        assert!(matches!(started.unwrap(), StartOutcome::Started(..)));
        let event =
            json!({"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Write"});
        let call = call(&home, event);
        let bound = Bound::find(&call).unwrap().unwrap();
        let refused = before_a_tool(&call, &bound, LoopActivity::Running).unwrap_err();
        assert_eq!(refused.to_string(), "the loop is no longer a planning");
    }
}
