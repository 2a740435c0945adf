//! The router: the next step of an orchestration, derived from its folder alone.
//!
//! Nothing is kept in memory between two questions. Leaving a state is a change that is written
//! first, so a process killed between two steps finds the orchestration where it was. A state that
//! needs no call is passed within one question; the answer contains all changes on the way.

mod alone;
mod batches;
mod closing;
mod give;
mod held;
mod made;
mod met;
mod planning;
mod replanning;
mod resolve;
mod routed;
mod step;

pub use met::met;
pub use step::{Act, MachineStep, Output, output};

pub use resolve::resolve;

use super::change::{RouterWrite, advance};
use super::finding::OrchestrationFinding;
use super::invocation::Invocation;
use super::progress::Progress;
use super::signal::{SignalsForAgents, listen};
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
    fn call(&self, mode: super::agents::Mode) -> Invocation {
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
    held::held(seen, due(seen, now))
}

/// The next step if the orchestration were not held.
fn due(seen: &Snapshot, now: Timestamp) -> MachineStep {
    let mut changes = Vec::new();
    let mut current = seen.clone();
    let mut first: Option<Vec<OrchestrationFinding>> = None;
    for _ in 0..MOST_MOVES {
        let picture = Picture::of(&current);
        let found = findings(&current, &picture);
        let (state, iteration) = resolve(&picture);
        let step = |state, changes, act, findings| MachineStep {
            state,
            iteration,
            wave: wave(&picture, state),
            changes,
            heard: told(&act, state, &current),
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
    let (state, iteration) = resolve(&Picture::of(&current));
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
fn told(act: &Act, state: State, seen: &Snapshot) -> Vec<String> {
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
    if let Some(turn) = alone::waits(view, state) {
        return turn;
    }
    if state == State::RepairState {
        return resolve::repair(view, found);
    }
    if let Some(turn) = resolve::before_any_state(view, state) {
        return turn;
    }
    match state {
        State::Initializing => planning::initializing(view),
        State::Planning => planning::planning(view),
        State::Replanning => replanning::replanning(view),
        State::Batching => batches::batching(view),
        State::ExecutingBatch => batches::executing(view),
        State::ReviewingBatch => batches::reviewing(view),
        State::SessionReview => closing::session_review(view),
        State::Complete => closing::complete(view),
        State::RepairState => resolve::repair(view, found),
    }
}

#[cfg(test)]
mod explored;
#[cfg(test)]
mod tests;
