//! A driver takes the next step of a planning run by starting an agent as a session of its own.
//!
//! In a session, the guard checks a call of the agent tool. Here the same check runs under the lock
//! that also binds the session, so a critic never starts on a text that is not frozen.

use super::call::may_call;
use super::change;
use anyhow::Result;
use ralph_core::modes::ralplan::driven::{self, DueRound};
use ralph_core::state::LoopState;
use ralph_io::store::home::Home;
use ralph_io::store::loop_file::LoopFile;
use ralph_io::{process::clock, store::lifecycle, store::plan_files};
use std::path::Path;

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
    let gone = plan_files::is_gone(&loaded.state);
    let now = clock::now();
    let changed = change(file, |state| {
        let due = driven::due(state, round.prefix, gone, now);
        let due = called(state, due, round.prefix);
        if let DueRound::Round(..) = due {
            driven::bind(state, round.session_id, round.number);
        }
        due
    })?;
    let Some(changed) = changed else { return Ok(None) };
    if let DueRound::Round(..) = changed.outcome {
        lifecycle::bind(home, file, round.session_id)?;
        lifecycle::release(home, file, &loaded.state.session_id)?;
    }
    Ok(Some((changed.outcome, changed.state)))
}

/// Returns `due` unchanged if the agent may be called. A plan that has changed since it was ready
/// goes back to its planner instead of to the critic.
fn called(state: &mut LoopState, due: DueRound, prefix: &str) -> DueRound {
    let refused = match &due {
        DueRound::Round(role, call) => refused(state, *role, &call.prompt),
        _ => None,
    };
    if refused.is_none() {
        return due;
    }
    match driven::step(state, prefix) {
        DueRound::Round(role, call) => match self::refused(state, role, &call.prompt) {
            None => DueRound::Round(role, call),
            Some(why) => DueRound::Rest(why),
        },
        other => other,
    }
}

fn refused(
    state: &mut LoopState,
    role: ralph_core::modes::ralplan::Role,
    prompt: &str,
) -> Option<String> {
    let root = state.project_root.clone();
    may_call(state.ralplan_mut()?, role, prompt, Path::new(&root))
}
