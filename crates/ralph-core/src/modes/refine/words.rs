//! The words of `.claude/refine-sessions.json`. Unknown words are kept.

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
    /// The state of a refinement.
    Status {
        /// Rounds are running.
        Running = "running",
        /// A round was cut; the refinement continues on request.
        Interrupted = "interrupted",
        /// The artefact no longer changes.
        Plateau = "plateau",
        /// The refinement has had its maximum number of rounds.
        MaxIterations = "max_iterations",
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
        /// The client exited, or was ended, before that.
        Interrupted = "interrupted",
    }
}

words! {
    /// What happened to the plan that a round wrote.
    #[derive(Default)]
    PlanAfter {
        /// The round's plan is the plan now. Beads always stay as the round left them.
        #[default]
        Applied = "applied",
        /// The user declined it; the plan is unchanged.
        Declined = "declined",
        /// Someone else edited the plan during the round, and that edit stays.
        KeptEdit = "kept_edit",
    }
}

impl Status {
    /// True once the refinement has ended. After [`Status::MaxIterations`] it can still continue
    /// with a higher limit.
    pub fn is_over(&self) -> bool {
        !matches!(self, Status::Running | Status::Interrupted)
    }
}
