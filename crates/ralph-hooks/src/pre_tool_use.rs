//! `ralph-pre-tool-use`: decides whether a tool may run.
//!
//! The rule is the guard's table in `ralph-core`. The hook runs before every tool, so nearly every
//! call reads only the state's summary. The whole state is read to grant an agent, to answer a
//! permission request, and for calls that a planning run or an orchestration does not let through
//! at once. A denial is recorded with all its inputs; an allowed call does not pay for that.

use crate::active_loop::{self, Bound, JournalLine};
use crate::hook_runner::{self, HookCall};
use crate::{
    cancel, orchestration, permission_request, ralplan, refine, signals, unreadable, workers,
};
use anyhow::Result;
use ralph_core::guard::{
    self, Caller, DenialRecord, LoopActivity, ProtectedPaths, Ruling, Situation,
};
use ralph_core::protocol::event::HookEvent;
use ralph_core::protocol::reply::Reply;
use ralph_core::state::{Glance, Mode, Phase, StateView};
use ralph_core::transcript::scheduled;
use ralph_io::store::places;

/// Answers PreToolUse and PermissionRequest.
pub fn answer(call: &HookCall) -> Result<Reply> {
    match call.input.hook_event_name {
        HookEvent::PreToolUse => before_the_tool(call),
        HookEvent::PermissionRequest => permission_request::answer(call),
        _ => Ok(Reply::silent()),
    }
}

fn before_the_tool(call: &HookCall) -> Result<Reply> {
    let Some(bound) = Bound::<Glance>::find(call)? else { return Ok(Reply::silent()) };
    remember_prompt(call, &bound)?;
    let standing = match bound.state.phase {
        Phase::Ended => return cancel::cut_turn(call, &bound),
        Phase::Implementation | Phase::Verification if bound.state.baseline_pending => {
            LoopActivity::AwaitingBaseline
        }
        Phase::Implementation | Phase::Verification => LoopActivity::Running,
        Phase::Paused => LoopActivity::Paused,
        Phase::Planned | Phase::Other(_) => return Ok(Reply::silent()),
    };
    match bound.state.mode {
        Mode::Ralplan => return Ok(while_planning(call)),
        Mode::Orchestration if guard::only_looks(&call.input.tool_name) => {
            return Ok(Reply::silent());
        }
        Mode::Orchestration => return orchestration::before_a_tool(call),
        _ => {}
    }
    Ok(match ruling(call, &bound.state, standing) {
        None if standing == LoopActivity::Running && workers::starts_one(call) => {
            match bound.state.mode {
                Mode::Refine => refine::may_call(call, &bound)?,
                _ => workers::may_start(call, &bound)?,
            }
        }
        None => Reply::silent(),
        Some(denial) => {
            // Every copy denies, since the client takes the strictest answer; one of them writes
            // the journal.
            let reply = Reply::deny(&denial.reason);
            if bound.is_outranked(call.via) {
                return Ok(reply);
            }
            note(call, &bound, &denial);
            match bound.state.phase.is_running() {
                // No other event follows a denied call.
                true => signals::lead(call, &bound.file, &bound.state, reply),
                false => reply,
            }
        }
    })
}

/// Remembers a prompt that the model schedules, since it will look as if the user had typed it.
fn remember_prompt(call: &HookCall, bound: &Bound<Glance>) -> Result<()> {
    let Some(prompt) = call.input.tool_input.prompt.as_deref() else { return Ok(()) };
    if !scheduled::schedules(&call.input.tool_name) || bound.state.phase == Phase::Ended {
        return Ok(());
    }
    bound.file.update(|state| scheduled::remember(&mut state.scheduled, [prompt]))?;
    Ok(())
}

/// The one place where a missing answer is a refusal: the user's consent must not depend on whether
/// this process fails.
fn while_planning(call: &HookCall) -> Reply {
    if guard::only_looks(&call.input.tool_name) {
        return Reply::silent();
    }
    let refusal = |why: &str| {
        Reply::deny(&format!(
            "Ralph could not decide about this call ({why}), and while a plan waits for a person's \
             consent only what reads is let through. Tell the person to run `ralph doctor`."
        ))
    };
    hook_runner::refuse_on_a_mistake(refusal("an internal error"));
    ralplan::before_a_tool(call)
        .or_else(|error| unreadable::answer(call, error))
        .unwrap_or_else(|error| refusal(&format!("{error:#}")))
}

/// A tool call that may not run.
struct Denial {
    reason: String,
    record: DenialRecord,
}

fn note(call: &HookCall, bound: &Bound<Glance>, denial: &Denial) {
    let why = format!("{}: {}", denial.record.rule, denial.reason);
    let position = bound.state.position();
    let seen = active_loop::tool(call);
    let said = JournalLine { position: &position, decision: "denied", why: &why, seen };
    active_loop::keep(&bound.file, call, said, Some(&denial.record));
}

fn ruling(call: &HookCall, state: &Glance, standing: LoopActivity) -> Option<Denial> {
    let agent = match call.input.from_subagent() {
        true => Caller::Subagent(&call.input.agent_type),
        false => Caller::Main,
    };
    let tool = &call.input.tool_name;
    let mut places = match guard::looks_at_places(tool) {
        true => places::gather(&call.home),
        false => ProtectedPaths::default(),
    };
    let path = call.input.tool_input.path().filter(|_| guard::is_edit(tool));
    let resolved = path.and_then(places::resolve);
    let tool_call = guard::ToolCall {
        tool,
        input: &call.input.tool_input,
        cwd: &call.input.cwd,
        resolved: resolved.as_deref(),
        cut: call.cut,
    };
    places::look(&mut places, &tool_call, &[]);
    let situation = Situation {
        mode: &state.mode,
        standing,
        agent,
        session_id: &call.input.session_id,
        places: &places,
        ralplan: None,
        session: None,
    };
    match guard::decide(&situation, &tool_call) {
        Ruling::Allow => None,
        Ruling::Deny { rule, reason } => {
            Some(Denial { reason, record: DenialRecord::of(&situation, &tool_call, rule) })
        }
    }
}
