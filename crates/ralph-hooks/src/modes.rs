//! The table of what each mode does in a hook. The defaults are those of a plain loop; every
//! other mode has a folder here. Its rules are in the folder of the same name in
//! `ralph_core::modes`.

pub mod orchestration;
pub mod ralplan;
pub mod refine;

use crate::active_loop::Bound;
use crate::begin::{self, StartOutcome, StartRequest};
use crate::hook_runner::HookCall;
use crate::{backpressure, pre_tool_use, stop, workers};
use anyhow::Result;
use ralph_core::guard::LoopActivity;
use ralph_core::modes::arguments::Options;
use ralph_core::protocol::reply::Reply;
use ralph_core::state::{LoopState, Mode};

/// What a mode does in a hook.
pub(crate) trait ModeHooks {
    /// Decides whether a tool may run.
    fn before_a_tool(
        &self,
        call: &HookCall,
        bound: &Bound,
        activity: LoopActivity,
    ) -> Result<Reply> {
        match pre_tool_use::refusal(call, bound, activity) {
            Some(refusal) => Ok(refusal),
            None if activity == LoopActivity::Running && workers::starts_one(call) => {
                workers::may_start(call, bound)
            }
            None => Ok(Reply::silent()),
        }
    }

    /// True if the user has allowed this call by starting the loop.
    fn is_granted(&self, _call: &HookCall, _state: &LoopState) -> Result<bool> {
        Ok(false)
    }

    /// Answers the result of a tool, which may have changed these files.
    fn after_a_tool(&self, call: &HookCall, bound: &Bound, files: &[String]) -> Result<Reply> {
        if workers::starts_one(call) {
            workers::started(call, bound)?;
        }
        Ok(backpressure::checked(call, bound, files))
    }

    /// Answers a subagent of a live loop that wants to end.
    fn subagent_stopped(&self, call: &HookCall, bound: Bound) -> Result<Reply> {
        workers::stopped(call, bound)
    }

    /// Answers a turn that wants to end.
    fn stopped(&self, call: &HookCall, bound: Bound) -> Result<Reply> {
        Ok(stop::at_stop(call, bound, None)?.0)
    }

    /// Why no loop of this mode starts with these options.
    fn refused_options(&self, _options: &Options) -> Option<&'static str> {
        None
    }

    /// Starts a loop, or continues the one that the request means.
    fn begin(&self, asked: &StartRequest<'_>) -> Result<StartOutcome> {
        begin::begin_plain(asked)
    }

    /// Takes the first step of a loop that was just started or continued in this session.
    fn first_step(&self, _call: &HookCall, state: LoopState) -> Result<LoopState> {
        Ok(state)
    }

    /// Answers a typed prompt that this mode understands as a command.
    fn prompted(&self, _call: &HookCall, _state: &LoopState) -> Result<Option<Reply>> {
        Ok(None)
    }

    /// Answers the prompt with which the client reports the end of a background agent.
    fn background_agent_ended(&self, _call: &HookCall) -> Result<Reply> {
        Ok(Reply::silent())
    }
}

/// The row of a mode. A mode of a later version gets that of a plain loop.
pub(crate) fn hooks(mode: &Mode) -> &'static dyn ModeHooks {
    match mode {
        Mode::Plain | Mode::Refine | Mode::Other(_) => &PlainHooks,
        Mode::Ralplan => &ralplan::RalplanHooks,
        Mode::Orchestration => &orchestration::OrchestrationHooks,
    }
}

struct PlainHooks;

impl ModeHooks for PlainHooks {}
