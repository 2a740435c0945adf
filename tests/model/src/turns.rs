//! A loop and a model that may say and do anything within its session: when does it end?
//!
//! Nobody else acts here. Every turn is a stop that `stop::decide` answers; between two stops the
//! tree, checks, tasks, workers, the clock and the tokens move in any order. What the stop hook
//! does around the rule is mirrored from `ralph-hooks/src/stop.rs`, and the commands of the model
//! from `ralph/src/verify/round.rs`, `ralph/src/cli/blocked.rs` and `criteria.rs`.

mod act;
mod key;
mod promises;

use crate::explore::{Broken, Remembers, broken_by, properties};
use crate::receipts::{Outcome, name_of};
pub use act::Act;
use jiff::{SignedDuration, Timestamp};
use ralph_core::evidence::pinned;
use ralph_core::state::{Completion, Criterion, LoopState, Phase, Task};
use ralph_core::stop::StopDecision;
use stateright::{Model, Property};

/// The model and its bounds.
#[derive(Debug, Clone)]
pub struct Turns {
    /// Its name.
    pub name: &'static str,
    /// How often the loop may go on.
    pub max_iterations: u32,
    /// Stops without progress after which it ends.
    pub stall_limit: u32,
    /// How many trees there are.
    pub trees: u8,
    /// How many criteria there are.
    pub criteria: usize,
    /// Which rule decides completion.
    pub completion: Completion,
    /// Hours that the loop may take; none where the clock stands still.
    pub hours: Option<u8>,
    /// Tokens that the loop may use; none where they are not bounded.
    pub tokens: Option<u64>,
    /// Whether there are background workers.
    pub workers: bool,
    /// Whether there is a task.
    pub task: bool,
    /// Whether the state is changed by hand, and a person accepts what it says.
    pub tampering: bool,
    /// What the checks may say.
    pub outcomes: Vec<Outcome>,
    /// Whether a turn is known to have worked, or not to have, besides being unknown.
    pub idleness: bool,
}

impl Default for Turns {
    fn default() -> Self {
        Turns {
            name: "turns",
            max_iterations: 3,
            stall_limit: 3,
            trees: 1,
            criteria: 0,
            completion: Completion::Verified,
            hours: None,
            tokens: None,
            workers: false,
            task: false,
            tampering: false,
            outcomes: Vec::new(),
            idleness: false,
        }
    }
}

/// The loop and what is around it.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// The loop.
    pub looped: LoopState,
    /// The tree.
    pub tree: u8,
    /// Hours since the loop began.
    pub hour: u8,
    /// Whether a background worker runs.
    pub worker: bool,
    /// What an observer has noted.
    pub noted: Noted,
    broken: Broken,
}

/// What an observer notes who trusts nothing that the state says.
#[derive(Debug, Clone, Default, PartialEq, Hash)]
pub struct Noted {
    /// How many times the loop was told to go on.
    pub went_on: u32,
    /// The text of the criteria, and the text that a person agreed to.
    pub text: (u8, u8),
    /// What was seen of each criterion.
    pub evidence: Vec<Evidence>,
    /// The tree at each stop that the rules looked at; kept where nothing else is progress.
    pub trees: Vec<u8>,
}

/// What was seen of a criterion: its last run, and those before it on the same tree.
#[derive(Debug, Clone, Copy, Default, Hash, PartialEq)]
pub struct Evidence {
    /// The last run, and the trees before and after it.
    pub last: Option<(Outcome, u8, u8)>,
    /// Whether one before it failed on this tree.
    pub failed_here: bool,
    /// Good runs in a row; more than two are two.
    pub passes: u8,
    /// Tests at first, or as accepted.
    pub expected: u64,
}

/// A step: before, what happened, after, and the decision if it was a stop.
pub struct Step<'a> {
    /// The model.
    pub model: &'a Turns,
    /// Before.
    pub before: &'a State,
    /// What happened.
    pub act: Act,
    /// After.
    pub after: &'a State,
    /// What was decided.
    pub decision: Option<&'a StopDecision>,
}

/// When every loop begins.
pub fn beginning() -> Timestamp {
    Timestamp::UNIX_EPOCH
}

impl State {
    /// The time.
    pub fn now(&self) -> Timestamp {
        beginning() + SignedDuration::from_hours(i64::from(self.hour))
    }
}

impl Remembers for State {
    fn broken(&self) -> Broken {
        self.broken
    }
}

impl Turns {
    fn first(&self) -> State {
        let criterion = |number: usize| Criterion {
            id: format!("AC-{number}"),
            verification_command: format!("check {number}"),
            ..Criterion::default()
        };
        let mut looped = LoopState {
            session_id: "s".to_owned(),
            phase: Phase::Implementation,
            created_at: beginning(),
            started_at: Some(beginning()),
            max_iterations: self.max_iterations,
            stall_limit: self.stall_limit,
            completion: self.completion.clone(),
            acceptance_criteria: (1..=self.criteria).map(criterion).collect(),
            task_graph: self.task.then(task).into_iter().collect(),
            ..LoopState::default()
        };
        looped.limits.max_tokens = self.tokens;
        if let Some(hours) = self.hours {
            looped.limits.max_minutes = u64::from(hours) * 60;
        }
        pinned::freeze(&mut looped, beginning());
        let evidence = vec![Evidence::default(); self.criteria];
        let noted = Noted { evidence, ..Noted::default() };
        State { looped, tree: 0, hour: 0, worker: false, noted, broken: 0 }
    }
}

fn task() -> Task {
    Task { id: "T-1".to_owned(), ..Task::default() }
}

impl Model for Turns {
    type State = State;
    type Action = Act;

    fn init_states(&self) -> Vec<State> {
        vec![self.first()]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Act>) {
        if state.broken == 0 {
            act::possible(self, state, actions);
        }
    }

    fn next_state(&self, before: &State, act: Act) -> Option<State> {
        let mut after = before.clone();
        let decision = act::carry_out(&mut after, act);
        let decision = decision.as_ref();
        let step = Step { model: self, before, act, after: &after, decision };
        let broken = broken_by(&promises::promises(), &step);
        after.broken = broken;
        Some(after)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties(&promises::promises())
    }
}

/// The id of the tree, as the fingerprint and the tree id put it.
pub fn tree_name(state: &State) -> String {
    name_of(state.tree)
}
