//! The state of an orchestration: from its metadata, from the user's feedback, and otherwise from
//! the other files.

use super::super::agents::Mode;
use super::super::change::RouterWrite;
use super::super::finding::{OrchestrationFinding, Weight};
use super::super::progress::TaskMark;
use super::super::snapshot::Picture;
use super::super::state::State;
use super::give::give;
use super::step::Act;
use super::{MachineTurn, View};

/// Returns the state and the iteration.
pub fn resolve(picture: &Picture) -> (State, u32) {
    let metadata = picture.metadata.clone().unwrap_or_default();
    let iteration = metadata.iteration.unwrap_or_else(|| {
        let by_progress =
            picture.progress.as_ref().map_or(0, |progress| progress.latest_iteration());
        by_progress.max(picture.latest_iteration).max(1)
    });
    let state = metadata.state.filter(|state| *state != State::RepairState);
    (state.unwrap_or_else(|| inferred(picture, iteration)), iteration)
}

/// The state that the files show.
fn inferred(picture: &Picture, iteration: u32) -> State {
    let Some(progress) = &picture.progress else {
        // Without metadata and reports, the setup was interrupted; otherwise a file was lost.
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

/// What comes before the work of any state: write missing metadata, and begin the next iteration if
/// there is feedback for it.
pub(super) fn before_any_state(view: &View<'_>, state: State) -> Option<MachineTurn> {
    if state == State::Initializing {
        return None;
    }
    let View { picture, iteration, .. } = *view;
    let Some(metadata) = &picture.metadata else {
        return Some(MachineTurn::Move(vec![RouterWrite::Metadata { state, iteration }]));
    };
    if metadata.state != Some(state) {
        return Some(MachineTurn::Move(vec![view.enter(state)]));
    }
    let feedbacks = picture.feedbacks.get(&(iteration + 1))?;
    if view.seen.running.as_ref().is_some_and(|running| !running.is_empty()) {
        let why = "for the running calls; the feedback comes next".to_owned();
        return Some(MachineTurn::Act(Act::Wait { until: None, why }));
    }
    let next = iteration + 1;
    Some(MachineTurn::Move(vec![
        RouterWrite::KeepPlan(iteration),
        RouterWrite::Begin { iteration: next, feedbacks: feedbacks.clone() },
        RouterWrite::Enter { state: State::Replanning, iteration: next, wave: None },
    ]))
}

/// Calls the planner to repair unreadable files, and lists the problems in its prompt.
pub(super) fn repair(view: &View<'_>, found: &[OrchestrationFinding]) -> MachineTurn {
    let invalid = found.iter().filter(|finding| finding.weight == Weight::Invalid);
    let told: Vec<String> = invalid.map(ToString::to_string).collect();
    let call = view.call(Mode::RepairState).with("FINDINGS", &told.join("\n")).in_iteration();
    MachineTurn::Act(give(view, vec![call], 1).unwrap_or_else(|| Act::Failed(told.join("; "))))
}
