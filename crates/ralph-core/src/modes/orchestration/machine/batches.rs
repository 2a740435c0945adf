//! BATCHING, EXECUTING_BATCH and REVIEWING_BATCH: executes and reviews wave after wave.

use super::super::agents::Mode;
use super::super::attempts;
use super::super::files::OrchestrationFile;
use super::super::invocation::{Invocation, Running};
use super::super::progress::{TaskEntry, TaskMark};
use super::super::state::State;
use super::super::waves::Outlook;
use super::step::Act;
use super::{MachineTurn, View, give};
use crate::text::plural::noun;
use jiff::{SignedDuration, Timestamp};

/// Chooses the first wave with a task that can still make progress.
pub(super) fn batching(view: &View<'_>) -> MachineTurn {
    let picture = &view.picture;
    if picture.tasks.iter().any(|task| picture.progress.task(&task.id).is_none()) {
        return view.moved(|after| after.add_tasks(picture));
    }
    if let Some(turn) = without_file(view, &[]) {
        return turn;
    }
    let outlooks = picture.outlooks(&picture.seen.tries);
    let moves = |id: &str| outlooks.iter().any(|(other, outlook)| *other == id && outlook.moves());
    // A task in progress may be in no wave, or may have lost its file; it must end all the same.
    let place = picture.waves().iter().position(|wave| wave.iter().any(|task| moves(&task.id)));
    let in_no_wave = view
        .picture
        .progress
        .tasks()
        .iter()
        .any(|entry| matches!(entry.status, TaskMark::InProgress | TaskMark::ReviewPending))
        .then_some(0);
    let iteration = picture.iteration;
    view.moved(|after| match place.or(in_no_wave) {
        Some(place) => {
            let wave = u32::try_from(place + 1).unwrap_or(u32::MAX);
            after.enter(State::ExecutingBatch, iteration, Some(wave), view.now);
        }
        None => {
            after.set_row(iteration, "Reviewing");
            after.enter(State::SessionReview, iteration, None, view.now);
        }
    })
}

/// The turn that sets the status and the note of each of these tasks; `None` if there are none.
fn mark_all(
    view: &View<'_>,
    entries: Vec<&TaskEntry>,
    status: TaskMark,
    note: Option<&str>,
) -> Option<MachineTurn> {
    (!entries.is_empty()).then(|| {
        view.moved(|after| {
            for TaskEntry { id, .. } in entries {
                if let Some(entry) = after.progress_mut().task_mut(id) {
                    entry.set(status, note);
                }
            }
        })
    })
}

/// Fails tasks without a file, including those whose executor is gone: no agent can execute an
/// undefined task.
fn without_file(view: &View<'_>, working: &[(&TaskEntry, UnderWay)]) -> Option<MachineTurn> {
    let tasks = view.picture.progress.tasks().into_iter();
    let abandoned = working.iter().filter(|(_, how)| matches!(how, UnderWay::Abandoned));
    let lost = tasks
        .filter(|entry| entry.status == TaskMark::Open)
        .chain(abandoned.map(|(entry, _)| *entry))
        .filter(|entry| view.picture.task(&entry.id).is_none());
    mark_all(view, lost.collect(), TaskMark::Failed, Some(attempts::UNDEFINED))
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
    let is_its = |one: &&Running| one.key.mode == Mode::Execute && one.key.task == entry.id;
    // An executor that was called again may not have noted its start yet.
    let begun = view.running().iter().find(is_its).map(|one| one.since);
    let started = begun.map_or(noted, |begun| begun.max(noted));
    let Ok(end) = started.checked_add(allowed) else { return UnderWay::Undated };
    if view.now.at > end {
        return UnderWay::Stale(said.to_owned());
    }
    match view.picture.seen.running.is_some() && begun.is_none() {
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
    let tasks = view.picture.progress.tasks().into_iter();
    let working: Vec<(&TaskEntry, UnderWay)> = tasks
        .filter(|entry| entry.status == TaskMark::InProgress)
        .map(|entry| (entry, under_way(view, entry)))
        .collect();
    let abandoned = working.iter().filter(|(_, how)| matches!(how, UnderWay::Abandoned));
    let abandoned: Vec<&TaskEntry> = abandoned.map(|(entry, _)| *entry).collect();
    let turn = stale(view, &working)
        .or_else(|| without_file(view, &working))
        .or_else(|| too_early(view, &abandoned));
    if let Some(turn) = turn {
        return turn;
    }
    let told = view.told();
    let wanted = abandoned.into_iter().chain(of_wave(view));
    let calls: Vec<Invocation> = wanted.map(|entry| execute(view, entry, &told)).collect();
    let busy = match &view.picture.seen.running {
        Some(running) => running.iter().filter(|one| one.key.mode == Mode::Execute).count(),
        // Then no task is known to be abandoned.
        None => working.len(),
    };
    if let Some(act) = give_most(view, calls, view.picture.rails.max_parallel_executors, busy) {
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
        None => view.enter(State::ReviewingBatch),
    }
}

/// The calls that can be made beside `busy` others.
fn give_most(view: &View<'_>, calls: Vec<Invocation>, most: u32, busy: usize) -> Option<Act> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    give(view, calls, most.saturating_sub(busy))
}

/// Reopens tasks in progress that have no executor and whose dependencies are not done: they were
/// marked by hand, and have to wait.
fn too_early(view: &View<'_>, abandoned: &[&TaskEntry]) -> Option<MachineTurn> {
    let progress = view.picture.progress;
    let is_done =
        |on: &String| progress.task(on).is_some_and(|entry| entry.status == TaskMark::Done);
    let waits = |entry: &&&TaskEntry| {
        let task = view.picture.task(&entry.id);
        task.is_some_and(|task| !task.depends_on.iter().all(is_done))
    };
    let waiting = abandoned.iter().filter(waits).copied().collect();
    mark_all(view, waiting, TaskMark::Open, None)
}

/// Calls a reviewer to fail tasks that have been in progress for too long. A task without a start
/// time gets one now.
fn stale(view: &View<'_>, working: &[(&TaskEntry, UnderWay)]) -> Option<MachineTurn> {
    let undated = working.iter().filter(|(_, how)| matches!(how, UnderWay::Undated));
    let note = format!("Iteration {}, started: {:.0}", view.picture.iteration, view.now.at);
    let undated = undated.map(|(entry, _)| *entry).collect();
    if let Some(turn) = mark_all(view, undated, TaskMark::InProgress, Some(&note)) {
        return Some(turn);
    }
    let minutes = view.picture.rails.task_wip_minutes;
    let fail = |(entry, how): &(&TaskEntry, UnderWay)| {
        let UnderWay::Stale(since) = how else { return None };
        let noun = noun(minutes, "minute", "minutes");
        let reason = format!("in progress since {since}, longer than {minutes} {noun}");
        Some(timeout_fail(view, &entry.id, &reason))
    };
    give_reviews(view, working.iter().filter_map(fail).collect()).map(MachineTurn::Act)
}

fn timeout_fail(view: &View<'_>, task: &str, reason: &str) -> Invocation {
    view.call(Mode::TimeoutFail).task(task).with("REASON", reason).in_iteration()
}

/// The calls of reviewers that can be made now.
fn give_reviews(view: &View<'_>, calls: Vec<Invocation>) -> Option<Act> {
    let judges = |one: &&Running| matches!(one.key.mode, Mode::TaskReview | Mode::TimeoutFail);
    let busy = view.running().iter().filter(judges).count();
    give_most(view, calls, view.picture.rails.max_parallel_reviewers, busy)
}

/// The tasks of the wave that can be executed now. A failed task belongs to the next batch: it is
/// executed again only after the others of its batch have been reviewed.
fn of_wave<'a>(view: &'a View<'_>) -> Vec<&'a TaskEntry> {
    let picture = &view.picture;
    let outlooks = picture.outlooks(&picture.seen.tries);
    let wave = picture.metadata.and_then(|metadata| metadata.wave).unwrap_or(1);
    let place = usize::try_from(wave.saturating_sub(1)).unwrap_or(usize::MAX);
    let waves = picture.waves();
    let wave = waves.get(place).into_iter().flatten();
    let tasks: Vec<&TaskEntry> = wave.filter_map(|task| picture.progress.task(&task.id)).collect();
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
    let (picture, tries) = (&view.picture, &view.picture.seen.tries);
    let call = view.call(Mode::Execute).task(&entry.id);
    // A repeated call keeps its attempt number, because its report has not been reviewed yet.
    let again = tries.get(&call.key).is_some_and(|one| one.failures > 0)
        || entry.status == TaskMark::InProgress;
    let last = picture.reports_of(&entry.id).iter().max_by_key(|report| report.attempt);
    let attempt = match last.filter(|last| last.verdict.is_none()) {
        Some(last) if again && entry.status != TaskMark::Failed => last.attempt,
        _ => picture.next_attempt(tries, &entry.id),
    };
    call.with("ATTEMPT_NUMBER", &attempt.to_string())
        .in_iteration()
        .with("FEEDBACK_CONTEXT", &view.feedback_paths().join(", "))
        .with("SIGNAL", told)
}

/// Has each pending task judged by a reviewer of its own.
pub(super) fn reviewing(view: &View<'_>) -> MachineTurn {
    let tasks = view.picture.progress.tasks().into_iter();
    let pending = tasks.filter(|entry| entry.status == TaskMark::ReviewPending);
    let call = |TaskEntry { id, .. }: &TaskEntry| match view.picture.latest_attempt(id) {
        0 => timeout_fail(view, id, "it awaits review and has no report"),
        attempt => {
            let report = OrchestrationFile::Report { task: id, attempt }.to_string();
            view.call(Mode::TaskReview).task(id).with("REPORT_PATH", &report).in_iteration()
        }
    };
    match give_reviews(view, pending.map(call).collect()) {
        Some(act) => MachineTurn::Act(act),
        None => view.enter(State::Batching),
    }
}
