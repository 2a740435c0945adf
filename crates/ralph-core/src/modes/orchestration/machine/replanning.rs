//! REPLANNING: works the user's feedback into the plan and the tasks.
//!
//! Four calls in a fixed order, each with one mode. The old plan is kept before it is changed.

use super::super::agents::Mode;
use super::super::change::RouterWrite;
use super::super::files::OrchestrationFile;
use super::super::progress::TaskMark;
use super::super::state::State;
use super::give::give;
use super::step::Act;
use super::{MachineTurn, View};

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
