//! Calls in progress that nothing else may run beside.
//!
//! Executors run in parallel, and so do reviewers; any other call runs alone. An agent marks its
//! work as done before its call ends, so a question in between must not begin the next step.

use super::super::agents::Mode;
use super::super::state::State;
use super::step::Act;
use super::{MachineTurn, View};

/// Waits while a call is in progress that does not belong to this state's batch.
pub(super) fn waits(view: &View<'_>, state: State) -> Option<MachineTurn> {
    let running = view.seen.running.as_deref().unwrap_or_default();
    let why = || "for a running call".to_owned();
    running
        .iter()
        .any(|one| !is_of_batch(one.key.mode, state))
        .then(|| MachineTurn::Act(Act::Wait { until: None, why: why() }))
}

fn is_of_batch(mode: Mode, state: State) -> bool {
    match state {
        State::ExecutingBatch => matches!(mode, Mode::Execute | Mode::TimeoutFail),
        State::ReviewingBatch => matches!(mode, Mode::TaskReview | Mode::TimeoutFail),
        _ => false,
    }
}
