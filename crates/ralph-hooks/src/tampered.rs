//! Pauses a loop whose hooks, settings or state something else has changed, and tells the user.
//!
//! Nothing keeps the model's shell from computing a path, so what it may not change is compared at each event.
//! `/ralph` goes on with what is there: it may have been the user who changed it.

use crate::active_loop;
use crate::hook_runner::HookCall;
use anyhow::Result;
use ralph_core::protocol::event::HookEvent;
use ralph_core::state::PauseCause;
use ralph_core::views::messages;
use ralph_io::process::clock;
use ralph_io::store::loop_file::LoopFile;
use ralph_io::store::watched;
use serde_json::json;
use std::path::Path;

/// Compares what holds the loop with what it was, once for a call; true if the loop is paused for it now.
pub(crate) fn pause_if_changed(call: &HookCall, file: &LoopFile) -> bool {
    if call.is_compared.replace(true) {
        return false;
    }
    let changes = watched::changes(file);
    if changes.is_empty() {
        return false;
    }
    let what = changes.join("; ");
    let told = pause(call, file, &what).unwrap_or_else(|error| {
        let could_not = "the loop could not be paused, `ralph doctor` says more";
        Some(messages::line(&format!("{what}; {could_not}: {error:#}")))
    });
    call.alarms.borrow_mut().extend(told);
    true
}

#[inline(never)]
fn pause(call: &HookCall, file: &LoopFile, what: &str) -> Result<Option<String>> {
    let paused = file.update(|state| {
        // Another copy of the hook may have paused it.
        state.is_running().then(|| {
            state.pause(PauseCause::Tampered, what, clock::now());
            if let Some(pause) = &mut state.pause {
                // What this event says may reach nobody, and it may be the last that does: the next says it again.
                pause.told = call.input.hook_event_name != HookEvent::ConfigChange;
            }
            (messages::paused(state), state.position(), state.project_root.clone())
        })
    })?;
    let Some((told, position, root)) = paused.flatten() else { return Ok(None) };
    watched::renew(file, Path::new(&root));
    active_loop::note(file, call, &position, "paused", what, json!({}));
    Ok(Some(messages::line(&told)))
}
