//! What of a state decides the future: two states that agree in it are one.
//!
//! Left out are the times of things and their wordings, which no rule of the stop reads.

use super::State;
use ralph_core::evidence::pinned;
use std::hash::{Hash, Hasher};

impl Hash for State {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let one = &self.looped;
        (&one.phase, &one.resume_phase, one.iteration, one.blocked.is_some()).hash(hasher);
        one.pause.as_ref().map(|pause| &pause.cause).hash(hasher);
        one.ending.as_ref().map(|ending| (&ending.kind, &ending.cause)).hash(hasher);
        for criterion in &one.acceptance_criteria {
            (criterion.verified, criterion.tests_expected).hash(hasher);
            let receipt = criterion.receipt.as_ref();
            receipt
                .map(|it| (&it.tail, &it.tree_after, it.after_failure, it.passes.min(2)))
                .hash(hasher);
        }
        pinned::is_as_frozen(one).hash(hasher);
        let moved = &one.progress;
        (&one.stall_hashes, &moved.left_at, moved.standing, moved.idle).hash(hasher);
        (&moved.failure, moved.same_failure, &moved.signal).hash(hasher);
        one.task_graph.iter().for_each(|task| task.status.hash(hasher));
        (one.usage.total(), one.turn.is_some()).hash(hasher);
        (self.tree, self.hour, self.worker, &self.noted, self.broken).hash(hasher);
    }
}
