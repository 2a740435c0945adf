//! What a hook does not hold and `ralph`, which stands beside it, answers in its place.
//!
//! A hook is asked at every event of every session and stays small; what needs the whole state, the
//! project's files or a parser is asked for here, where it is rare.

#[cfg(feature = "session-files")]
use crate::active_loop::Bound;
use crate::hook_runner::HookCall;
#[cfg(feature = "session-files")]
use crate::orchestration;
use crate::{pre_tool_use, ralplan, typed};
use anyhow::Result;
use ralph_core::protocol::event::HookEvent;
use ralph_core::protocol::reply::Reply;
#[cfg(feature = "session-files")]
use ralph_core::state::{Glance, Mode};

/// Answers an event that a hook has handed over.
pub fn answer(call: &HookCall) -> Result<Reply> {
    #[cfg(feature = "session-files")]
    if let Some(reply) = of_a_session(call)? {
        return Ok(reply);
    }
    match call.input.hook_event_name {
        HookEvent::UserPromptExpansion => typed::answer(call),
        HookEvent::UserPromptSubmit => ralplan::woken(call),
        HookEvent::PreToolUse | HookEvent::PermissionRequest => pre_tool_use::handed_over(call),
        HookEvent::PostToolUse | HookEvent::PostToolUseFailure => ralplan::after_a_tool(call),
        HookEvent::SubagentStop | HookEvent::Stop => ralplan::reported(call),
        _ => Ok(Reply::silent()),
    }
}

/// The answer of an orchestrated session; none where none is live here, or the event is answered alike in all
/// modes.
#[cfg(feature = "session-files")]
fn of_a_session(call: &HookCall) -> Result<Option<Reply>> {
    if let Some(reply) = typed::continued(call)? {
        return Ok(Some(reply));
    }
    let hook: fn(&HookCall) -> Result<Reply> = match call.input.hook_event_name {
        HookEvent::UserPromptSubmit => orchestration::woken,
        HookEvent::PreToolUse => orchestration::before_a_tool,
        HookEvent::PostToolUse | HookEvent::PostToolUseFailure => orchestration::after_a_tool,
        HookEvent::SubagentStop => orchestration::reported,
        HookEvent::Stop => orchestration::stopped,
        _ => return Ok(None),
    };
    let bound = Bound::<Glance>::find(call)?;
    let is_one = bound.is_some_and(|bound| bound.state.mode == Mode::Session);
    if is_one { hook(call).map(Some) } else { Ok(None) }
}
