//! The router: the next step of an orchestration, derived from its folder alone.
//!
//! Nothing is kept in memory between two questions. Leaving a state is a change that is written
//! first, so a process killed between two steps finds the orchestration where it was. A state that
//! needs no call is passed within one question; the answer contains all changes on the way.

mod batches;
mod planning;
mod step;

pub use step::{Act, MachineStep, Output, met};

use super::agents::Mode;
use super::finding::Weight;
use super::invocation::{CallKey, Invocation, Running};
use super::local_time::LocalTime;
use super::recovery::Recovery;
use super::signal::{self, Hold, listen};
use super::snapshot::{Picture, Snapshot};
use super::state::State;
use super::validate::is_invalid;
use jiff::Timestamp;

/// More than the number of states on any path from one call to the next.
const MOST_MOVES: usize = 64;

enum MachineTurn {
    /// The orchestration has changed to this; evaluate again.
    Move(Box<Snapshot>),
    Act(Act),
}

struct View<'a> {
    picture: Picture<'a>,
    state: State,
    now: LocalTime,
}

impl View<'_> {
    fn new(seen: &Snapshot, now: LocalTime) -> View<'_> {
        let picture = Picture::from_snapshot(seen);
        let must_repair = picture.state != State::Initializing && is_invalid(&picture.findings);
        let state = if must_repair { State::RepairState } else { picture.state };
        View { picture, state, now }
    }

    /// A call whose only input is the orchestration's path.
    fn call(&self, mode: Mode) -> Invocation {
        Invocation::new(mode, &self.picture.path, self.picture.iteration)
    }

    /// The turn that changes the orchestration like this.
    fn moved(&self, change: impl FnOnce(&mut Snapshot)) -> MachineTurn {
        if let Some(why) = self.picture.seen.unreadable() {
            return MachineTurn::Act(Act::Failed(why));
        }
        let mut after = Box::new(self.picture.seen.clone());
        change(&mut after);
        MachineTurn::Move(after)
    }

    fn enter(&self, state: State) -> MachineTurn {
        self.moved(|after| after.enter(state, self.picture.iteration, None, self.now))
    }

    /// The folders of the user's feedback for this iteration; empty if there is none.
    fn feedback_paths(&self) -> Vec<String> {
        let iteration = self.picture.iteration;
        let stamps = self.picture.feedbacks.get(&iteration).into_iter().flatten();
        stamps.map(|stamp| format!("iterations/{iteration}/feedbacks/{stamp}/")).collect()
    }

    /// The user's messages for the agents of this state, as they receive them.
    fn told(&self) -> String {
        listen(self.state, &self.picture.seen.signals).told
    }

    /// The calls under way, as far as they are known.
    fn running(&self) -> &[Running] {
        self.picture.seen.running.as_deref().unwrap_or_default()
    }
}

/// The next step, unless the user holds the orchestration.
pub fn next(seen: &Snapshot, now: impl Into<LocalTime>) -> MachineStep {
    let now = now.into();
    let mut step = due(seen, now);
    apply_hold(seen, &mut step, now);
    step.after = step.after.rendered(seen, now);
    step
}

/// The next step if the orchestration were not held.
fn due(seen: &Snapshot, now: LocalTime) -> MachineStep {
    let mut findings = None;
    let mut after = seen.clone();
    for _ in 0..MOST_MOVES {
        let view = View::new(&after, now);
        let (state, iteration, wave) = (view.state, view.picture.iteration, wave(&view));
        let found = findings.get_or_insert_with(|| view.picture.findings.clone());
        match turn(&view) {
            MachineTurn::Move(moved) => after = *moved,
            MachineTurn::Act(act) => {
                let heard = carried_signals(&act, state, &after);
                let findings = std::mem::take(found);
                return MachineStep { state, iteration, wave, after, heard, act, findings };
            }
        }
    }
    // No test reaches this line; without the limit, a state that never changes would hang the
    // caller.
    let View { state, picture, .. } = View::new(&after, now);
    let why = format!("could not leave the state {state}; run `ralph session validate`");
    let (iteration, act, heard) = (picture.iteration, Act::Failed(why), Vec::new());
    let (after, findings) = (seen.clone(), findings.unwrap_or_default());
    MachineStep { state, iteration, wave: None, after, heard, act, findings }
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
fn wave(view: &View<'_>) -> Option<u32> {
    let has_one = matches!(view.state, State::ExecutingBatch | State::ReviewingBatch);
    view.picture.metadata.filter(|_| has_one)?.wave
}

fn turn(view: &View<'_>) -> MachineTurn {
    if let Some(turn) = waits(view) {
        return turn;
    }
    if !matches!(view.state, State::RepairState | State::Initializing)
        && let Some(turn) = before_any_work(view)
    {
        return turn;
    }
    match view.state {
        State::Initializing => planning::initializing(view),
        State::Planning => planning::planning(view),
        State::Replanning => planning::replanning(view),
        State::Batching => batches::batching(view),
        State::ExecutingBatch => batches::executing(view),
        State::ReviewingBatch => batches::reviewing(view),
        State::SessionReview => planning::session_review(view),
        State::Complete => planning::complete(view),
        State::RepairState => repair(view),
    }
}

/// What comes before the work of any state: write missing metadata, and begin the next iteration if
/// there is feedback for it.
fn before_any_work(view: &View<'_>) -> Option<MachineTurn> {
    let Picture { iteration, .. } = view.picture;
    if view.picture.metadata.and_then(|metadata| metadata.state) != Some(view.state) {
        return Some(view.enter(view.state));
    }
    let next = iteration + 1;
    let feedbacks = view.picture.feedbacks.get(&next)?;
    if !view.running().is_empty() {
        let why = "for the running calls; the feedback comes next".to_owned();
        return Some(MachineTurn::Act(Act::Wait { until: None, why }));
    }
    Some(view.moved(|after| {
        after.keep_plan(iteration);
        after.begin(next, feedbacks, view.now);
        after.enter(State::Replanning, next, None, view.now);
    }))
}

/// Calls the planner to repair unreadable files, and lists the problems in its prompt.
fn repair(view: &View<'_>) -> MachineTurn {
    let invalid = view.picture.findings.iter().filter(|one| one.weight == Weight::Invalid);
    let told: Vec<String> = invalid.map(ToString::to_string).collect();
    let call = view.call(Mode::RepairState).with("FINDINGS", &told.join("\n")).in_iteration();
    MachineTurn::Act(give(view, vec![call], 1).unwrap_or_else(|| Act::Failed(told.join("; "))))
}

// Calls in progress that nothing else may run beside.
//
// Executors run in parallel, and so do reviewers; any other call runs alone. An agent marks its
// work as done before its call ends, so a question in between must not begin the next step.

/// Waits while a call is in progress that does not belong to this state's batch.
fn waits(view: &View<'_>) -> Option<MachineTurn> {
    let is_other = |one: &Running| !is_of_batch(one.key.mode, view.state);
    let why = || "for a running call".to_owned();
    let act = || MachineTurn::Act(Act::Wait { until: None, why: why() });
    view.running().iter().any(is_other).then(act)
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
    let is_running = |key: &CallKey| view.running().iter().any(|one| one.key == *key);
    let (mut ready, mut busy, mut until) = (Vec::new(), false, None::<Timestamp>);
    for call in wanted {
        let call = match recovery(view, &call) {
            Recovery::GiveUp if may_be_split(&call) => {
                let splits = view.picture.seen.tries.met(|key| {
                    key.mode == Mode::RebreakdownTask && key.iteration == view.picture.iteration
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
    view.picture.seen.tries.recovery(&call.key, view.now.at)
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

/// Applies the user's hold to a step.
fn apply_hold(seen: &Snapshot, step: &mut MachineStep, now: LocalTime) {
    let Some(held) = signal::find_hold(&seen.signals) else { return };
    step.heard = held.names;
    if step.act.is_end() {
        return;
    }
    if step.after != *seen {
        // The state does not change.
        let view = View::new(seen, now);
        (step.state, step.iteration, step.wave) =
            (view.picture.state, view.picture.iteration, wave(&view));
        step.after = seen.clone();
    }
    step.act = match held.how {
        Hold::Pause => Act::Paused(held.text),
        Hold::Stop => Act::Stopped(held.text),
    };
}

#[cfg(test)]
mod explored;
#[cfg(test)]
mod held_tests;
#[cfg(test)]
mod tests;
