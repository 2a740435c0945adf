//! An agent of a planning run wants to end: judges its report.

use super::tool::said_or;
use super::{Who, change, look};
use crate::active_loop::{self, Bound};
use crate::hook_runner::HookCall;
use crate::stop;
use anyhow::Result;
use ralph_core::modes::ralplan::{PlanEvent, PlanOutcome, PlanSeen, Role, formats, step};
use ralph_core::protocol::event::HookEvent as Hook;
use ralph_core::protocol::reply::{GoOnForm, Reply};
use ralph_core::state::RalplanState;
use ralph_io::{client, store::plan_files};
use serde_json::json;
use std::path::Path;

/// Takes the report of a subagent, or of a session that a driver started as one.
pub(super) fn reported(call: &HookCall, bound: &Bound) -> Result<Reply> {
    let who = Who::of(call);
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
    let (decision, why) = told(&outcome, &changed.lines);
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
    look(root, path).or_else(|| {
        // A plan in the wrong place is reported as such; a missing one counts as no plan.
        let is_plan = ralph_core::modes::ralplan::is_plans_place(path);
        (!is_plan).then(|| PlanSeen { path: path.to_owned(), ..PlanSeen::default() })
    })
}

/// The decision in a word or two, and the reason.
fn told(outcome: &PlanOutcome, lines: &[String]) -> (&'static str, String) {
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
