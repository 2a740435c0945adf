//! What a hook does not hold and `ralph`, which stands beside it, answers in its place.
//!
//! A hook is asked at every event of every session and stays small; what needs the whole state, the
//! project's files or a parser is asked for here, where it is rare.

use crate::door::Call;
use crate::{pre_tool_use, ralplan, typed};
use anyhow::Result;
use ralph_core::event::Event;
use ralph_core::reply::Reply;

/// Answers an event that a hook has handed over.
pub fn answer(call: &Call) -> Result<Reply> {
    match call.input.hook_event_name {
        Event::UserPromptExpansion => typed::answer(call),
        Event::UserPromptSubmit => ralplan::woken(call),
        Event::PreToolUse | Event::PermissionRequest => pre_tool_use::handed_over(call),
        Event::PostToolUse | Event::PostToolUseFailure => ralplan::after_a_tool(call),
        Event::SubagentStop | Event::Stop => ralplan::reported(call),
        _ => Ok(Reply::silent()),
    }
}
