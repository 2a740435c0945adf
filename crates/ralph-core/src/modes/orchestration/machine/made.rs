//! Calls of a step that are made: they are under way, and the signals that they carry are used up.

use super::super::change::{RouterWrite, apply};
use super::super::invocation::{Invocation, Running};
use super::super::local_time::LocalTime;
use super::super::snapshot::Snapshot;
use super::{Act, MachineStep, next};
use jiff::Timestamp;

impl MachineStep {
    /// The session once these calls of the step are under way. A signal that they carry stays as long as a call of
    /// the same batch that carries it, too, is still to be made: its prompt must not change by that.
    ///
    /// # Errors
    /// What the step would write and cannot.
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
        // Where nobody knows which calls are under way, the router would give the same ones again.
        let is_owed = || match (&after.running, next(&after, now).act) {
            (Some(_), Act::Invoke(calls)) => calls.iter().any(Invocation::carries_a_signal),
            _ => false,
        };
        if carried && !is_owed() {
            after = apply(&after, &[RouterWrite::Heard(self.heard.clone())], local)?;
        }
        Ok(after)
    }
}
