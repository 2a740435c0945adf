//! The states in which no task is executed: INITIALIZING and PLANNING (a plan, its open questions and
//! its tasks), REPLANNING, SESSION_REVIEW and COMPLETE.

use super::super::agents::Mode;
use super::super::change::RouterWrite;
use super::super::files::OrchestrationFile;
use super::super::progress::{TaskEntry, TaskMark, cycle};
use super::super::state::{MetadataStatus, State};
use super::super::validate::of_feedback;
use super::super::waves::{Outlook, TaskFiles};
use super::step::Act;
use super::{MachineTurn, View, give};

/// Calls the planner to set up the orchestration until it reports that it has.
pub(super) fn initializing(view: &View<'_>) -> MachineTurn {
    let is_done = view
        .progress
        .planning(1)
        .any(|entry| entry.id == "plan-init" && entry.status == TaskMark::Done);
    if is_done {
        return MachineTurn::Move(vec![view.enter(State::Planning)]);
    }
    lay_out(view)
}

fn lay_out(view: &View<'_>) -> MachineTurn {
    let call = view.call(Mode::Initialize).with("USER_REQUEST", &view.seen.request).in_iteration();
    invoke(view, call)
}

fn invoke(view: &View<'_>, call: super::super::invocation::Invocation) -> MachineTurn {
    let nothing =
        || Act::Failed(format!("could not call `{}`; ask again", Mode::Initialize.agent()));
    MachineTurn::Act(give(view, vec![call], 1).unwrap_or_else(nothing))
}

/// Runs question cycles, then the breakdown into tasks.
pub(super) fn planning(view: &View<'_>) -> MachineTurn {
    let heard = view.listen(State::Planning);
    let entries: Vec<&TaskEntry> = view.progress.planning(view.iteration).collect();
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
        let most = view.picture.rails.max_cycles;
        if cycle > most {
            return MachineTurn::Move(too_many(view, &entries));
        }
        let call = view.call(mode).cycle(cycle).in_iteration().with("SIGNAL", &heard.told);
        return invoke(view, call);
    }
    let is_broken_down =
        stands(&entries, "plan-breakdown").unwrap_or(!view.picture.tasks.is_empty());
    if !is_broken_down {
        let call = view.call(Mode::TaskBreakdown).in_iteration().with("SIGNAL", &heard.told);
        return invoke(view, call);
    }
    if view.picture.tasks.is_empty() && view.progress.tasks().is_empty() {
        let why = "planning ended without a task; set `plan-breakdown` in `progress.md` to `[ ]` \
             to break the plan into tasks again";
        return MachineTurn::Act(Act::Failed(why.to_owned()));
    }
    let mut changes = vec![
        RouterWrite::Row { iteration: view.iteration, status: "Executing" },
        view.enter(State::Batching),
    ];
    changes.extend(super::batches::missing_entries(view));
    changes.push(RouterWrite::Planned(view.iteration));
    MachineTurn::Move(changes)
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
fn too_many(view: &View<'_>, entries: &[&TaskEntry]) -> Vec<RouterWrite> {
    let most = view.picture.rails.max_cycles;
    let asks = |entry: &TaskEntry| matches!(entry.id.as_str(), "plan-brainstorm" | "plan-research");
    let open =
        entries.iter().enumerate().filter(|(_, entry)| !entry.status.is_settled() && asks(entry));
    open.map(|(at, _)| (cycle(entries, at), at))
        .filter(|(cycle, _)| *cycle > most)
        .map(|(cycle, at)| RouterWrite::MarkPlanning {
            iteration: view.iteration,
            at,
            status: TaskMark::Cancelled,
            note: Some(format!("cycle {cycle}, skipped: planning.max_cycles is {most}")),
        })
        .collect()
}

// REPLANNING: works the user's feedback into the plan and the tasks.
//
// Four calls in a fixed order, each with one mode. The old plan is kept before it is changed.

pub(super) fn replanning(view: &View<'_>) -> MachineTurn {
    let iteration = view.iteration;
    let before = iteration.saturating_sub(1).max(1);
    let paths = view.feedback_paths();
    if paths.is_empty() {
        let why = format!("iteration {iteration} has no feedback to plan from");
        return MachineTurn::Act(Act::AwaitingFeedback(vec![why]));
    }
    let is_done = |id: &str| {
        view.progress
            .planning(iteration)
            .any(|entry| entry.id == id && entry.status == TaskMark::Done)
    };
    let call = if !is_done("plan-rebrainstorm") {
        let output =
            OrchestrationFile::IterationQuestions { iteration, category: "feedback-driven" };
        view.call(Mode::FeedbackAnalysis)
            .cycle(1)
            .in_iteration()
            .with("FEEDBACK_PATHS", &paths.join(", "))
            .with("OUTPUT", &output.to_string())
    } else if !is_done("plan-reresearch") {
        view.call(Mode::Research)
            .cycle(1)
            .in_iteration()
            .with("QUESTION_CATEGORY", "feedback-driven")
    } else if !is_done("plan-update") {
        if !view.seen.has(OrchestrationFile::PlanSnapshot(before))
            && view.seen.has(OrchestrationFile::Plan)
        {
            return MachineTurn::Move(vec![RouterWrite::KeepPlan(before)]);
        }
        view.call(Mode::Update)
            .in_iteration()
            .with("FEEDBACK_SOURCES", &format!("iterations/{iteration}/feedbacks/*/"))
            .with("PLAN_SNAPSHOT", &OrchestrationFile::PlanSnapshot(before).to_string())
    } else if !is_done("plan-rebreakdown") {
        let failed = failed(view).join(", ");
        let failed = if failed.is_empty() { "none" } else { &failed };
        view.call(Mode::Rebreakdown).in_iteration().with("FAILED_TASKS", failed)
    } else {
        return MachineTurn::Move(replanned(view));
    };
    MachineTurn::Act(give(view, vec![call], 1).unwrap_or(Act::AwaitingFeedback(Vec::new())))
}

fn failed(view: &View<'_>) -> Vec<String> {
    let tasks = view.progress.tasks();
    let failed = tasks.iter().filter(|entry| entry.status == TaskMark::Failed);
    failed.map(|entry| entry.id.clone()).collect()
}

/// Reopens failed tasks.
fn replanned(view: &View<'_>) -> Vec<RouterWrite> {
    let iteration = view.iteration;
    let mut changes: Vec<RouterWrite> = failed(view)
        .into_iter()
        .map(|task| RouterWrite::Mark {
            task,
            status: TaskMark::Open,
            note: Some(format!("Iteration {iteration}")),
        })
        .collect();
    changes.extend(super::batches::missing_entries(view));
    changes.push(RouterWrite::Row { iteration, status: "Executing" });
    changes.push(RouterWrite::Planned(iteration));
    changes.push(view.enter(State::Batching));
    changes
}

// SESSION_REVIEW and COMPLETE: the result of the iteration.
//
// A reviewer judges, but the tasks decide: if any task is not done, the orchestration waits for
// feedback, whatever the review says.

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
    let wanted = TaskFiles::from_picture(view.picture, view.progress);
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
