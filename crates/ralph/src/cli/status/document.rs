//! The list as JSON. `docs/reference/status.md` describes each member; a test keeps
//! the two in step.

use super::{LoopList, text};
use crate::cli::status::LoopView;
use jiff::Timestamp;
use ralph_core::evidence::pinned;
use ralph_core::state::{Criterion, Worker};
use ralph_core::tasks::graph;
use serde_json::{Value, json};

pub(super) fn document(listed: &LoopList, now: Timestamp) -> Value {
    let loops: Vec<Value> = listed.loops.iter().map(|one| of_loop(one, now)).collect();
    let unreadable: Vec<Value> = listed
        .unreadable
        .iter()
        .map(|(path, reason)| json!({"path": path.display().to_string(), "reason": reason}))
        .collect();
    json!({"schema_version": 1, "loops": loops, "unreadable": unreadable})
}

fn of_loop(one: &LoopView, now: Timestamp) -> Value {
    let state = &one.state;
    let criteria: Vec<Value> =
        state.acceptance_criteria.iter().map(|criterion| of_criterion(one, criterion)).collect();
    json!({
        "loop_id": state.loop_id,
        "session_id": state.session_id,
        "parent": state.parent,
        "mode": state.mode.word(),
        "phase": state.phase,
        "resume_phase": state.resume_phase,
        "iteration": state.iteration,
        "max_iterations": state.max_iterations,
        "project_root": state.project_root,
        "prompt": state.prompt,
        "completion": state.completion,
        "criteria": criteria,
        "criteria_as_agreed": pinned::is_as_frozen(state),
        "baseline_pending": state.baseline_pending,
        "tasks": graph::summary(&state.task_graph, now),
        "progress": {
            "signal": state.progress.signal,
            "standing": state.progress.standing,
            "same_failure": state.progress.same_failure,
            "stall_limit": state.stall_limit,
        },
        "tokens": {"used": state.usage.total(), "limit": state.limits.max_tokens},
        "cost": {"used": state.usage.cost, "limit": state.limits.max_cost},
        "minutes": {"used": one.minutes(now), "limit": state.limits.max_minutes},
        "checkpoint": state.checkpoint.as_ref().map(|green| json!({
            "number": one.checkpoint_number(),
            "reference": green.reference,
            "at": green.at,
        })),
        "blocked": state.blocked,
        "cut": one.cut(),
        "client": one.client().map(|version| version.to_string()),
        "workers": state.workers.iter().map(of_worker).collect::<Vec<_>>(),
        "signals": {"waiting": one.signals_waiting()},
        "ralplan": state.ralplan().map(|plan| json!({
            "phase": plan.phase,
            "iteration": plan.iteration,
            "max_iterations": plan.max_iterations,
            "plan_path": plan.plan_path,
            "plan_hash": plan.plan_hash,
            "forced": plan.forced,
        })),
        "session": state.orchestration().map(|session| json!({
            "id": session.id,
            "calls": session.calls.iter().map(|call| json!({
                "mode": call.mode, "task": call.task, "iteration": call.iteration, "since": call.since,
            })).collect::<Vec<_>>(),
        })),
        "refine": state.refining().map(|refining| json!({
            "session": refining.name,
            "open": refining.open,
            "agents_called": refining.calls.len(),
        })),
        "pause": state.pause,
        "ending": state.ending,
        "next": text::next(one),
        "created_at": state.created_at,
        "started_at": state.started_at,
        "updated_at": state.updated_at,
        "started_by": state.started_by,
        "state_file": one.file.path().display().to_string(),
    })
}

fn of_worker(worker: &Worker) -> Value {
    json!({
        "task": worker.task,
        "about": worker.about,
        "kind": worker.kind,
        "standing": worker.standing,
        "at": worker.at,
        "worktree": worker.worktree,
        "branch": worker.branch,
        "awaits_merge": worker.awaits_merge(),
        "merged": worker.merged,
        "kept_out": worker.kept_out,
    })
}

fn of_criterion(one: &LoopView, criterion: &Criterion) -> Value {
    let receipt = criterion.receipt.as_ref();
    json!({
        "id": criterion.id,
        "description": criterion.description,
        "command": criterion.verification_command,
        "review": criterion.review,
        "verified": one.is_proven(criterion),
        "state": one.standing(criterion).as_str(),
        "changed": one.changed(criterion),
        "exit_code": receipt.and_then(|receipt| receipt.exit_code),
        "tests_run": receipt.and_then(|receipt| receipt.tests_run),
        "tests_expected": criterion.tests_expected,
        "tests_skipped": receipt.map(|receipt| receipt.tests_skipped),
        "tests_failed": receipt.map(|receipt| receipt.tests_failed),
        "held_before": criterion.held_before,
        "turned_red": criterion.turned_red,
    })
}
