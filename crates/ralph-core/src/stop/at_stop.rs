//! The decisions at a stop that depend on the mode. The defaults are those of a plain loop.

use super::{StopInputs, StopVerdict, TaskProgress, asks_for_completion, plain};
use crate::state::LoopState;
use crate::text::truncate::bounded;

/// What the model gets if its turn continues. The client shows the user all that a stop answers, so
/// only one line is answered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NextStep {
    /// The loop's progress and what to do next. The user reads this line as well.
    pub line: String,
    /// Instructions and output, which follow with the next tool call.
    pub details: String,
}

/// Longest [`NextStep::line`], in UTF-16 units.
const LINE_LIMIT: usize = 300;

impl NextStep {
    /// `Ralph 3/25: 1 of 2 criteria hold; next: fix it`. `progress` may be empty.
    pub(crate) fn new(position: &str, progress: &str, next: &str, details: String) -> NextStep {
        let between = if progress.is_empty() { "" } else { "; " };
        let line = format!("Ralph {position}: {progress}{between}next: {next}");
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        NextStep { line: bounded(&line, LINE_LIMIT), details }
    }
}

/// The stop rules of one mode.
pub trait AtStop: Sync {
    /// Whether the decision needs the fingerprint of the tree.
    fn wants_tree(&self) -> bool {
        self.has_criteria()
    }

    /// Whether the criteria in the state are those of this loop.
    fn has_criteria(&self) -> bool {
        true
    }

    /// Whether the criteria run before the decision. Also called to decide what the record keeps, so
    /// it must not assume that the loop runs.
    fn wants_proof(&self, state: &LoopState, seen: &StopInputs) -> bool {
        self.has_criteria() && asks_for_completion(state, seen)
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

    /// What the model gets if its turn continues.
    fn next_step(&self, state: &LoopState, seen: &StopInputs) -> NextStep;
}
