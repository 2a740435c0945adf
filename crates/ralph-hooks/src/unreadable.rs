//! What a hook answers if its loop cannot be used or written: the session stays bound.
//!
//! A session that does not certainly belong to Ralph gets no answer.

use crate::active_loop::{self, UnreadableLoop};
use crate::hook_runner::HookCall;
use crate::wall;
use anyhow::{Error, Result};
use ralph_core::guard::gates::{self, UnreadableCall};
use ralph_core::protocol::event::HookEvent;
use ralph_core::protocol::registration::STOP_HOOK;
use ralph_core::protocol::reply::Reply;
use ralph_core::views::messages;
use ralph_io::client;
use ralph_io::project::settings;
use ralph_io::store::lifecycle::{self, LoopOwnership};
use serde_json::Value;

/// The answer of a hook that has failed.
///
/// # Errors
/// The error itself, if there is nothing to answer.
#[inline(never)]
pub(crate) fn answer(call: &HookCall, error: Error) -> Result<Reply> {
    let text = format!("{error:#}");
    let is_unreadable = error.is::<UnreadableLoop>();
    if !is_unreadable && !lifecycle::is_bound(&call.home, &call.input.session_id) {
        return Err(error);
    }
    let failure = if is_unreadable { Failure::Unreadable(&text) } else { Failure::Other(&text) };
    Ok(match call.input.hook_event_name {
        HookEvent::PreToolUse => before_a_tool(call, &failure),
        HookEvent::Stop | HookEvent::UserPromptSubmit if !call.input.from_subagent() => {
            tell(call, &failure)
        }
        HookEvent::SessionStart if is_unreadable => tell(call, &failure),
        _ => return Err(error),
    })
}

enum Failure<'a> {
    /// The loop cannot be used.
    Unreadable(&'a str),
    /// The loop can be used, but the step failed.
    Other(&'a str),
}

fn before_a_tool(call: &HookCall, failure: &Failure<'_>) -> Reply {
    let asked = UnreadableCall {
        tool: &call.input.tool_name,
        command: call.input.tool_input.command.as_deref(),
        cut: call.cut,
        // Where the loop can be read, the shell would find no reason for a wall.
        walled: matches!(failure, Failure::Unreadable(_))
            && wall::runs_lines(&call.input.tool_name)
            && wall::raise(call, None).is_ok(),
    };
    let (Failure::Unreadable(why) | Failure::Other(why)) = failure;
    match (gates::judge_unreadable(asked, why), failure) {
        (Ok(()), _) => Reply::silent(),
        (Err(refusal), Failure::Unreadable(_)) => Reply::deny(&refusal),
        (Err(_), Failure::Other(why)) => Reply::deny(&undecided(why)),
    }
}

/// Tells the user in one line, although each registration of the hooks starts a copy of this one.
fn tell(call: &HookCall, failure: &Failure<'_>) -> Reply {
    let is_in_settings = || settings::of_client_mention(STOP_HOOK);
    if !call.via.speaks(client::plugin_root().is_some(), is_in_settings) {
        return Reply::silent();
    }
    Reply::silent().tell(messages::line(&match failure {
        Failure::Unreadable(why) => messages::unusable(why, &call.home.root().to_string_lossy()),
        Failure::Other(why) => messages::step_failed(why),
    }))
}

/// The refusal of a tool call that could not be decided about.
pub(crate) fn undecided(why: &str) -> String {
    format!(
        "Ralph could not decide about this call ({why}), so it is refused. Try again; if it is \
         refused again, end your turn and tell the user to run `ralph doctor`."
    )
}

/// Ends a loop that cannot be used, at the user's request. Returns the message for the user.
///
/// # Errors
/// The error itself, if it is of another kind or no loop could be ended.
pub(crate) fn cancel(call: &HookCall, error: Error) -> Result<Reply> {
    if !error.is::<UnreadableLoop>() {
        return Err(error);
    }
    let how = format!("by the user in this session; its state could not be used: {error:#}");
    let whose = LoopOwnership::Typed(&call.input.session_id, &call.input.prompt_id);
    let Some(given_up) = lifecycle::give_up(&call.home, &whose, &how)? else { return Err(error) };
    let state = &given_up.state;
    active_loop::note(&given_up.file, call, &state.position(), "ended", &how, Value::Null);
    let told = messages::ended(state);
    Ok(Reply::keep_from_model(&format!("{told} Its state could not be used: {error:#}")))
}
