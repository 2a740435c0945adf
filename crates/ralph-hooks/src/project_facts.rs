//! Adds facts about the project to the start of a session, with or without a loop.
//!
//! The settings may switch them off. If gathering them fails or takes too long, the session starts
//! without them.

use crate::active_loop::Bound;
use crate::hook_runner::{self, HookCall};
use ralph_core::project::project_facts::page;
use ralph_core::protocol::event::HookEvent;
use ralph_core::protocol::registration::SESSION_CONTEXT;
use ralph_core::protocol::reply::Reply;
use ralph_core::state::Registration;
use ralph_io::project::{facts, settings};
use std::time::Duration;

/// Below the ten seconds that the client allows the SessionStart hook.
const TO_LOOK: Duration = Duration::from_secs(8);

/// Adds the facts to the reply for a conversation that has not had them.
pub(crate) fn add(call: &HookCall, reply: Reply) -> Reply {
    if !is_new(&call.input.source) || !is_ours_to_tell(call) {
        return reply;
    }
    // The loop's own words must not depend on what a repository holds.
    if reply.render().is_some() {
        hook_runner::answer_on_a_mistake(reply.clone());
        hook_runner::answer_in_time(TO_LOOK.saturating_sub(call.began.elapsed()), reply.clone());
    }
    match page_of(call, reply.room_for_context()) {
        Some(page) => reply.add_context(HookEvent::SessionStart, page.trim()),
        None => reply,
    }
}

/// The project's facts in at most `room` UTF-16 units. `None` if there are none, or the settings
/// switch them off.
fn page_of(call: &HookCall, room: usize) -> Option<String> {
    let root = call.root();
    let choice = settings::read(&call.home, &root).0.facts();
    if !choice.is_enabled() {
        return None;
    }
    page::page(&facts::gather_from_disk(&root, &choice).facts, choice.size().min(room))
}

/// A resumed or forked conversation still has them.
fn is_new(source: &str) -> bool {
    matches!(source, "startup" | "clear" | "compact")
}

/// Each registration starts a copy of this hook. In a running loop, the copy that gives the loop
/// prompt also gives the facts; without a loop, only the settings show whether there is another
/// copy. A skill's front matter outlives its loop and does not ask for facts.
pub(crate) fn is_ours_to_tell(call: &HookCall) -> bool {
    match (call.via, Bound::find(call)) {
        (Registration::Skill, _) => false,
        (via, Ok(Some(bound))) if bound.state.phase.is_running() => !bound.is_outranked(via),
        (Registration::Plugin, _) => !settings::of_client_mention(SESSION_CONTEXT),
        (Registration::Settings | Registration::Unnamed, _) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook_runner::tests::TestLoop;
    use ralph_core::state::{Mode, Phase};
    use serde_json::json;

    #[test]
    fn of_several_copies_the_one_tells_the_facts_that_gives_the_loop_prompt() {
        use Registration::{Plugin, Settings, Skill, Unnamed};
        let at = TestLoop::started(Mode::Plain, "task");
        let is_alone = !settings::of_client_mention(SESSION_CONTEXT);
        let (running, paused) = (Phase::Implementation, Phase::Paused);
        for (phase, seen, via, expected) in [
            (&running, Some(Settings), Settings, true),
            (&running, Some(Settings), Plugin, false),
            (&running, Some(Settings), Unnamed, false),
            (&running, Some(Plugin), Plugin, true),
            (&running, None, Skill, false),
            (&paused, Some(Settings), Settings, true),
            (&paused, Some(Settings), Unnamed, true),
            (&paused, Some(Settings), Plugin, is_alone),
            (&paused, Some(Settings), Skill, false),
        ] {
            at.change(|state| (state.phase, state.via) = (phase.clone(), seen));
            let call = HookCall { via, ..at.call("SessionStart", json!({})) };
            assert_eq!(is_ours_to_tell(&call), expected, "{phase:?} {seen:?} {via:?}");
        }
    }

    #[test]
    fn a_conversation_that_had_the_facts_is_not_told_again() {
        let is_told = ["startup", "clear", "compact", "resume", "fork", ""].map(is_new);
        assert_eq!(is_told, [true, true, true, false, false, false]);
    }
}
