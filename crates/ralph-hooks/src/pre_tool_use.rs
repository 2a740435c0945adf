//! `ralph-pre-tool-use`: may this tool run now?
//!
//! The rule is the guard's table in `ralph-core`. Besides, this is the first moment at which a turn
//! hears that its loop was cancelled from another terminal: the turn is cut there. It is asked
//! before every tool, so it only glances at the state and never writes it.

use crate::bound::{self, Bound};
use crate::cancel;
use crate::door::Call;
use anyhow::Result;
use ralph_core::event::Event;
use ralph_core::guard::{self, Agent, Places, Ruling, Situation, Standing};
use ralph_core::reply::Reply;
use ralph_core::state::{Glance, Phase};
use ralph_io::places;

/// Answers a PreToolUse event.
pub fn answer(call: &Call) -> Result<Reply> {
    if call.input.hook_event_name != Event::PreToolUse {
        return Ok(Reply::silent());
    }
    let Some(bound) = Bound::<Glance>::find(call)? else { return Ok(Reply::silent()) };
    let standing = match bound.state.phase {
        Phase::Ended => return cancel::cut_turn(call, &bound),
        Phase::Implementation | Phase::Verification if bound.state.baseline_pending => {
            Standing::AwaitingBaseline
        }
        Phase::Implementation | Phase::Verification => Standing::Running,
        Phase::Paused => Standing::Paused,
        Phase::Planned | Phase::Other(_) => return Ok(Reply::silent()),
    };
    Ok(match ruling(call, &bound.state, standing) {
        Ruling::Allow => Reply::silent(),
        Ruling::Deny { rule, reason } => {
            // Every copy denies, since the client takes the strictest answer; one of them writes.
            if !bound.is_outranked(call.via) {
                let why = format!("{}: {reason}", rule.name());
                bound.note(call, "denied", &why, bound::tool(call));
            }
            Reply::deny(&reason)
        }
    })
}

fn ruling(call: &Call, state: &Glance, standing: Standing) -> Ruling {
    let agent = match call.input.from_subagent() {
        true => Agent::Subagent(&call.input.agent_type),
        false => Agent::Main,
    };
    let tool = &call.input.tool_name;
    let places = match guard::looks_at_places(tool) {
        true => places::gather(&call.home),
        false => Places::default(),
    };
    let situation = Situation {
        mode: &state.mode,
        standing,
        agent,
        session_id: &call.input.session_id,
        places: &places,
    };
    let path = call.input.tool_input.path().filter(|_| guard::looks_at_places(tool));
    let resolved = path.and_then(places::resolve);
    guard::decide(
        &situation,
        &guard::Call {
            tool,
            input: &call.input.tool_input,
            cwd: &call.input.cwd,
            resolved: resolved.as_deref(),
            cut: call.cut,
        },
    )
}
