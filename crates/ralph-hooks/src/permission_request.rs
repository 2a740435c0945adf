//! Answers the client's question to the user whether a tool may run. If no user is present, the
//! answer is a refusal that names another way; otherwise the session would wait all night. An
//! orchestration's agents may write their own files, and a planner its plan, since starting them
//! was the user's consent to that.

use crate::active_loop::{self, Bound};
use crate::hook_runner::HookCall;
use crate::modes;
use anyhow::Result;
use ralph_core::project::settings::Settings;
use ralph_core::protocol::permission;
use ralph_core::protocol::reply::Reply;
use ralph_core::state::LoopState;
use ralph_io::client;

#[inline(never)]
pub(crate) fn answer(call: &HookCall) -> Result<Reply> {
    let Some(bound) = Bound::find(call)? else { return Ok(Reply::silent()) };
    if !bound.state.is_running() {
        return Ok(Reply::silent());
    }
    // Every copy permits, since a silent copy would leave the dialog to the user.
    if modes::hooks(&bound.state.mode.word()).is_granted(call, &bound.state)? {
        return Ok(Reply::permit());
    }
    if bound.is_outranked(call.via) {
        return Ok(Reply::silent());
    }
    let (tool, input) = (&call.input.tool_name, &call.input.tool_input);
    let (decision, reply) = match is_unattended(&bound.state) {
        true => ("refused", Reply::withhold(&permission::refusal(tool, input))),
        // The dialog is on the screen. The note tells a later reader what held the loop up.
        false => ("left to the person", Reply::silent()),
    };
    let why = format!("permission was asked for: {tool}{}", permission::about(input));
    bound.note(call, decision, &why, active_loop::tool(call));
    Ok(reply)
}

fn is_unattended(state: &LoopState) -> bool {
    client::is_unattended() || Settings::from_state(state).client().unattended == Some(true)
}
