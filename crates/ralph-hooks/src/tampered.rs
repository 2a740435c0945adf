//! Pauses a loop whose hooks, settings or state something else has changed, and tells the user.
//!
//! Nothing keeps the model's shell from computing a path, so what it may not change is compared at each event.
//! `/ralph` goes on with what is there: it may have been the user who changed it.

use crate::active_loop::{self, Bound};
use crate::hook_runner::HookCall;
use anyhow::Result;
use ralph_core::state::{Glance, PauseCause};
use ralph_core::views::messages;
use ralph_io::process::clock;
use ralph_io::store::watched;
use serde_json::json;
use std::path::Path;

/// The line for the user, if this call found a change and paused the loop for it.
#[inline(never)]
pub(crate) fn look(call: &HookCall) -> Option<String> {
    let bound = Bound::<Glance>::find(call).ok().flatten()?;
    if !bound.state.phase.is_running() {
        return None;
    }
    let changes = bound.warning.clone().into_iter().chain(watched::changes(&bound.file));
    let changes: Vec<String> = changes.collect();
    if changes.is_empty() {
        return None;
    }
    pause(call, &bound, &changes.join("; ")).ok().flatten()
}

fn pause(call: &HookCall, bound: &Bound<Glance>, what: &str) -> Result<Option<String>> {
    let paused = bound.file.update(|state| {
        // Another copy of the hook may have paused it.
        state.is_running().then(|| {
            state.pause(PauseCause::Tampered, what, clock::now());
            if let Some(pause) = &mut state.pause {
                pause.told = true;
            }
            (messages::paused(state), state.position(), state.project_root.clone())
        })
    })?;
    let Some((told, position, root)) = paused.flatten() else { return Ok(None) };
    watched::renew(&bound.file, Path::new(&root));
    active_loop::note(&bound.file, call, &position, "paused", what, json!({}));
    Ok(Some(messages::line(&told)))
}
