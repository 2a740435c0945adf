//! `ralph ralplan status`: how far a planning is, and everything that agents and
//! the user have said.
//!
//! Prompts for agents may be shortened; this output is complete.

use super::PlanViewArgs;
use crate::command::context_dir::Here;
use crate::command::exit::Exit;
use crate::command::screen::{self, visible, visible_lines};
use anyhow::Result;
use ralph_core::modes::ralplan::{self, position, short};
use ralph_core::state::{LoopState, RalplanState};
use ralph_core::views::messages;
use ralph_io::store::plan_files;
use serde_json::json;
use std::fmt::Write as _;
use std::path::Path;

pub(super) fn run(here: &Here, args: &PlanViewArgs) -> Result<Exit> {
    let state = super::live(here, &args.which)?.state;
    let plan = &state.ralplan().cloned().unwrap_or_default();
    let now = plan_files::plan_hash(Path::new(&state.project_root), &plan.plan_path);
    let next = ralplan::next(plan, ralplan::prefix(&state));
    if args.json {
        let document = json!({
            "schema_version": 1, "loop_id": state.loop_id, "session_id": state.session_id,
            "phase": state.phase, "pause": state.pause, "ralplan": plan, "plan_hash_now": now, "next": next,
        });
        screen::print_json(&document)?;
    } else {
        screen::print(&visible_lines(&told(&state, plan, &now)))?;
        screen::print(&visible_lines(&format!("\n{next}")))?;
    }
    Ok(Exit::Done)
}

fn told(state: &LoopState, plan: &RalplanState, now: &str) -> String {
    let mut text = format!(
        "planning {}  {}  plan {}",
        visible(&state.loop_id),
        visible(plan.phase.as_str()),
        position(plan)
    );
    if state.pause.is_some() && !state.awaits_decision() {
        let _ = write!(text, "\n{}", messages::paused(state));
    }
    let _ = write!(text, "\nTask: {}", plan.task);
    if !plan.plan_path.is_empty() {
        let _ = write!(text, "\nPlan: {}{}", plan.plan_path, version(plan, now));
    }
    if let Some(verdict) = &plan.verdict {
        let word = if verdict.okay { "OKAY" } else { "REJECT" };
        let _ = write!(text, "\nVerdict: {word} on {}", short(&verdict.plan_hash));
    }
    for (head, items) in [
        ("Criteria", &plan.criteria),
        ("Tasks", &plan.tasks),
        ("Left open by the critic", &plan.concerns),
        ("Failed gates", &plan.failed_gates),
        ("Questions for the architect", &plan.questions),
        ("Answers of the architect", &plan.answers),
    ] {
        for (at, item) in items.iter().enumerate() {
            let head = if at == 0 { format!("\n{head}:") } else { String::new() };
            let _ = write!(text, "{head}\n  {}. {item}", at + 1);
        }
    }
    for (head, said) in [("Feedback for the planner", &plan.feedback), ("Gaps", &plan.gaps)] {
        if !said.is_empty() {
            let _ = write!(text, "\n{head}:\n  {}", said.replace('\n', "\n  "));
        }
    }
    for (at, line) in plan.log.iter().enumerate() {
        let _ = write!(text, "{}\n  {line}", if at == 0 { "\nLog:" } else { "" });
    }
    text
}

/// Which version of the plan is meant, and whether the file has changed since.
fn version(plan: &RalplanState, now: &str) -> String {
    let judged = if plan.plan_hash.is_empty() { &plan.ready_hash } else { &plan.plan_hash };
    match (judged.as_str(), now) {
        (_, "") => " (not there)".to_owned(),
        ("", now) => format!(" ({})", short(now)),
        (judged, now) if judged == now => format!(" ({})", short(now)),
        (judged, now) => format!(" ({}; changed since, it is {} now)", short(judged), short(now)),
    }
}
