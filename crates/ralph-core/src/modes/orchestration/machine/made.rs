//! Records that calls of a step were made: they are in progress, and their signals are used up.

use super::super::change::{RouterWrite, apply};
use super::super::invocation::{Invocation, Running};
use super::super::local_time::LocalTime;
use super::super::snapshot::Snapshot;
use super::super::state::State;
use super::{Act, MachineStep, next};
use jiff::Timestamp;

impl MachineStep {
    /// The orchestration after these calls of the step were made. A signal stays while another call
    /// of the same batch that carries it has yet to be made, because the prompt of that call must
    /// not change.
    ///
    /// # Errors
    /// What the step would write but cannot.
    pub fn made(
        &self,
        seen: &Snapshot,
        made: &[Invocation],
        now: Timestamp,
        local: LocalTime,
    ) -> Result<Snapshot, String> {
        let mut after = apply(seen, &self.changes, local)?;
        if let Some(running) = &mut after.running {
            running.extend(made.iter().map(|call| Running { key: call.key.clone(), since: now }));
        }
        let carried = made.iter().any(Invocation::carries_a_signal);
        // If the running calls are unknown, the router would return the same calls again.
        let is_owed = || match (&after.running, next(&after, now).act) {
            (Some(_), Act::Invoke(calls)) => calls.iter().any(Invocation::carries_a_signal),
            _ => false,
        };
        if carried && !is_owed() {
            let notes = RouterWrite::NotePlan(self.heard.clone());
            let heard = RouterWrite::Heard(self.heard.clone());
            let is_planning = self.state == State::Planning;
            let writes: Vec<_> = is_planning.then_some(notes).into_iter().chain([heard]).collect();
            after = apply(&after, &writes, local)?;
        }
        Ok(after)
    }
}
