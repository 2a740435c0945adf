//! What a session is told about its project when it begins, whether it has a loop or not.
//!
//! `ralph`, which stands beside this executable, gathers it and obeys the settings. Where that fails or
//! takes too long, the session begins without.

use crate::active_loop::Bound;
use crate::delegate;
use crate::hook_runner::HookCall;
use ralph_core::protocol::event::HookEvent;
use ralph_core::protocol::registration::SESSION_CONTEXT;
use ralph_core::protocol::reply::Reply;
use ralph_core::state::{Glance, Via};
use ralph_io::project::settings;

/// The reply with the facts behind what it says already, for a conversation that has not heard them.
pub(crate) fn add(call: &HookCall, reply: Reply) -> Reply {
    if !is_new(&call.input.source) || !is_ours_to_tell(call) {
        return reply;
    }
    match delegate::facts(reply.room_for_context()) {
        Ok(facts) => reply.add_context(HookEvent::SessionStart, facts.trim()),
        Err(_) => reply,
    }
}

/// A conversation that is resumed or forked still has them.
fn is_new(source: &str) -> bool {
    matches!(source, "startup" | "clear" | "compact")
}

/// Each registration starts a copy of this hook. In a running loop the one tells that gives it its
/// contract; without a loop none knows of another but by the settings. A skill's front matter outlives
/// its loop, and is not the place to ask for facts.
fn is_ours_to_tell(call: &HookCall) -> bool {
    match (call.via, Bound::<Glance>::find(call)) {
        (Via::Skill, _) => false,
        (via, Ok(Some(bound))) if bound.state.phase.is_running() => !bound.is_outranked(via),
        (Via::Plugin, _) => !settings::of_client_mention(SESSION_CONTEXT),
        (Via::Settings | Via::Unnamed, _) => true,
    }
}
