//! An orchestration (ralph-v2) in a conversation or driven by a program: who starts it, which tool
//! calls run, how an agent's end counts, what comes next, and when it is over.
//!
//! The rules are in `ralph_core::modes::orchestration` and the guard. Where both locks are needed,
//! the order is always the same: the state's, then the orchestration folder's. A stop without an
//! agent under way asks the router under the folder's lock alone.

mod after;
mod artefact;
mod begin;
mod feedback;
#[cfg(test)]
mod fixture;
mod routing;
mod tool;

pub(crate) use feedback::prompted_without_a_loop;
pub use routing::{as_driven, driving, use_up};

use super::ModeHooks;
use crate::active_loop::Bound;
use crate::begin::{StartOutcome, StartRequest};
use crate::hook_runner::{self, HookCall};
use crate::{backpressure, unreadable, workers};
use anyhow::Result;
use ralph_core::guard::{self, LoopActivity};
use ralph_core::protocol::reply::Reply;
use ralph_core::state::LoopState;

pub(super) struct OrchestrationHooks;

impl ModeHooks for OrchestrationHooks {
    fn before_a_tool(
        &self,
        call: &HookCall,
        bound: &Bound,
        activity: LoopActivity,
    ) -> Result<Reply> {
        if guard::only_looks(&call.input.tool_name) {
            return Ok(Reply::silent());
        }
        let undecided = unreadable::undecided("an internal error");
        hook_runner::answer_on_a_mistake(Reply::deny(&undecided));
        tool::before_a_tool(call, bound, activity)
    }

    fn is_granted(&self, call: &HookCall, state: &LoopState) -> Result<bool> {
        tool::is_granted(call, state)
    }

    fn after_a_tool(&self, call: &HookCall, bound: &Bound, files: &[String]) -> Result<Reply> {
        match workers::starts_one(call) {
            true => after::after_an_agent(call),
            false => Ok(backpressure::checked(call, bound, files)),
        }
    }

    fn subagent_stopped(&self, call: &HookCall, bound: Bound) -> Result<Reply> {
        after::reported(call, &bound)
    }

    fn stopped(&self, call: &HookCall, bound: Bound) -> Result<Reply> {
        match bound.state.is_running() {
            // The files of an orchestration decide what comes next.
            true => after::stopped(call, bound),
            false => Ok(crate::stop::at_stop(call, bound, None)?.0),
        }
    }

    fn begin(&self, asked: &StartRequest<'_>) -> Result<StartOutcome> {
        begin::begin(asked)
    }

    fn first_step(&self, call: &HookCall, _state: LoopState) -> Result<LoopState> {
        after::first_look(call)
    }

    fn prompted(&self, call: &HookCall, state: &LoopState) -> Result<Option<Reply>> {
        feedback::prompted(call, state)
    }

    fn background_agent_ended(&self, call: &HookCall) -> Result<Reply> {
        after::woken(call)
    }
}
