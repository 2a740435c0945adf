//! The leftovers of a killed run: the calls it had recorded, and the user's messages in them.
//!
//! The clients of a killed run end by themselves once their input is closed; this code waits for
//! that. An agent's finished work counts, and messages for unfinished calls are sent again.

use crate::command::exit::{Exit, bad_state, refused};
use crate::command::screen;
use crate::orchestration::OrchestrationContext;
use crate::runs::engine::TO_END;
use anyhow::Result;
use jiff::Timestamp;
use ralph_core::modes::orchestration::attempts;
use ralph_core::modes::orchestration::id::OrchestrationId;
use ralph_core::modes::orchestration::invocation::Invocation;
use ralph_core::modes::orchestration::machine::met;
use ralph_core::modes::orchestration::recovery::CallEnd;
use ralph_core::modes::orchestration::signal;
use ralph_io::{process::clock, store::lifecycle};

/// Waits for leftover clients, then marks all calls of the orchestration as no longer under way.
pub(crate) fn take_up(place: &OrchestrationContext, id: &OrchestrationId) -> Result<()> {
    let left = place.sessions.left_calls(id, TO_END);
    let left = left.map_err(|error| refused(Exit::No, format!("{error:#}")))?;
    let now = clock::now();
    let changed = place.update(id, |seen| {
        let mut after = seen.clone();
        let mut told = Vec::new();
        for one in seen.running.iter().flatten() {
            let mut call = Invocation::new(one.key.mode, "", one.key.iteration);
            call.key = one.key.clone();
            let is_met = met(seen, &call);
            if is_met {
                after.tries.ended(&one.key, CallEnd::Met, now);
                attempts::note_end(&mut after, &call, now);
            }
            told.push(match (one.key.task.as_str(), is_met) {
                (_, true) => continue,
                ("", false) => format!("{} is begun again: its run is gone", one.key.mode),
                (task, false) => {
                    format!("{} {task} is begun again: its run is gone", one.key.mode)
                }
            });
        }
        after.running = Some(Vec::new());
        Ok((after, told))
    })?;
    for line in &changed.what {
        screen::tell(&screen::visible(line));
    }
    for (name, told) in left {
        // Which call had these messages is no longer known. Sending them twice is better than not
        // at all.
        if !changed.what.is_empty() {
            let running = changed.before.running.iter().flatten();
            say_again(place, id, &told, running.map(|one| one.since).min())?;
        }
        // The session of this client was bound to the killed run's loop.
        let home = &place.here.home;
        if let Some(file) = lifecycle::of_session(home, &name).map_err(bad_state)? {
            lifecycle::release(home, &file, &name).map_err(bad_state)?;
        }
        place.sessions.forget_call(id, &name);
    }
    Ok(())
}

/// Sends the messages of an unfinished call again, for the next call. They keep the time at which
/// the call was started: behind a later PAUSE they would end it, although the user has sent nothing
/// since.
pub(super) fn say_again(
    place: &OrchestrationContext,
    id: &OrchestrationId,
    told: &str,
    begun: Option<Timestamp>,
) -> Result<()> {
    let at = begun.unwrap_or_else(clock::now);
    let waiting = place.read(id)?.signals;
    for (word, text) in signal::parts(told) {
        if !waiting.iter().any(|one| one.word == word && one.text == text) {
            place.sessions.send(id, word, &text, at).map_err(bad_state)?;
        }
    }
    Ok(())
}
