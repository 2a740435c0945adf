//! The states in which no task is executed: INITIALIZING and PLANNING (a plan, its open questions and
//! its tasks), REPLANNING, SESSION_REVIEW and COMPLETE.

use super::super::agents::Mode;
use super::super::files::OrchestrationFile;
use super::super::invocation::Invocation;
use super::super::progress::{TaskEntry, TaskMark, cycle};
use super::super::state::{MetadataStatus, State};
use super::super::validate::of_feedback;
use super::super::waves::Outlook;
use super::step::Act;
use super::{MachineTurn, View, give};

/// The one call that is due.
fn invoke(view: &View<'_>, call: Invocation) -> MachineTurn {
    let nothing = || Act::Failed(format!("could not call `{}`; ask again", call.agent()));
    MachineTurn::Act(give(view, vec![call.clone()], 1).unwrap_or_else(nothing))
}

/// Calls the planner to set up the orchestration until it reports that it has.
pub(super) fn initializing(view: &View<'_>) -> MachineTurn {
    match view.picture.progress.is_planned(1, "plan-init") {
        true => view.enter(State::Planning),
        false => lay_out(view),
    }
}

fn lay_out(view: &View<'_>) -> MachineTurn {
    let request = &view.picture.seen.request;
    invoke(view, view.call(Mode::Initialize).with("USER_REQUEST", request).in_iteration())
}

/// Runs question cycles, then the breakdown into tasks.
pub(super) fn planning(view: &View<'_>) -> MachineTurn {
    let (picture, iteration, told) = (&view.picture, view.picture.iteration, view.told());
    let entries: Vec<&TaskEntry> = picture.progress.planning(iteration).collect();
    // Check only these entries: INITIALIZING checks those of the first iteration, and might return
    // here.
    if stands(&entries, "plan-init") == Some(false) {
        return lay_out(view);
    }
    for (at, entry) in entries.iter().enumerate().filter(|(_, entry)| !entry.status.is_settled()) {
        let mode = match entry.id.as_str() {
            "plan-brainstorm" => Mode::Brainstorm,
            "plan-research" => Mode::Research,
            _ => continue,
        };
        let cycle = cycle(&entries, at);
        if cycle > picture.rails.max_cycles {
            return skip_cycles(view, &entries);
        }
        return invoke(view, view.call(mode).cycle(cycle).in_iteration().with("SIGNAL", &told));
    }
    if !stands(&entries, "plan-breakdown").unwrap_or(!picture.tasks.is_empty()) {
        return invoke(view, view.call(Mode::TaskBreakdown).in_iteration().with("SIGNAL", &told));
    }
    if picture.tasks.is_empty() && picture.progress.tasks().is_empty() {
        let why = "planning ended without a task; set `plan-breakdown` in `progress.md` to `[ ]` \
             to break the plan into tasks again";
        return MachineTurn::Act(Act::Failed(why.to_owned()));
    }
    view.moved(|after| {
        after.set_row(iteration, "Executing");
        after.add_tasks(picture);
        after.end_planning(iteration, view.now);
        after.enter(State::Batching, iteration, None, view.now);
    })
}

/// Whether a planning task is settled; one settled entry of several is enough. `None` if there is
/// no entry.
fn stands(entries: &[&TaskEntry], id: &str) -> Option<bool> {
    let mut of_kind = entries.iter().filter(|entry| entry.id == id).peekable();
    of_kind.peek()?;
    Some(of_kind.any(|entry| entry.status.is_settled()))
}

/// Skips all question cycles beyond the limit at once: one by one, they could exceed the limit of
/// moves.
fn skip_cycles(view: &View<'_>, entries: &[&TaskEntry]) -> MachineTurn {
    let most = view.picture.rails.max_cycles;
    let asks = |entry: &TaskEntry| matches!(entry.id.as_str(), "plan-brainstorm" | "plan-research");
    view.moved(|after| {
        for (at, _) in entries.iter().enumerate().filter(|(_, entry)| asks(entry)) {
            let cycle = cycle(entries, at);
            let entry = after.progress_mut().planning_mut(view.picture.iteration, at);
            if let Some(entry) = entry.filter(|entry| !entry.status.is_settled() && cycle > most) {
                let note = format!("cycle {cycle}, skipped: planning.max_cycles is {most}");
                entry.set(TaskMark::Cancelled, Some(&note));
            }
        }
    })
}

// REPLANNING: works the user's feedback into the plan and the tasks.
//
// Four calls in a fixed order, each with one mode. The old plan is kept before it is changed.

pub(super) fn replanning(view: &View<'_>) -> MachineTurn {
    let iteration = view.picture.iteration;
    let before = OrchestrationFile::PlanSnapshot(iteration.saturating_sub(1).max(1));
    let paths = view.feedback_paths();
    if paths.is_empty() {
        let why = format!("iteration {iteration} has no feedback to plan from");
        return MachineTurn::Act(Act::AwaitingFeedback(vec![why]));
    }
    let modes = [Mode::FeedbackAnalysis, Mode::Research, Mode::Update, Mode::Rebreakdown];
    let is_open = |mode: &Mode| match mode.planning_task(iteration) {
        Some(id) => !view.picture.progress.is_planned(iteration, id),
        None => false,
    };
    let Some(mode) = modes.into_iter().find(is_open) else { return replanned(view) };
    let call = view.call(mode);
    invoke(
        view,
        match mode {
            Mode::FeedbackAnalysis => {
                let category = "feedback-driven";
                let output = OrchestrationFile::IterationQuestions { iteration, category };
                call.cycle(1)
                    .in_iteration()
                    .with("FEEDBACK_PATHS", &paths.join(", "))
                    .with("OUTPUT", &output.to_string())
            }
            Mode::Research => {
                call.cycle(1).in_iteration().with("QUESTION_CATEGORY", "feedback-driven")
            }
            Mode::Update => {
                let seen = view.picture.seen;
                if !seen.has(before) && seen.has(OrchestrationFile::Plan) {
                    return view.moved(|after| after.keep_plan(iteration.saturating_sub(1).max(1)));
                }
                call.in_iteration()
                    .with("FEEDBACK_SOURCES", &format!("iterations/{iteration}/feedbacks/*/"))
                    .with("PLAN_SNAPSHOT", &before.to_string())
            }
            _ => {
                let failed = failed(view).join(", ");
                let failed = if failed.is_empty() { "none" } else { &failed };
                call.in_iteration().with("FAILED_TASKS", failed)
            }
        },
    )
}

fn failed<'a>(view: &View<'a>) -> Vec<&'a str> {
    let tasks = view.picture.progress.tasks().into_iter();
    let failed = tasks.filter(|entry| entry.status == TaskMark::Failed);
    failed.map(|entry| entry.id.as_str()).collect()
}

/// Reopens failed tasks.
fn replanned(view: &View<'_>) -> MachineTurn {
    let iteration = view.picture.iteration;
    view.moved(|after| {
        for task in failed(view) {
            if let Some(entry) = after.progress_mut().task_mut(task) {
                entry.set(TaskMark::Open, Some(&format!("Iteration {iteration}")));
            }
        }
        after.add_tasks(&view.picture);
        after.set_row(iteration, "Executing");
        after.end_planning(iteration, view.now);
        after.enter(State::Batching, iteration, None, view.now);
    })
}

// SESSION_REVIEW and COMPLETE: the result of the iteration.
//
// A reviewer judges, but the tasks decide: if any task is not done, the orchestration waits for
// feedback, whatever the review says.

pub(super) fn session_review(view: &View<'_>) -> MachineTurn {
    let (picture, iteration) = (&view.picture, view.picture.iteration);
    let Some(says_complete) = picture.reviews.get(&iteration) else {
        return invoke(view, view.call(Mode::SessionReview).in_iteration());
    };
    let standing = match *says_complete && open(view).is_empty() {
        true => MetadataStatus::Completed,
        false => MetadataStatus::AwaitingFeedback,
    };
    if picture.metadata.and_then(|metadata| metadata.standing) != Some(standing) {
        return invoke(view, view.call(Mode::UpdateMetadata).with("STATUS", standing.word()));
    }
    view.moved(|after| {
        after.keep_plan(iteration);
        let completed_at = &mut after.iteration_mut(iteration, view.now).completed_at;
        completed_at.get_or_insert_with(|| view.now.to_string());
        after.set_row(iteration, "Complete");
        after.enter(State::Complete, iteration, None, view.now);
    })
}

pub(super) fn complete(view: &View<'_>) -> MachineTurn {
    let iteration = view.picture.iteration;
    let mut open = open(view);
    if open.is_empty() && view.picture.reviews.get(&iteration) == Some(&true) {
        return MachineTurn::Act(Act::Complete);
    }
    if open.is_empty() {
        open.push(format!("the review in `iterations/{iteration}/review.md` names gaps"));
    }
    let found = of_feedback(view.picture.seen, State::Complete, iteration);
    open.extend(found.iter().map(ToString::to_string));
    MachineTurn::Act(Act::AwaitingFeedback(open))
}

/// The tasks that are not done, each with the reason.
fn open(view: &View<'_>) -> Vec<String> {
    let outlooks = view.picture.outlooks(&view.picture.seen.tries);
    let tasks = view.picture.progress.tasks().into_iter();
    let open = tasks.filter(|entry| !entry.status.is_settled());
    open.map(|TaskEntry { id, status, .. }| {
        let outlook = outlooks.iter().find(|(other, _)| other == id).map(|(_, outlook)| outlook);
        match (status, outlook) {
            (TaskMark::Failed, _) => format!("{id} failed"),
            (_, Some(Outlook::Skipped(why))) => why.clone(),
            _ => format!("{id} is not done"),
        }
    })
    .collect()
}
