//! `ralph-backpressure`: what the model hears after a tool ran.

use crate::bound::{self, Bound};
use crate::door::Call;
use anyhow::Result;
use ralph_core::event::Event;
use ralph_core::reply::Reply;
use ralph_core::state::{Glance, Turn};
use ralph_io::clock;

/// Answers a PostToolUse event.
pub fn answer(call: &Call) -> Result<Reply> {
    if call.input.hook_event_name != Event::PostToolUse {
        return Ok(Reply::silent());
    }
    let Some(bound) = Bound::<Glance>::find(call)? else { return Ok(Reply::silent()) };
    if is_news(call, &bound.state) {
        catch_up(call, &bound)?;
    }
    Ok(Reply::silent())
}

/// True when this call shows what only a hook can see: a registration of higher rank, or which
/// turn the loop drives where it was started without one.
fn is_news(call: &Call, state: &Glance) -> bool {
    let running = state.phase.is_running();
    running && (state.via < Some(call.via) || shows_turn(call, state.turn.is_some(), state.touched))
}

fn shows_turn(call: &Call, known: bool, touched: bool) -> bool {
    !known && !touched && !call.input.from_subagent()
}

fn catch_up(call: &Call, bound: &Bound<Glance>) -> Result<()> {
    bound.file.update(|state| {
        if shows_turn(call, state.turn.is_some(), state.touched) {
            state.turn = Some(Turn::new(call.input.prompt_id.clone(), clock::now()));
        }
        bound::raise(state, call.via);
    })?;
    Ok(())
}
