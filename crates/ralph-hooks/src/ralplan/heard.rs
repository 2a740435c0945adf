//! After a tool or an agent that moved a planning: the session is told what comes next.

use super::decide::{Decided, Said, decide};
use crate::bound::Bound;
use crate::door::Call;
use anyhow::Result;
use ralph_core::event::Event;
use ralph_core::ralplan::{self, question};
use ralph_core::reply::Reply;
use ralph_core::state::{DecidedBy, LoopState, PauseCause, Via};
use ralph_io::lifecycle::Entry;
use ralph_io::{clock, planning};
use serde_json::{Value, json};

/// Answers the result of an agent, or of the question to the person.
pub fn after_a_tool(call: &Call) -> Result<Reply> {
    let Some(bound) = Bound::<LoopState>::find(call)? else { return Ok(Reply::silent()) };
    if bound.is_outranked(call.via) || !bound.state.is_live() || planning::is_gone(&bound.state) {
        return Ok(Reply::silent());
    }
    if call.input.tool_name == "AskUserQuestion" {
        return answered(call, &bound);
    }
    if bound.state.via == Some(Via::Skill) {
        return deaf(call, &bound);
    }
    // Still at work, and what it will say decides what comes next.
    let event: Value = serde_json::from_slice(&call.raw).unwrap_or_default();
    if event["tool_response"]["status"] == "async_launched" {
        return Ok(Reply::silent());
    }
    Ok(Reply::context(call.input.hook_event_name, &ralplan::told(&bound.state)))
}

/// The events of a skill's own hooks do not tell what an agent reports.
fn deaf(call: &Call, bound: &Bound) -> Result<Reply> {
    let why = "Ralph's hooks stand only in the skill, and those do not hear what an agent reports: a person runs \
               `ralph install`, and restarts Claude Code";
    bound.file.update(|state| state.pause(PauseCause::BlockedOnHuman, why, clock::now()))?;
    bound.note(call, "paused", why, Value::Null);
    let told = format!("{why}. Say so, and end your turn.");
    Ok(Reply::context(call.input.hook_event_name, &told))
}

/// Answers the end of an agent in the background, where a session in a terminal has every agent, whatever the
/// call says. Else it would learn what comes next only at its next stop, a whole request later.
pub fn woken(call: &Call) -> Result<Reply> {
    let Some(bound) = Bound::<LoopState>::find(call)? else { return Ok(Reply::silent()) };
    let is_ours = !bound.is_outranked(call.via) && bound.state.is_running();
    let is_news = bound.state.ralplan.as_ref().is_some_and(|plan| !ralplan::is_told(plan));
    if !is_ours || !is_news || planning::is_gone(&bound.state) {
        return Ok(Reply::silent());
    }
    Ok(Reply::context(call.input.hook_event_name, &ralplan::told(&bound.state)))
}

/// The person's answer, from the tool's own response.
fn answered(call: &Call, bound: &Bound) -> Result<Reply> {
    let event: Value = serde_json::from_slice(&call.raw).unwrap_or_default();
    let Some(plan) = &bound.state.ralplan else { return Ok(Reply::silent()) };
    let is_answer = call.input.hook_event_name == Event::PostToolUse;
    let said = question::answer(plan, &event["tool_response"]).filter(|_| is_answer);
    let Some(said) = said else {
        bound.note(call, "no answer", "silence is no consent", Value::Null);
        return Ok(Reply::silent());
    };
    let said =
        Said { kind: said.kind, text: said.text, by: DecidedBy::Answer, via: Some(call.via) };
    let decided = decide(&call.home, &bound.file, said, Entry::Remove)?;
    let (decision, why) = decided.describe();
    let file = decided.file().unwrap_or(&bound.file).clone();
    crate::bound::note(
        &file,
        call,
        &bound.state.position(),
        decision,
        &why,
        json!({"by": "answer"}),
    );
    let told = match &decided {
        Decided::Adjusted(state) => ralplan::told(state),
        Decided::Refused(_) => format!("Ralph: {why}."),
        _ => format!("Ralph: {why} Carry out nothing of it now: say so, and end your turn."),
    };
    let reply = Reply::context(Event::PostToolUse, &told);
    Ok(match decided {
        Decided::Adjusted(_) | Decided::Refused(_) => reply,
        _ => reply.tell(ralph_core::say::line(&why)),
    })
}
