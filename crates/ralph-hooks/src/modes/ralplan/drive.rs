//! A driver takes the next step of a planning run by starting an agent as a session of its own.
//!
//! In a session, the guard checks a call of the agent tool. Here the same check runs under the lock
//! that also binds the session, so a critic never starts on a text that is not frozen.

use super::{change, hash_now};
use anyhow::Result;
use ralph_core::modes::ralplan::NextPlanStep;
use ralph_core::modes::ralplan::driven::{self, DriverSeen};
use ralph_core::state::LoopState;
use ralph_io::store::home::Home;
use ralph_io::store::loop_file::LoopFile;
use ralph_io::{process::clock, store::lifecycle, store::plan_files};

/// Takes the next step, and returns it with the state after it, or why the planning is paused. For
/// a call, binds the planning to this new session, the round of this number. `prefix` is `ralph:`
/// if the agents come from a plugin. Returns `None` if the planning is over.
///
/// # Errors
/// When the state cannot be read or written. No round starts then.
pub fn drive(
    home: &Home,
    file: &LoopFile,
    session_id: &str,
    number: u32,
    prefix: &str,
) -> Result<Option<(Result<NextPlanStep, String>, LoopState)>> {
    let Some(loaded) = file.read()? else { return Ok(None) };
    let document_gone = plan_files::is_gone(&loaded.state);
    let now = clock::now();
    let changed = change(file, |state| {
        let hash_now = hash_now(state);
        let due =
            driven::due(state, DriverSeen { prefix, document_gone, hash_now: &hash_now }, now);
        if let Ok(NextPlanStep::Call(_)) = due {
            driven::bind(state, session_id, number);
        }
        due
    })?;
    if let Some((Ok(NextPlanStep::Call(_)), _)) = changed {
        lifecycle::bind(home, file, session_id)?;
        lifecycle::release(home, file, &loaded.state.session_id)?;
    }
    Ok(changed)
}
