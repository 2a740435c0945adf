//! `ralph-pre-tool-use`: may this tool run now?
//!
//! The rule is the guard's table in `ralph-core`. Besides, this is the first moment at which a turn
//! hears that its loop was cancelled from another terminal: the turn is cut there.

use crate::bound::{self, Bound};
use crate::cancel;
use crate::door::Call;
use anyhow::Result;
use ralph_core::event::Event;
use ralph_core::guard::{self, Agent, Ruling, Situation, Standing};
use ralph_core::reply::Reply;
use ralph_core::state::{Phase, Turn};
use ralph_io::{clock, places};
use serde_json::Value;

/// Answers a PreToolUse event.
pub fn answer(call: &Call) -> Result<Reply> {
    if call.input.hook_event_name != Event::PreToolUse {
        return Ok(Reply::silent());
    }
    let Some(bound) = Bound::find(call)? else { return Ok(Reply::silent()) };
    if bound.state.phase == Phase::Ended {
        return cancel::cut_turn(call, &bound);
    }
    if !bound.state.is_live() {
        return Ok(Reply::silent());
    }
    catch_up(call, &bound)?;
    Ok(match ruling(call, &bound) {
        Ruling::Allow => Reply::silent(),
        Ruling::Deny { rule, reason } => {
            bound.note(call, "denied", &format!("{rule:?}: {reason}"), bound::tool(call));
            Reply::deny(&reason)
        }
    })
}

fn ruling(call: &Call, bound: &Bound) -> Ruling {
    let standing = if bound.state.is_running() { Standing::Running } else { Standing::Paused };
    let agent = match call.input.from_subagent() {
        true => Agent::Subagent(&call.input.agent_type),
        false => Agent::Main,
    };
    let places = places::gather(&call.home);
    let situation = Situation {
        mode: &bound.state.mode,
        standing,
        agent,
        session_id: &call.input.session_id,
        places: &places,
    };
    let resolved = call.input.tool_input.path().and_then(places::resolve);
    guard::decide(
        &situation,
        &guard::Call {
            tool: &call.input.tool_name,
            input: &call.input.tool_input,
            cwd: &call.input.cwd,
            resolved: resolved.as_deref(),
            cut: call.cut,
        },
    )
}

/// Notes what only a hook can see: a registration of higher rank, and which turn the loop drives
/// where it was started without one.
fn catch_up(call: &Call, bound: &Bound) -> Result<()> {
    let raises = bound.state.via < Some(call.via);
    let unknown_turn = bound.state.is_running()
        && bound.state.turn.is_none()
        && !bound.state.touched
        && !call.input.from_subagent();
    if !raises && !unknown_turn {
        return Ok(());
    }
    bound.file.update(|state| {
        bound::raise(state, call.via);
        if unknown_turn && state.turn.is_none() {
            state.turn = Some(Turn { prompt_id: call.input.prompt_id.clone(), at: clock::now() });
        }
    })?;
    bound.note(call, "noted", "a registration or a turn was seen for the first time", Value::Null);
    Ok(())
}
