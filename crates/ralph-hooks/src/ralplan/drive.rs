//! A driver takes the next step of a planning: it calls an agent as a session of its own.
//!
//! What the guard does where a session calls an agent with its tool is done here, under the same lock as the
//! binding: a critic is never started on a text that is not frozen.

use super::call::may_call;
use super::change;
use anyhow::Result;
use ralph_core::modes::ralplan::driven::{self, Due};
use ralph_core::state::LoopState;
use ralph_io::store::home::Home;
use ralph_io::store::loop_file::LoopFile;
use ralph_io::{process::clock, store::lifecycle, store::plan_files};
use std::path::Path;

/// The session that a round is to have.
#[derive(Debug, Clone, Copy)]
pub struct RoundSession<'a> {
    /// Its id, which no session has yet.
    pub session_id: &'a str,
    /// Which round it is, from 1.
    pub number: u32,
    /// `ralph:` where the agents come from a plugin.
    pub prefix: &'a str,
}

/// What a driver does next, and the planning as it stands then; none where it is over.
pub type DriverStep = Option<(Due, LoopState)>;

/// Takes the next step. Where that is a round, the planning is bound to its session.
///
/// # Errors
/// When the state cannot be read or written. No round begins then.
pub fn drive(home: &Home, file: &LoopFile, round: RoundSession<'_>) -> Result<DriverStep> {
    let Some(loaded) = file.read()? else { return Ok(None) };
    let gone = plan_files::is_gone(&loaded.state);
    let now = clock::now();
    let changed = change(file, |state| {
        let due = driven::due(state, round.prefix, gone, now);
        let due = called(state, due, round.prefix);
        if let Due::Round(..) = due {
            driven::bind(state, round.session_id, round.number);
        }
        due
    })?;
    let Some(changed) = changed else { return Ok(None) };
    if let Due::Round(..) = changed.outcome {
        lifecycle::bind(home, file, round.session_id)?;
        lifecycle::release(home, file, &loaded.state.session_id)?;
    }
    Ok(Some((changed.outcome, changed.state)))
}

/// As it is where the agent may be called. A plan that was changed since it was ready goes to its planner
/// instead of the critic.
fn called(state: &mut LoopState, due: Due, prefix: &str) -> Due {
    let refused = match &due {
        Due::Round(role, call) => refused(state, *role, &call.prompt),
        _ => None,
    };
    if refused.is_none() {
        return due;
    }
    match driven::step(state, prefix) {
        Due::Round(role, call) => match self::refused(state, role, &call.prompt) {
            None => Due::Round(role, call),
            Some(why) => Due::Rest(why),
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
