//! SESSION_REVIEW and COMPLETE: the result of the iteration.
//!
//! A reviewer judges, but the tasks decide: if any task is not done, the orchestration waits for
//! feedback, whatever the review says.

use super::super::agents::Mode;
use super::super::change::RouterWrite;
use super::super::progress::TaskMark;
use super::super::state::{MetadataStatus, State};
use super::super::validate::of_feedback;
use super::super::waves::{Outlook, TaskFiles};
use super::give::give;
use super::step::Act;
use super::{MachineTurn, View};

pub(super) fn session_review(view: &View<'_>) -> MachineTurn {
    let Some(says_complete) = view.picture.reviews.get(&view.iteration) else {
        let call = view.call(Mode::SessionReview).in_iteration();
        return MachineTurn::Act(give(view, vec![call], 1).unwrap_or(Act::Complete));
    };
    let standing = match *says_complete && open(view).is_empty() {
        true => MetadataStatus::Completed,
        false => MetadataStatus::AwaitingFeedback,
    };
    if view.picture.metadata.as_ref().and_then(|metadata| metadata.standing) != Some(standing) {
        let call = view.call(Mode::UpdateMetadata).with("STATUS", standing.word());
        return MachineTurn::Act(give(view, vec![call], 1).unwrap_or(Act::Complete));
    }
    let iteration = view.iteration;
    MachineTurn::Move(vec![
        RouterWrite::KeepPlan(iteration),
        RouterWrite::Completed(iteration),
        RouterWrite::Row { iteration, status: "Complete" },
        view.enter(State::Complete),
    ])
}

pub(super) fn complete(view: &View<'_>) -> MachineTurn {
    let mut open = open(view);
    if open.is_empty() && view.picture.reviews.get(&view.iteration) == Some(&true) {
        return MachineTurn::Act(Act::Complete);
    }
    if open.is_empty() {
        open.push(format!("the review in `iterations/{}/review.md` names gaps", view.iteration));
    }
    let found = of_feedback(view.seen, State::Complete, view.iteration);
    open.extend(found.iter().map(ToString::to_string));
    MachineTurn::Act(Act::AwaitingFeedback(open))
}

/// The tasks that are not done, each with the reason.
fn open(view: &View<'_>) -> Vec<String> {
    let wanted = TaskFiles::of(view.picture, view.progress);
    let outlooks = wanted.outlooks(view.picture, &view.seen.tries, view.iteration);
    let tasks = view.progress.tasks();
    let open = tasks.iter().filter(|entry| !entry.status.is_settled());
    open.map(|entry| {
        let outlook = outlooks.iter().find(|(id, _)| *id == entry.id).map(|(_, outlook)| outlook);
        match (entry.status, outlook) {
            (TaskMark::Failed, _) => format!("{} failed", entry.id),
            (_, Some(Outlook::Skipped(why))) => why.clone(),
            _ => format!("{} is not done", entry.id),
        }
    })
    .collect()
}
