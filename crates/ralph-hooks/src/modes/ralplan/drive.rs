//! A driver takes the next step of a planning run by starting an agent as a session of its own.
//!
//! In a session, the guard checks a call of the agent tool. Here the same check runs under the lock
//! that also binds the session, so a critic never starts on a text that is not frozen.

use super::{change, hash_now};
use anyhow::Result;
use ralph_core::modes::ralplan::driven::{self, DriverSeen, DueRound};
use ralph_core::state::LoopState;
use ralph_io::store::home::Home;
use ralph_io::store::loop_file::LoopFile;
use ralph_io::{process::clock, store::lifecycle, store::plan_files};

/// The session for the next round.
#[derive(Debug, Clone, Copy)]
pub struct RoundSession<'a> {
    /// An id that no session has yet.
    pub session_id: &'a str,
    /// The number of the round, from 1.
    pub number: u32,
    /// `ralph:` if the agents come from a plugin.
    pub prefix: &'a str,
}

/// The driver's next step and the state after it; `None` if the planning is over.
pub type DriverStep = Option<(DueRound, LoopState)>;

/// Takes the next step. For a round, binds the planning to the round's session.
///
/// # Errors
/// When the state cannot be read or written. No round starts then.
pub fn drive(home: &Home, file: &LoopFile, round: RoundSession<'_>) -> Result<DriverStep> {
    let Some(loaded) = file.read()? else { return Ok(None) };
    let document_gone = plan_files::is_gone(&loaded.state);
    let now = clock::now();
    let changed = change(file, |state| {
        let hash_now = hash_now(state);
        let seen = DriverSeen { prefix: round.prefix, document_gone, hash_now: &hash_now };
        let due = driven::due(state, seen, now);
        if let DueRound::Round(_) = due {
            driven::bind(state, round.session_id, round.number);
        }
        due
    })?;
    let Some(changed) = changed else { return Ok(None) };
    if let DueRound::Round(_) = changed.outcome {
        lifecycle::bind(home, file, round.session_id)?;
        lifecycle::release(home, file, &loaded.state.session_id)?;
    }
    Ok(Some((changed.outcome, changed.state)))
}
