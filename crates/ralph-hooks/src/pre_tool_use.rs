//! `ralph-pre-tool-use`: may this tool run now?
//!
//! The rule is the guard's table in `ralph-core`. Besides, this is the first moment at which a turn
//! hears that its loop was cancelled from another terminal: the turn is cut there. It is asked
//! before every tool, so it only glances at the state and never writes it, but for a call that starts a
//! worker: who is at work is kept there. A denial is written down
//! with all that it was made from; an allowed call pays nothing for that.

use crate::bound::{self, Bound, Said};
use crate::cancel;
use crate::door::Call;
use crate::permission_request;
use crate::signals;
use crate::workers;
use anyhow::Result;
use ralph_core::event::Event;
use ralph_core::guard::{self, Agent, Places, Record, Ruling, Situation, Standing};
use ralph_core::reply::Reply;
use ralph_core::state::{Document, Glance, Phase};
use ralph_io::places;

/// Answers a PreToolUse or a PermissionRequest event.
pub fn answer(call: &Call) -> Result<Reply> {
    match call.input.hook_event_name {
        Event::PreToolUse => before_the_tool(call),
        Event::PermissionRequest => permission_request::answer(call),
        _ => Ok(Reply::silent()),
    }
}

fn before_the_tool(call: &Call) -> Result<Reply> {
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
        None if standing == Standing::Running && workers::starts_one(call) => {
            workers::may_start(call, &bound)?
        }
        None => Reply::silent(),
        Some(denial) => {
            // Every copy denies, since the client takes the strictest answer; one of them writes.
            let reply = Reply::deny(&denial.reason);
            if bound.is_outranked(call.via) {
                return Ok(reply);
            }
            note(call, &bound, &denial);
            match bound.state.phase.is_running() {
                // No other event follows a call that was denied.
                true => signals::lead(call, &bound.file, &bound.state, reply),
                false => reply,
            }
        }
    })
}

/// A tool call that may not be made.
struct Denial {
    reason: String,
    record: Record,
}

fn note(call: &Call, bound: &Bound<Glance>, denial: &Denial) {
    let why = format!("{}: {}", denial.record.rule, denial.reason);
    let position = bound.state.position();
    let seen = bound::tool(call);
    let said = Said { position: &position, decision: "denied", why: &why, seen };
    bound::keep(&bound.file, call, said, Some(&denial.record));
}

fn ruling(call: &Call, state: &Glance, standing: Standing) -> Option<Denial> {
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
        ralplan: None,
    };
    let path = call.input.tool_input.path().filter(|_| guard::looks_at_places(tool));
    let resolved = path.and_then(places::resolve);
    let tool_call = guard::Call {
        tool,
        input: &call.input.tool_input,
        cwd: &call.input.cwd,
        resolved: resolved.as_deref(),
        cut: call.cut,
    };
    match guard::decide(&situation, &tool_call) {
        Ruling::Allow => None,
        Ruling::Deny { rule, reason } => {
            Some(Denial { reason, record: Record::of(&situation, &tool_call, rule) })
        }
    }
}
