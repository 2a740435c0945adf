//! `ralph-backpressure`: what the model hears after a tool ran.

use crate::bound::{self, Bound};
use crate::door::Call;
use anyhow::Result;
use ralph_core::event::Event;
use ralph_core::reply::Reply;

/// Answers a PostToolUse event.
pub fn answer(call: &Call) -> Result<Reply> {
    if call.input.hook_event_name != Event::PostToolUse {
        return Ok(Reply::silent());
    }
    let Some(bound) = Bound::find(call)? else { return Ok(Reply::silent()) };
    if bound.state.is_running() && bound.state.via < Some(call.via) {
        bound.file.update(|state| bound::raise(state, call.via))?;
    }
    Ok(Reply::silent())
}
