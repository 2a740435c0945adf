//! The decisions at a stop that depend on the mode. The defaults are those of a plain loop.

use super::{StopInputs, StopVerdict, TaskProgress, asks_for_completion, plain};
use crate::state::LoopState;

/// The stop rules of one mode.
pub trait AtStop: Sync {
    /// Whether the decision needs the fingerprint of the tree.
    fn wants_tree(&self) -> bool {
        true
    }

    /// Whether the criteria run before the decision. Also called to decide what the record keeps, so
    /// it must not assume that the loop runs.
    fn wants_proof(&self, state: &LoopState, seen: &StopInputs) -> bool {
        asks_for_completion(state, seen)
    }

    /// Decides if neither a user's command nor a worker lets the turn end.
    fn at_stop(
        &self,
        state: &mut LoopState,
        work: &TaskProgress,
        seen: &StopInputs,
    ) -> StopVerdict {
        plain(state, work, seen)
    }

    /// The text for the model if its turn continues.
    fn next_step(&self, state: &LoopState, seen: &StopInputs) -> String;
}
