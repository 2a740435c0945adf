//! BATCHING, EXECUTING_BATCH and REVIEWING_BATCH: executes and reviews wave after wave.

use super::super::agents::Mode;
use super::super::attempts;
use super::super::change::RouterWrite;
use super::super::files::OrchestrationFile;
use super::super::invocation::{Invocation, Running};
use super::super::progress::{TaskEntry, TaskMark};
use super::super::state::State;
use super::super::waves::{Outlook, TaskFiles};
use super::step::Act;
use super::{MachineTurn, View, give};
use crate::text::plural::noun;
use jiff::{SignedDuration, Timestamp};

/// Chooses the first wave with a task that can still make progress.
pub(super) fn batching(view: &View<'_>) -> MachineTurn {
    if let Some(add) = missing_entries(view) {
        return MachineTurn::Move(vec![add]);
    }
    if let Some(marks) = without_file(view, &[]) {
        return MachineTurn::Move(marks);
    }
    let wanted = TaskFiles::from_picture(view.picture, view.progress);
    let outlooks = wanted.outlooks(view.picture, &view.seen.tries, view.iteration);
    let moves = |id: &&str| outlooks.iter().any(|(other, outlook)| other == id && outlook.moves());
    // A task in progress may be in no wave, or may have lost its file; it must end all the same.
    let place = wanted.waves().iter().position(|wave| wave.iter().any(moves));
    let in_no_wave = view
        .progress
        .tasks()
        .iter()
        .any(|entry| matches!(entry.status, TaskMark::InProgress | TaskMark::ReviewPending))
        .then_some(0);
    match place.or(in_no_wave) {
        Some(place) => {
            let wave = u32::try_from(place + 1).unwrap_or(u32::MAX);
            let iteration = view.iteration;
            let state = State::ExecutingBatch;
            MachineTurn::Move(vec![RouterWrite::Enter { state, iteration, wave: Some(wave) }])
        }
        None => MachineTurn::Move(vec![
            RouterWrite::Row { iteration: view.iteration, status: "Reviewing" },
            view.enter(State::SessionReview),
        ]),
    }
}

/// The tasks that have a file but no entry in the progress.
pub(super) fn missing_entries(view: &View<'_>) -> Option<RouterWrite> {
    let tasks = view.picture.tasks.iter().filter(|task| view.progress.task(&task.id).is_none());
    let tasks: Vec<String> = tasks.map(|task| task.id.clone()).collect();
    (!tasks.is_empty()).then_some(RouterWrite::Add { iteration: view.iteration, tasks })
}

/// Fails tasks without a file, including those whose executor is gone: no agent can execute an
/// undefined task.
fn without_file(view: &View<'_>, working: &[(&TaskEntry, UnderWay)]) -> Option<Vec<RouterWrite>> {
    let tasks = view.progress.tasks();
    let abandoned = working.iter().filter(|(_, how)| matches!(how, UnderWay::Abandoned));
    let lost = tasks
        .iter()
        .filter(|entry| entry.status == TaskMark::Open)
        .chain(abandoned.map(|(entry, _)| entry))
        .filter(|entry| view.picture.task(&entry.id).is_none());
    let marks: Vec<RouterWrite> = lost
        .map(|entry| RouterWrite::Mark {
            task: entry.id.clone(),
            status: TaskMark::Failed,
            note: Some(attempts::UNDEFINED.to_owned()),
        })
        .collect();
    (!marks.is_empty()).then_some(marks)
}

/// How a task in progress stands.
enum UnderWay {
    /// It may continue until this time.
    Until(Timestamp),
    /// It has exceeded its time; holds the start time from its note.
    Stale(String),
    /// Its note has no start time.
    Undated,
    /// Its executor is gone.
    Abandoned,
}

fn under_way(view: &View<'_>, entry: &TaskEntry) -> UnderWay {
    let allowed = SignedDuration::from_mins(i64::from(view.picture.rails.task_wip_minutes));
    let Some(said) = entry.said("started") else { return UnderWay::Undated };
    let Some(noted) = moment(said) else { return UnderWay::Undated };
    let running = view.seen.running.as_deref().unwrap_or_default();
    let is_its = |one: &&Running| one.key.mode == Mode::Execute && one.key.task == entry.id;
    // An executor that was called again may not have noted its start yet.
    let begun = running.iter().find(is_its).map(|one| one.since);
    let started = begun.map_or(noted, |begun| begun.max(noted));
    let Ok(end) = started.checked_add(allowed) else { return UnderWay::Undated };
    if view.now > end {
        return UnderWay::Stale(said.to_owned());
    }
    match view.seen.running.is_some() && begun.is_none() {
        true => UnderWay::Abandoned,
        false => UnderWay::Until(end),
    }
}

/// `2026-01-31T12:00:00Z`, or with an offset as `date` prints it.
fn moment(text: &str) -> Option<Timestamp> {
    text.parse().ok().or_else(|| Timestamp::strptime("%Y-%m-%dT%H:%M:%S%z", text).ok())
}

/// Fails stale tasks, then executes the tasks of the wave.
pub(super) fn executing(view: &View<'_>) -> MachineTurn {
    let tasks = view.progress.tasks();
    let working: Vec<(&TaskEntry, UnderWay)> = tasks
        .iter()
        .filter(|entry| entry.status == TaskMark::InProgress)
        .map(|entry| (*entry, under_way(view, entry)))
        .collect();
    if let Some(turn) = stale(view, &working) {
        return turn;
    }
    let heard = view.listen(State::ExecutingBatch);
    if let Some(marks) = without_file(view, &working) {
        return MachineTurn::Move(marks);
    }
    if let Some(marks) = too_early(view, &working) {
        return MachineTurn::Move(marks);
    }
    let mut calls: Vec<Invocation> = Vec::new();
    for (entry, how) in &working {
        if matches!(how, UnderWay::Abandoned) {
            calls.push(execute(view, entry, &heard.told));
        }
    }
    calls.extend(of_wave(view).into_iter().map(|entry| execute(view, entry, &heard.told)));
    let busy = match &view.seen.running {
        Some(running) => running.iter().filter(|one| one.key.mode == Mode::Execute).count(),
        // Then no task is known to be abandoned.
        None => working.len(),
    };
    let most = usize::try_from(view.picture.rails.max_parallel_executors).unwrap_or(usize::MAX);
    if let Some(act) = give(view, calls, most.saturating_sub(busy)) {
        return MachineTurn::Act(act);
    }
    let ends = working.iter().filter_map(|(_, how)| match how {
        UnderWay::Until(end) => Some(*end),
        _ => None,
    });
    match ends.min() {
        Some(end) => {
            let why = "for the running tasks".to_owned();
            MachineTurn::Act(Act::Wait { until: Some(end), why })
        }
        None => MachineTurn::Move(vec![view.enter(State::ReviewingBatch)]),
    }
}

/// Reopens tasks in progress that have no executor and whose dependencies are not done: they were
/// marked by hand, and have to wait.
fn too_early(view: &View<'_>, working: &[(&TaskEntry, UnderWay)]) -> Option<Vec<RouterWrite>> {
    let is_done =
        |on: &String| view.progress.task(on).is_some_and(|entry| entry.status == TaskMark::Done);
    let waits =
        |id: &str| view.picture.task(id).is_some_and(|task| !task.depends_on.iter().all(is_done));
    let marks: Vec<RouterWrite> = working
        .iter()
        .filter(|(entry, how)| matches!(how, UnderWay::Abandoned) && waits(&entry.id))
        .map(|(entry, _)| RouterWrite::Mark {
            task: entry.id.clone(),
            status: TaskMark::Open,
            note: None,
        })
        .collect();
    (!marks.is_empty()).then_some(marks)
}

/// Calls a reviewer to fail tasks that have been in progress for too long. A task without a start
/// time gets one now.
fn stale(view: &View<'_>, working: &[(&TaskEntry, UnderWay)]) -> Option<MachineTurn> {
    let undated: Vec<RouterWrite> = working
        .iter()
        .filter(|(_, how)| matches!(how, UnderWay::Undated))
        .map(|(entry, _)| RouterWrite::Mark {
            task: entry.id.clone(),
            status: TaskMark::InProgress,
            note: Some(format!("Iteration {}, started: {:.0}", view.iteration, view.now)),
        })
        .collect();
    if !undated.is_empty() {
        return Some(MachineTurn::Move(undated));
    }
    let minutes = view.picture.rails.task_wip_minutes;
    let calls: Vec<Invocation> = working
        .iter()
        .filter_map(|(entry, how)| match how {
            UnderWay::Stale(since) => Some((entry, since)),
            _ => None,
        })
        .map(|(entry, since)| {
            let reason = format!(
                "in progress since {since}, longer than {minutes} {}",
                noun(minutes, "minute", "minutes")
            );
            timeout_fail(view, &entry.id, &reason)
        })
        .collect();
    let most = usize::try_from(view.picture.rails.max_parallel_reviewers).unwrap_or(usize::MAX);
    give(view, calls, most.saturating_sub(reviewers(view))).map(MachineTurn::Act)
}

fn timeout_fail(view: &View<'_>, task: &str, reason: &str) -> Invocation {
    view.call(Mode::TimeoutFail).task(task).with("REASON", reason).in_iteration()
}

fn reviewers(view: &View<'_>) -> usize {
    let running = view.seen.running.as_deref().unwrap_or_default();
    let judges = |mode: Mode| matches!(mode, Mode::TaskReview | Mode::TimeoutFail);
    running.iter().filter(|one| judges(one.key.mode)).count()
}

/// The tasks of the wave that can be executed now. A failed task belongs to the next batch: it is
/// executed again only after the others of its batch have been reviewed.
fn of_wave<'a>(view: &'a View<'_>) -> Vec<&'a TaskEntry> {
    let wanted = TaskFiles::from_picture(view.picture, view.progress);
    let outlooks = wanted.outlooks(view.picture, &view.seen.tries, view.iteration);
    let wave = view.picture.metadata.as_ref().and_then(|metadata| metadata.wave).unwrap_or(1);
    let waves = wanted.waves();
    let place = usize::try_from(wave.saturating_sub(1)).unwrap_or(usize::MAX);
    let Some(wave) = waves.get(place) else { return Vec::new() };
    let tasks: Vec<&TaskEntry> = wave
        .iter()
        .filter_map(|id| view.progress.tasks().into_iter().find(|entry| entry.id == *id))
        .collect();
    let in_batch = tasks
        .iter()
        .any(|entry| matches!(entry.status, TaskMark::ReviewPending | TaskMark::InProgress));
    let is_ready = |entry: &&TaskEntry| {
        let ready =
            outlooks.iter().any(|(id, outlook)| *id == entry.id && *outlook == Outlook::Ready);
        ready && (entry.status == TaskMark::Open || !in_batch)
    };
    tasks.into_iter().filter(is_ready).collect()
}

fn execute(view: &View<'_>, entry: &TaskEntry, told: &str) -> Invocation {
    let reports = view.picture.reports_of(&entry.id);
    let call = view.call(Mode::Execute).task(&entry.id);
    // A repeated call keeps its attempt number, because its report has not been reviewed yet.
    let again = view.seen.tries.get(&call.key).is_some_and(|one| one.failures > 0)
        || entry.status == TaskMark::InProgress;
    let unjudged =
        reports.iter().max_by_key(|report| report.attempt).filter(|last| last.verdict.is_none());
    let attempt = match unjudged {
        Some(last) if again && entry.status != TaskMark::Failed => last.attempt,
        _ => attempts::next(view.picture, Some(entry), &view.seen.tries, &entry.id, view.iteration),
    };
    call.with("ATTEMPT_NUMBER", &attempt.to_string())
        .in_iteration()
        .with("FEEDBACK_CONTEXT", &view.feedback_paths().join(", "))
        .with("SIGNAL", told)
}

/// Has each pending task judged by a reviewer of its own.
pub(super) fn reviewing(view: &View<'_>) -> MachineTurn {
    let tasks = view.progress.tasks();
    let pending = tasks.iter().filter(|entry| entry.status == TaskMark::ReviewPending);
    let calls: Vec<Invocation> = pending
        .map(|entry| {
            let reports = view.picture.reports_of(&entry.id);
            match reports.iter().map(|report| report.attempt).max() {
                Some(attempt) => {
                    let report = OrchestrationFile::Report { task: &entry.id, attempt };
                    view.call(Mode::TaskReview)
                        .task(&entry.id)
                        .with("REPORT_PATH", &report.to_string())
                        .in_iteration()
                }
                None => timeout_fail(view, &entry.id, "it awaits review and has no report"),
            }
        })
        .collect();
    let most = usize::try_from(view.picture.rails.max_parallel_reviewers).unwrap_or(usize::MAX);
    match give(view, calls, most.saturating_sub(reviewers(view))) {
        Some(act) => MachineTurn::Act(act),
        None => MachineTurn::Move(vec![view.enter(State::Batching)]),
    }
}
