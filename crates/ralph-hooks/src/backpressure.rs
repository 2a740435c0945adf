//! `ralph-backpressure`: what the model hears after a tool ran.

use crate::bound::Bound;
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

/// True when this call shows what only a hook can see: a registration of higher rank, which turn
/// the loop drives where no prompt has said it, or that the turn is at work. All of it is news once
/// in a turn; the calls that follow write nothing.
fn is_news(call: &Call, state: &Glance) -> bool {
    let works = !call.input.from_subagent() && !state.turn.as_ref().is_some_and(|turn| turn.worked);
    state.phase.is_running() && (state.via < Some(call.via) || works)
}

fn catch_up(call: &Call, bound: &Bound<Glance>) -> Result<()> {
    bound.file.update(|state| {
        // A loop may have been paused since it was looked at: nothing is outstanding then.
        if state.is_running() && !call.input.from_subagent() {
            // Without one, the session was started without a hook, or woken without a prompt.
            let turn = state
                .turn
                .get_or_insert_with(|| Turn::new(call.input.prompt_id.as_str(), clock::now()));
            turn.worked = true;
        }
        state.note_event(call.via);
    })?;
    Ok(())
}
