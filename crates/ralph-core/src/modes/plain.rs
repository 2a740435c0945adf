//! The row of a plain loop, from whose defaults every other mode differs.

use super::loop_prompt;
use super::mode::ModeRules;
use crate::state::LoopState;
use crate::stop::{AtStop, NextStep, StopInputs};

pub(super) struct Plain;

impl AtStop for Plain {
    fn next_step(&self, state: &LoopState, seen: &StopInputs) -> NextStep {
        loop_prompt::next_step(state, seen.request, seen.proof.as_ref(), seen.now)
    }
}

impl ModeRules for Plain {
    fn counts_turns(&self) -> bool {
        true
    }

    fn commands(&self) -> &'static [&'static str] {
        &["ralph", "ralph-parallel"]
    }
}
