//! Adds facts about the project to the start of a session, with or without a loop.
//!
//! The `ralph` executable beside this one gathers the facts and obeys the settings. If that fails
//! or takes too long, the session starts without them.

use crate::active_loop::Bound;
use crate::delegate;
use crate::hook_runner::HookCall;
use ralph_core::protocol::event::HookEvent;
use ralph_core::protocol::registration::SESSION_CONTEXT;
use ralph_core::protocol::reply::Reply;
use ralph_core::state::{Glance, Registration};
use ralph_io::project::settings;

/// Adds the facts to the reply for a conversation that has not had them.
pub(crate) fn add(call: &HookCall, reply: Reply) -> Reply {
    if !is_new(&call.input.source) || !is_ours_to_tell(call) {
        return reply;
    }
    match delegate::facts(reply.room_for_context()) {
        Ok(facts) => reply.add_context(HookEvent::SessionStart, facts.trim()),
        Err(_) => reply,
    }
}

/// A resumed or forked conversation still has them.
fn is_new(source: &str) -> bool {
    matches!(source, "startup" | "clear" | "compact")
}

/// Each registration starts a copy of this hook. In a running loop, the copy that gives the loop
/// prompt also gives the facts; without a loop, only the settings show whether there is another
/// copy. A skill's front matter outlives its loop and does not ask for facts.
fn is_ours_to_tell(call: &HookCall) -> bool {
    match (call.via, Bound::<Glance>::find(call)) {
        (Registration::Skill, _) => false,
        (via, Ok(Some(bound))) if bound.state.phase.is_running() => !bound.is_outranked(via),
        (Registration::Plugin, _) => !settings::of_client_mention(SESSION_CONTEXT),
        (Registration::Settings | Registration::Unnamed, _) => true,
    }
}
