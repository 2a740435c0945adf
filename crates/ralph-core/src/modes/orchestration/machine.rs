//! The router: the next step of an orchestration, derived from its folder alone.
//!
//! Nothing is kept in memory between two questions. Leaving a state is a change that is written
//! first, so a process killed between two steps finds the orchestration where it was. A state that
//! needs no call is passed within one question; the answer contains all changes on the way.

mod batches;
mod planning;
mod step;

pub use step::{Act, MachineStep, Output, met, output};

use super::agents::Mode;
use super::change::{RouterWrite, advance};
use super::finding::{OrchestrationFinding, Weight};
use super::invocation::{CallKey, Invocation};
use super::progress::{Progress, TaskMark};
use super::recovery::Recovery;
use super::signal::{self, Hold, SignalsForAgents, listen};
use super::snapshot::{Picture, Snapshot};
use super::state::State;
use super::validate::{findings, is_invalid};
use jiff::Timestamp;

/// More than the number of states on any path from one call to the next.
const MOST_MOVES: usize = 64;

/// The result of evaluating a state.
enum MachineTurn {
    /// Write these changes, then evaluate again.
    Move(Vec<RouterWrite>),
    Act(Act),
}

/// The data from which a state is evaluated.
struct View<'a> {
    seen: &'a Snapshot,
    picture: &'a Picture,
    progress: &'a Progress,
    iteration: u32,
    now: Timestamp,
}

impl View<'_> {
    /// A call whose only input is the orchestration's path.
    fn call(&self, mode: Mode) -> Invocation {
        Invocation::new(mode, &self.picture.path, self.iteration)
    }

    fn enter(&self, state: State) -> RouterWrite {
        RouterWrite::Enter { state, iteration: self.iteration, wave: None }
    }

    /// The folders of the user's feedback for this iteration; empty if there is none.
    fn feedback_paths(&self) -> Vec<String> {
        let stamps = self.picture.feedbacks.get(&self.iteration).map_or(&[][..], Vec::as_slice);
        let iteration = self.iteration;
        stamps.iter().map(|stamp| format!("iterations/{iteration}/feedbacks/{stamp}/")).collect()
    }

    /// The user's messages for the agents of this state.
    fn listen(&self, state: State) -> SignalsForAgents {
        listen(state, &self.seen.signals)
    }
}

/// The next step, unless the user holds the orchestration.
pub fn next(seen: &Snapshot, now: Timestamp) -> MachineStep {
    apply_hold(seen, due(seen, now))
}

/// The next step if the orchestration were not held.
fn due(seen: &Snapshot, now: Timestamp) -> MachineStep {
    let mut changes = Vec::new();
    let mut current = seen.clone();
    let mut first: Option<Vec<OrchestrationFinding>> = None;
    for _ in 0..MOST_MOVES {
        let picture = Picture::from_snapshot(&current);
        let found = findings(&current, &picture);
        let (state, iteration) = resolve(&picture);
        let step = |state, changes, act, findings| MachineStep {
            state,
            iteration,
            wave: wave(&picture, state),
            changes,
            heard: carried_signals(&act, state, &current),
            act,
            findings,
        };
        let first = first.get_or_insert_with(|| found.clone());
        let (state, turn) = match &picture.progress {
            None if state == State::Initializing => {
                let view = View {
                    seen: &current,
                    picture: &picture,
                    progress: &Progress::default(),
                    iteration,
                    now,
                };
                (state, planning::initializing(&view))
            }
            progress => {
                let progress = progress.clone().unwrap_or_default();
                let view =
                    View { seen: &current, picture: &picture, progress: &progress, iteration, now };
                let state = match state != State::Initializing && is_invalid(&found) {
                    true => State::RepairState,
                    false => state,
                };
                (state, turn(&view, state, &found))
            }
        };
        let more = match turn {
            MachineTurn::Move(more) => more,
            MachineTurn::Act(act) => return step(state, changes, act, std::mem::take(first)),
        };
        match advance(&current, &more, now.into()) {
            Ok(after) => current = after,
            Err(why) => return step(state, changes, Act::Failed(why), std::mem::take(first)),
        }
        changes.extend(more);
    }
    // No test reaches this line; without the limit, a state that never changes would hang the
    // caller.
    let (state, iteration) = resolve(&Picture::from_snapshot(&current));
    let act =
        Act::Failed(format!("could not leave the state {state}; run `ralph session validate`"));
    MachineStep {
        state,
        iteration,
        wave: None,
        changes: Vec::new(),
        heard: Vec::new(),
        act,
        findings: first.unwrap_or_default(),
    }
}

/// The names of the signals that the calls of this act carry.
fn carried_signals(act: &Act, state: State, seen: &Snapshot) -> Vec<String> {
    match act {
        Act::Invoke(calls) if calls.iter().any(Invocation::carries_a_signal) => {
            listen(state, &seen.signals).names
        }
        _ => Vec::new(),
    }
}

/// The current wave, in the states that execute or review one.
fn wave(picture: &Picture, state: State) -> Option<u32> {
    let has_one = matches!(state, State::ExecutingBatch | State::ReviewingBatch);
    picture.metadata.as_ref().filter(|_| has_one).and_then(|metadata| metadata.wave)
}

fn turn(view: &View<'_>, state: State, found: &[OrchestrationFinding]) -> MachineTurn {
    if let Some(turn) = waits(view, state) {
        return turn;
    }
    if state == State::RepairState {
        return repair(view, found);
    }
    if let Some(turn) = before_any_state(view, state) {
        return turn;
    }
    match state {
        State::Initializing => planning::initializing(view),
        State::Planning => planning::planning(view),
        State::Replanning => planning::replanning(view),
        State::Batching => batches::batching(view),
        State::ExecutingBatch => batches::executing(view),
        State::ReviewingBatch => batches::reviewing(view),
        State::SessionReview => planning::session_review(view),
        State::Complete => planning::complete(view),
        State::RepairState => repair(view, found),
    }
}

// The state of an orchestration: from its metadata, from the user's feedback, and otherwise from
// the other files.

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
fn before_any_state(view: &View<'_>, state: State) -> Option<MachineTurn> {
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
fn repair(view: &View<'_>, found: &[OrchestrationFinding]) -> MachineTurn {
    let invalid = found.iter().filter(|finding| finding.weight == Weight::Invalid);
    let told: Vec<String> = invalid.map(ToString::to_string).collect();
    let call = view.call(Mode::RepairState).with("FINDINGS", &told.join("\n")).in_iteration();
    MachineTurn::Act(give(view, vec![call], 1).unwrap_or_else(|| Act::Failed(told.join("; "))))
}

// Calls in progress that nothing else may run beside.
//
// Executors run in parallel, and so do reviewers; any other call runs alone. An agent marks its
// work as done before its call ends, so a question in between must not begin the next step.

/// Waits while a call is in progress that does not belong to this state's batch.
fn waits(view: &View<'_>, state: State) -> Option<MachineTurn> {
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

// Which of the wanted calls can be made now.
//
// A call in progress is not made again, and a failed call waits as long as [`Recovery`] requires.
// A call that is given up leads to the splitting of its task, or to the end.

/// The most tasks of an iteration that are split. Without this limit, a planner whose small tasks
/// fail like the large ones would split tasks forever.
const MOST_SPLITS: usize = 8;

/// The calls that can be made, up to the limit, or else what to wait for. `None` if no call was
/// wanted.
fn give(view: &View<'_>, wanted: Vec<Invocation>, limit: usize) -> Option<Act> {
    let is_running = |key: &CallKey| {
        let running = view.seen.running.as_deref().unwrap_or_default();
        running.iter().any(|one| one.key == *key)
    };
    let (mut ready, mut busy, mut until) = (Vec::new(), false, None::<Timestamp>);
    for call in wanted {
        let call = match recovery(view, &call) {
            Recovery::GiveUp if may_be_split(&call) => {
                let splits = view.seen.tries.met(|key| {
                    key.mode == Mode::RebreakdownTask && key.iteration == view.iteration
                });
                if splits >= MOST_SPLITS {
                    return Some(Act::Failed(given_up(&call)));
                }
                split(view, &call)
            }
            _ => call,
        };
        if is_running(&call.key) {
            busy = true;
            continue;
        }
        match recovery(view, &call) {
            Recovery::Again => ready.push(call),
            Recovery::NotBefore(moment) => {
                until = Some(until.map_or(moment, |other| other.min(moment)));
            }
            Recovery::GiveUp => return Some(Act::Failed(given_up(&call))),
        }
    }
    if !ready.is_empty() && limit > 0 {
        ready.truncate(limit);
        return Some(Act::Invoke(ready));
    }
    if !ready.is_empty() || busy {
        let why = "for a running call".to_owned();
        return Some(Act::Wait { until, why });
    }
    until.map(|moment| Act::Wait { until: Some(moment), why: "before the next attempt".to_owned() })
}

fn recovery(view: &View<'_>, call: &Invocation) -> Recovery {
    view.seen.tries.recovery(&call.key, view.now)
}

fn may_be_split(call: &Invocation) -> bool {
    !call.key.task.is_empty() && call.mode != Mode::RebreakdownTask
}

fn split(view: &View<'_>, call: &Invocation) -> Invocation {
    let reason = format!("`{}` timed out or failed repeatedly", call.agent());
    view.call(Mode::RebreakdownTask).task(&call.key.task).with("REASON", &reason).in_iteration()
}

fn given_up(call: &Invocation) -> String {
    let about = match call.key.task.as_str() {
        "" => String::new(),
        task => format!(" for {task}"),
    };
    format!(
        "could not carry out {}{about}: `{}` timed out or failed repeatedly; reduce the scope of \
         the task, then continue",
        call.mode,
        call.agent()
    )
}

// The effect of a PAUSE or a STOP on a step, in every state.
//
// An orchestration that is held begins nothing and discards the changes that would lead to the
// next call; they are decided again when it continues. An end stays an end: nothing is left to
// hold, and a message about this work must not hold the next iteration.

/// The step with the user's hold applied.
fn apply_hold(seen: &Snapshot, mut step: MachineStep) -> MachineStep {
    let Some(held) = signal::find_hold(&seen.signals) else { return step };
    if step.act.is_end() {
        step.heard = held.names;
        return step;
    }
    if !step.changes.is_empty() {
        // The state does not change.
        let picture = Picture::from_snapshot(seen);
        (step.state, step.iteration) = resolve(&picture);
        step.wave = wave(&picture, step.state);
    }
    (step.changes, step.heard) = (Vec::new(), held.names);
    step.act = match held.how {
        Hold::Pause => Act::Paused(held.text),
        Hold::Stop => Act::Stopped(held.text),
    };
    step
}

#[cfg(test)]
mod explored;
#[cfg(test)]
mod held_tests;
#[cfg(test)]
mod tests;
