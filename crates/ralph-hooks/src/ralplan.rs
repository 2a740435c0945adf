//! Consensus planning in a session, or driven by a program: who begins it, which tool runs, what a report
//! counts for, and what the person decided.
//!
//! The rules are in `ralph_core::modes::ralplan` and the guard. Here they are given what they need, under the state's
//! lock, and the project's document is brought to what came of it.

mod begin;
mod call;
mod decide;
mod drive;
mod heard;
mod report;
mod tool;

pub(crate) use begin::begin;
pub(crate) use decide::plan_the_loop;
pub use decide::{Decided, DecisionRequest, decide};
pub use drive::{DriverStep, RoundSession, drive};
pub(crate) use heard::{after_a_tool, woken};
pub(crate) use report::reported;
pub(crate) use tool::{before_a_tool, is_granted};

use crate::hook_runner::HookCall;
use anyhow::Result;
use ralph_core::modes::ralplan::{self, PlanSeen, Role};
use ralph_core::protocol::reply::Reply;
use ralph_core::state::{LoopState, Ralplan};
use ralph_core::tasks::plan;
use ralph_io::store::loop_file::LoopFile;
use ralph_io::{client, store::plan_files};
use std::path::Path;

/// True for a call whose result the planning has something to say about.
pub(crate) fn wants_to_hear(call: &HookCall) -> bool {
    !call.input.from_subagent()
        && matches!(call.input.tool_name.as_str(), "Agent" | "Task" | "AskUserQuestion")
}

/// Who makes a call, as the planning knows agents: by the type that the client names for a subagent, or
/// by the mark of the driver that has started this whole session for one.
pub(crate) struct Who {
    /// The agent's type; none for a conversation that only orchestrates.
    pub kind: Option<String>,
    /// The client's id of the agent, or of the session that is one.
    pub id: String,
}

impl Who {
    pub(crate) fn of(call: &HookCall) -> Who {
        let input = &call.input;
        match input.from_subagent() {
            true => Who { kind: Some(input.agent_type.clone()), id: input.agent_id.clone() },
            false => Who { kind: driven_as(&input.agent_type), id: input.session_id.clone() },
        }
    }

    pub(crate) fn role(&self) -> Option<Role> {
        self.kind.as_deref().and_then(Role::of)
    }
}

/// The agent that a driver has started this session as, where the client does not name another for it.
fn driven_as(named: &str) -> Option<String> {
    let kind = client::planning_agent()?;
    (named.is_empty() || Role::of(named) == Role::of(&kind)).then_some(kind)
}

/// The plan at a path, with all that keeps it from its critic; none if there is no such plan.
fn look(root: &Path, path: &str) -> Option<PlanSeen> {
    let mut seen = plan_files::look(root, path)?;
    let text = plan_files::plan_text(root, path).unwrap_or_default();
    if let Ok(plan) = plan::parse(&text) {
        seen.gates.extend(crate::begin::cannot_start(&plan.criteria, root));
    }
    Some(seen)
}

/// What a change has done.
struct PlanningChange<T> {
    outcome: T,
    state: LoopState,
    /// What the log says of it.
    lines: Vec<String>,
}

/// Changes a live planning under its lock and shows what came of it; none if it is not live any more.
fn change<T>(
    file: &LoopFile,
    change: impl FnOnce(&mut LoopState) -> T,
) -> Result<Option<PlanningChange<T>>> {
    let changed = file.update(|state| {
        if !state.is_live() || state.ralplan().is_none() {
            return None;
        }
        let before = take_log(state);
        let outcome = change(state);
        let lines = take_log(state);
        let is_of_driver = state.round.is_some();
        if let Some(plan) = state.ralplan_mut() {
            plan.log = ralplan::log_of(before, &lines);
            // What a driver's rounds bring is told in its terminal.
            if !is_of_driver {
                ralplan::keep_to_tell(plan, &lines);
            }
        }
        Some(PlanningChange { outcome, state: state.clone(), lines })
    })?;
    let Some(changed) = changed.flatten() else { return Ok(None) };
    plan_files::show_change(&changed.state)?;
    Ok(Some(changed))
}

/// Shows the person the lines of the log that they have not seen, with whatever else an answer tells.
pub(crate) fn tell_log(file: &LoopFile, state: &LoopState, reply: Reply) -> Result<Reply> {
    let has_any = state.ralplan().is_some_and(|plan| !plan.untold.is_empty());
    if !has_any {
        return Ok(reply);
    }
    // Under the lock, since several agents may end at once.
    let lines = file.update(ralplan::to_tell)?;
    Ok(reply.tell_also(&lines.unwrap_or_default()))
}

fn take_log(state: &mut LoopState) -> Vec<String> {
    state.ralplan_mut().map(|plan: &mut Ralplan| std::mem::take(&mut plan.log)).unwrap_or_default()
}
