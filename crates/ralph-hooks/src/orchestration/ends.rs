//! Whether a router step ends its orchestration, for a program that drives it. A conversation gets
//! the answer at its stop, by the same rule.

use crate::delegate;
use anyhow::Result;
use ralph_core::evidence::receipt::Proof;
use ralph_core::modes::orchestration::in_session::{self, RouterEnding};
use ralph_core::modes::orchestration::machine::MachineStep;
use ralph_core::modes::orchestration::snapshot::Snapshot;
use ralph_core::state::LoopState;
use ralph_core::stop;
use ralph_io::process::clock;
use ralph_io::store::home::Home;
use ralph_io::store::lifecycle::{self, ManifestFate};
use ralph_io::store::loop_file::LoopFile;

/// The result of a step.
#[derive(Debug)]
pub enum StepResult {
    /// The orchestration continues with the step.
    GoesOn,
    /// The orchestration is paused.
    Rests(Box<LoopState>),
    /// The orchestration is over, and its loop is archived in this file.
    Over(Box<LoopState>, LoopFile),
}

/// Ends or pauses the loop of an orchestration if the step or a bound requires it. Runs the
/// criteria first if the step reports completion. `after` is the snapshot with the step's changes
/// applied.
///
/// # Errors
/// When the state cannot be read or written.
pub fn ends(
    home: &Home,
    file: &LoopFile,
    step: &MachineStep,
    after: &Snapshot,
) -> Result<StepResult> {
    let routed = step.routed(after);
    let Some(loaded) = file.read()? else { anyhow::bail!("the loop of the session is gone") };
    let wants = loaded.state.is_running() && in_session::wants_proof(&loaded.state, &routed);
    let proof = wants.then(|| {
        delegate::prove(file, delegate::TO_PROVE)
            .unwrap_or_else(|error| Proof { problem: format!("{error:#}"), ..Proof::default() })
    });
    let now = clock::now();
    let updated = file.update(|state| {
        if state.is_running() {
            match in_session::ends(state, &routed, proof.as_ref()) {
                RouterEnding::GoesOn => drop(stop::may_go_on(state, now)),
                RouterEnding::Rests(cause, detail) => state.pause(cause, detail, now),
                RouterEnding::Ended(kind, detail) => state.end(kind, detail, now),
            }
        }
        state.clone()
    })?;
    let Some(state) = updated else { anyhow::bail!("the loop of the session is gone") };
    if state.ending.is_some() {
        let away = lifecycle::put_away(home, file, &state, ManifestFate::Remove)?;
        return Ok(StepResult::Over(Box::new(state), away.file));
    }
    Ok(if state.is_running() { StepResult::GoesOn } else { StepResult::Rests(Box::new(state)) })
}
