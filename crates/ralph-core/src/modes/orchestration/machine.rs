//! The router: what comes next in a session, from its folder alone.
//!
//! Nothing is remembered between two questions. A state is left by a change that is written first, so
//! whoever is killed between two steps finds the session where it was. A state that moves on without a
//! call moves on within one question; the changes of the way are given together.

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
use super::finding::SessionFinding;
use super::invocation::Invocation;
use super::progress::Progress;
use super::signal::{SignalsForAgents, listen};
use super::snapshot::{Picture, Snapshot};
use super::state::State;
use super::validate::{findings, is_invalid};
use jiff::Timestamp;

/// More than any way from one call to the next has states.
const MOST_MOVES: usize = 64;

/// What a state comes to.
enum MachineTurn {
    /// Something is written, and then it is asked again.
    Move(Vec<RouterWrite>),
    /// This is to be done.
    Act(Act),
}

/// What a state is decided from.
struct View<'a> {
    seen: &'a Snapshot,
    picture: &'a Picture,
    progress: &'a Progress,
    iteration: u32,
    now: Timestamp,
}

impl View<'_> {
    /// A call that says where the session is and nothing else yet.
    fn call(&self, mode: super::agents::Mode) -> Invocation {
        Invocation::new(mode, &self.picture.path, self.iteration)
    }

    fn enter(&self, state: State) -> RouterWrite {
        RouterWrite::Enter { state, iteration: self.iteration, wave: None }
    }

    /// Where a person's feedback for this iteration is; empty if there is none.
    fn feedback_paths(&self) -> Vec<String> {
        let stamps = self.picture.feedbacks.get(&self.iteration).map_or(&[][..], Vec::as_slice);
        let iteration = self.iteration;
        stamps.iter().map(|stamp| format!("iterations/{iteration}/feedbacks/{stamp}/")).collect()
    }

    /// What the agents of this state are told of the person's words.
    fn listen(&self, state: State) -> SignalsForAgents {
        listen(state, &self.seen.signals)
    }
}

/// What comes next, as far as the person lets it.
pub fn next(seen: &Snapshot, now: Timestamp) -> MachineStep {
    held::held(seen, due(seen, now))
}

/// What would come next if nobody held the session.
fn due(seen: &Snapshot, now: Timestamp) -> MachineStep {
    let mut changes = Vec::new();
    let mut current = seen.clone();
    let mut first: Option<Vec<SessionFinding>> = None;
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
    // No test has seen it; a state that is asked for ever would hold whoever asks.
    let (state, iteration) = resolve(&Picture::of(&current));
    let act = Act::Failed(format!("could not leave {state}; run `ralph session validate`"));
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

/// The signals that the calls of this act carry, by their names.
fn told(act: &Act, state: State, seen: &Snapshot) -> Vec<String> {
    match act {
        Act::Invoke(calls) if calls.iter().any(Invocation::carries_a_signal) => {
            listen(state, &seen.signals).names
        }
        _ => Vec::new(),
    }
}

/// Which wave it is, where one is carried out or judged.
fn wave(picture: &Picture, state: State) -> Option<u32> {
    let has_one = matches!(state, State::ExecutingBatch | State::ReviewingBatch);
    picture.metadata.filter(|_| has_one).and_then(|metadata| metadata.wave)
}

fn turn(view: &View<'_>, state: State, found: &[SessionFinding]) -> MachineTurn {
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
