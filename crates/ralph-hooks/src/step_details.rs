//! Delivers the details of a stop with the first tool call after it.
//!
//! The client shows the user every form of a stop's answer, so a stop answers one line. Context that
//! comes with a tool call is not shown (2.1.328). A turn without a tool call leaves the details due;
//! the next stop replaces them.

use crate::active_loop::Bound;
use crate::hook_runner::HookCall;
use ralph_core::protocol::event::HookEvent;
use ralph_core::protocol::reply::Reply;
use serde_json::Value;
use std::time::Duration;

/// Details that another process still has to take under the lock are given twice, which is better
/// than never.
const PATIENCE: Duration = Duration::from_millis(500);

/// Puts the details that are due before the answer to a tool call of the conversation that may run.
/// A subagent never gets them.
pub(crate) fn prepend_details(call: &HookCall, bound: &Bound, reply: Reply) -> Reply {
    let is_due = !bound.state.details_due.is_empty() && bound.state.phase.is_running();
    let is_for_this_call = || {
        !call.input.from_subagent()
            && !bound.is_outranked(call.via)
            && !bound.is_driven()
            && reply.takes_context()
    };
    if !is_due || !is_for_this_call() {
        return reply;
    }
    delivered(call, bound, reply)
}

#[inline(never)]
fn delivered(call: &HookCall, bound: &Bound, reply: Reply) -> Reply {
    let taken = bound.file.update_within(PATIENCE, |state| {
        state.note_event(call.via);
        if let Some(turn) = &mut state.turn {
            // Saves the hook after the tool a write of its own.
            turn.worked = true;
        }
        state.take_details()
    });
    let details = match taken {
        Ok(taken) => taken.unwrap_or_default(),
        Err(_) => bound.state.details_due.clone(),
    };
    if details.is_empty() {
        return reply;
    }
    bound.note(call, "told", "the details of the last stop", Value::Null);
    reply.led_by(HookEvent::PreToolUse, &details)
}

#[cfg(test)]
mod tests {
    use crate::begin::{StartRequest, begin};
    use crate::hook_runner::tests::call;
    use crate::pre_tool_use;
    use ralph_core::modes::arguments;
    use ralph_core::state::{Mode, Registration, StartedBy};
    use ralph_io::store::home::Home;
    use ralph_io::store::{lifecycle, lock};
    use serde_json::json;

    #[test]
    fn a_busy_lock_gives_them_twice_rather_than_never() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("home"));
        let begun = begin(&StartRequest {
            mode: Mode::Plain,
            home: &home,
            request: &arguments::parse("task").unwrap(),
            session_id: "s",
            prompt_id: "p",
            project_root: folder.path().canonicalize().unwrap(),
            started_by: StartedBy::Person,
            via: Some(Registration::Settings),
        });
        begun.unwrap();
        let file = lifecycle::of_session(&home, "s").unwrap().unwrap();
        file.update(|state| state.details_due = "the details".to_owned()).unwrap();
        let event = json!({"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Read",
                "tool_input": {"file_path": "a"}});
        let given = || pre_tool_use::answer(&call(&home, event.clone())).unwrap().render();
        let held = lock::take(file.path(), lock::DEADLINE).unwrap();
        assert!(given().unwrap().contains("the details"));
        drop(held);
        assert!(given().unwrap().contains("the details"));
        assert_eq!(given(), None);
    }
}
