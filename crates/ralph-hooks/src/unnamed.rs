//! Reports, once in a loop, that the client's events name no session.
//!
//! The environment names the session as well, but a hook does not guess: it leaves the loop alone and
//! tells the user that nothing enforces it.

use crate::active_loop::Bound;
use crate::hook_runner::HookCall;
use ralph_core::protocol::event::HookEvent;
use ralph_core::protocol::reply::Reply;
use ralph_core::state::LoopError;
use ralph_core::views::messages;
use ralph_io::{client, process::clock};

/// The report, if the environment names the session of a live loop and this is the first event to
/// report in. Leaves the call as it was.
#[inline(never)]
pub(crate) fn answer(call: &mut HookCall) -> Option<Reply> {
    // The events whose answer the user sees.
    let is_shown =
        matches!(call.input.hook_event_name, HookEvent::Stop | HookEvent::UserPromptSubmit);
    if !is_shown || call.input.from_subagent() {
        return None;
    }
    call.input.session_id = client::session_id()?;
    let bound = Bound::find(call).ok().flatten();
    call.input.session_id.clear();
    call.believed.take();
    let bound = bound.filter(|bound| bound.state.is_live() && !bound.is_outranked(call.via))?;
    let message = messages::fields_missing(&["session_id"]);
    let is_new = bound.file.update(|state| {
        let is_new = !state.errors.iter().any(|error| error.message == message);
        if is_new {
            state.errors.push(LoopError { at: clock::now(), message: message.clone() });
        }
        is_new
    });
    matches!(is_new, Ok(Some(true))).then(|| Reply::silent().tell(messages::line(&message)))
}
