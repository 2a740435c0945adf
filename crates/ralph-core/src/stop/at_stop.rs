//! What a stop asks of a mode. The defaults are what a plain loop does.

use super::{StopInputs, StopVerdict, TaskProgress, asks_for_completion, plain};
use crate::state::LoopState;

/// The rules of one mode at a stop.
pub trait AtStop: Sync {
    /// Whether the decision needs the fingerprint of the tree.
    fn wants_tree(&self) -> bool {
        true
    }

    /// Whether the criteria are run before the decision. Asked only where the turn may not end anyway.
    fn wants_proof(&self, state: &LoopState, seen: &StopInputs) -> bool {
        asks_for_completion(state, seen)
    }

    /// Decides, where neither a person's wish nor a worker lets the turn end.
    fn at_stop(
        &self,
        state: &mut LoopState,
        work: &TaskProgress,
        seen: &StopInputs,
    ) -> StopVerdict {
        plain(state, work, seen)
    }

    /// What the model is told when its turn goes on.
    fn next_step(&self, state: &LoopState, seen: &StopInputs) -> String;
}
