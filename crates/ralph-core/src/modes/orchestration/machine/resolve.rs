//! Where a session is: what its metadata say, what a person's feedback makes of it, and what the
//! other files show where the metadata say nothing.

use super::super::agents::Mode;
use super::super::change::RouterWrite;
use super::super::finding::{SessionFinding, Weight};
use super::super::progress::TaskMark;
use super::super::snapshot::Picture;
use super::super::state::State;
use super::give::give;
use super::step::Act;
use super::{MachineTurn, View};

/// The state and the iteration.
pub fn resolve(picture: &Picture) -> (State, u32) {
    let metadata = picture.metadata.unwrap_or_default();
    let iteration = metadata.iteration.unwrap_or_else(|| {
        let by_progress =
            picture.progress.as_ref().map_or(0, |progress| progress.latest_iteration());
        by_progress.max(picture.latest_iteration).max(1)
    });
    let state = metadata.state.filter(|state| *state != State::RepairState);
    (state.unwrap_or_else(|| inferred(picture, iteration)), iteration)
}

/// What the files show.
fn inferred(picture: &Picture, iteration: u32) -> State {
    let Some(progress) = &picture.progress else {
        // Whoever was laying it out was stopped; where work was done, something was lost instead.
        return match picture.metadata.is_none() && picture.reports.is_empty() {
            true => State::Initializing,
            false => State::RepairState,
        };
    };
    let is_open = |id: &str| {
        progress.planning(iteration).any(|entry| entry.id == id && !entry.status.is_settled())
    };
    let is_planned = progress.planning(iteration).all(|entry| entry.status.is_settled());
    let has = |status: TaskMark| progress.tasks().iter().any(|entry| entry.status == status);
    match () {
        () if iteration == 1 && is_open("plan-init") => State::Initializing,
        () if !is_planned && iteration == 1 => State::Planning,
        () if !is_planned => State::Replanning,
        () if picture.reviews.contains_key(&iteration) => State::SessionReview,
        () if has(TaskMark::InProgress) => State::ExecutingBatch,
        () if has(TaskMark::ReviewPending) => State::ReviewingBatch,
        () => State::Batching,
    }
}

/// What comes before any state's own business: what is missing is written down, and feedback for the
/// next iteration begins it.
pub(super) fn before_any_state(view: &View<'_>, state: State) -> Option<MachineTurn> {
    if state == State::Initializing {
        return None;
    }
    let View { picture, iteration, .. } = *view;
    let Some(metadata) = picture.metadata else {
        return Some(MachineTurn::Move(vec![RouterWrite::Metadata { state, iteration }]));
    };
    if metadata.state != Some(state) {
        return Some(MachineTurn::Move(vec![view.enter(state)]));
    }
    let feedbacks = picture.feedbacks.get(&(iteration + 1))?;
    if view.seen.running.as_ref().is_some_and(|running| !running.is_empty()) {
        let why = "for the calls that are under way; then the feedback is taken up".to_owned();
        return Some(MachineTurn::Act(Act::Wait { until: None, why }));
    }
    let next = iteration + 1;
    Some(MachineTurn::Move(vec![
        RouterWrite::KeepPlan(iteration),
        RouterWrite::Begin { iteration: next, feedbacks: feedbacks.clone() },
        RouterWrite::Enter { state: State::Replanning, iteration: next, wave: None },
    ]))
}

/// The planner mends what cannot be read; it is told what that is.
pub(super) fn repair(view: &View<'_>, found: &[SessionFinding]) -> MachineTurn {
    let invalid = found.iter().filter(|finding| finding.weight == Weight::Invalid);
    let told: Vec<String> = invalid.map(ToString::to_string).collect();
    let call = view.call(Mode::RepairState).with("FINDINGS", &told.join("\n")).in_iteration();
    MachineTurn::Act(give(view, vec![call], 1).unwrap_or_else(|| Act::Failed(told.join("; "))))
}
