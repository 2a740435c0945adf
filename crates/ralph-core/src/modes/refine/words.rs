//! The words of `.claude/refine-sessions.json`. A word that this version does not know is kept.

use crate::state::words;
use serde::{Deserialize, Serialize};

words! {
    /// What is refined.
    Mode {
        /// The project's beads or tasks.
        Beads = "beads",
        /// A plan in a file.
        Plan = "plan",
    }
}

words! {
    /// Where a session stands.
    Status {
        /// Rounds follow each other.
        Running = "running",
        /// A round was cut; the session goes on when it is asked to.
        Interrupted = "interrupted",
        /// Nothing changes any more.
        Plateau = "plateau",
        /// It had as many rounds as it may.
        MaxIterations = "max_iterations",
        /// A person ended it.
        Cancelled = "cancelled",
    }
}

words! {
    /// How a round ended.
    #[derive(Default)]
    RoundEnd {
        /// The client ended its turn.
        #[default]
        Done = "done",
        /// The client went away, or was ended, before.
        Interrupted = "interrupted",
    }
}

words! {
    /// What became of the plan that a round wrote.
    #[derive(Default)]
    PlanAfter {
        /// It is the plan now. Beads are always as the round left them.
        #[default]
        Applied = "applied",
        /// The person did not want it; the plan is as it was.
        Declined = "declined",
        /// The plan was edited by somebody else while the round ran, and that edit stands.
        KeptEdit = "kept_edit",
    }
}

impl Status {
    /// True when no round follows by itself or on request.
    pub fn is_over(&self) -> bool {
        !matches!(self, Status::Running | Status::Interrupted)
    }
}
