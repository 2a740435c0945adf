//! A loop that two machines share through a git remote, with any clocks, cut connections and kills.
//!
//! The machines decide by the rules of `tasks::shared`, and write the records that these rules make.
//! The model is git: a server that compares values, pushes on the way, and clones that show what was
//! last read. A lease may be taken for expired at any time, which covers clocks of any speed; the
//! model of `clocks` shows when a lease really expires.

mod act;
pub mod clocks;
mod git;
pub(crate) mod promises;

use crate::explore::{Broken, Remembers, broken_by, properties};
pub use act::Act;
use git::{Made, References};
use ralph_core::state::{Criterion, LoopState, Task};
use ralph_core::tasks::shared::names::Namespace;
use ralph_core::tasks::shared::record::{LEASE_SECONDS, Plan};
use ralph_core::tasks::shared::text::Name;
use stateright::{Model, Property};

/// The model and its bounds.
#[derive(Debug, Clone)]
pub struct Shared {
    /// Its name.
    pub name: &'static str,
    /// How many tasks there are; they do not depend on each other.
    pub tasks: usize,
    /// How many records are written, the plan included.
    pub records: usize,
    /// How many references may be pushed at the same time.
    pub flights: usize,
    /// How many times a machine is killed.
    pub kills: u8,
    /// Whether the integrator returns work, and a person cancels.
    pub refusals: bool,
    /// Whether both machines have the same name.
    pub same_name: bool,
    /// A mistake that is built in.
    pub mistake: Option<Mistake>,
}

impl Default for Shared {
    fn default() -> Self {
        Shared {
            name: "shared",
            tasks: 1,
            records: 6,
            flights: 2,
            kills: 1,
            refusals: false,
            same_name: false,
            mistake: None,
        }
    }
}

/// A mistake that a protocol on git invites.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mistake {
    /// A finish is pushed without an expected value.
    UnfencedFinish,
    /// An expired claim is taken over by force.
    ForcedTakeOver,
    /// A record has no nonce.
    Repeats,
}

/// Everything that decides the future, and what an observer has noted.
#[derive(Debug, Clone, PartialEq, Hash)]
pub struct State {
    /// Every record, in the order in which they were made.
    pub made: Vec<Made>,
    /// The references on the server.
    pub remote: References,
    /// Pushes on the way.
    pub flights: Vec<Flight>,
    /// The machines.
    pub machines: [Machine; 2],
    /// How many times a machine was killed.
    pub kills: u8,
    broken: Broken,
}

/// A push of one reference on its way to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Flight {
    /// The record, by its number.
    pub record: u8,
    /// The machine that pushes.
    pub machine: u8,
    /// Whether the client still waits for an answer.
    pub is_heard: bool,
    /// Whether the server does not compare.
    pub forced: bool,
}

/// A machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Machine {
    /// Whether it runs.
    pub is_alive: bool,
    /// What it has read.
    pub seen: References,
    /// The claim on which its worker works.
    pub works_on: Option<u8>,
    /// Records that it has stored before it pushed them, as bits. They outlast a kill.
    pub own: u32,
    /// Those whose pushes are not settled.
    pub unsettled: Vec<Unsettled>,
    /// Records that it took for landed, as bits.
    pub landed: u32,
    /// Those that it took for lost.
    pub lost: u32,
}

/// A push without a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Unsettled {
    /// The record.
    pub record: u8,
    /// The status line of git.
    pub status: Option<char>,
    /// Whether the client has ended.
    pub has_ended: bool,
    /// Whether it is pushed without an expected value.
    pub forced: bool,
}

/// A step: before, what happened, and after.
pub struct Step<'a> {
    /// The model.
    pub model: &'a Shared,
    /// Before.
    pub before: &'a State,
    /// What happened.
    pub act: Act,
    /// After.
    pub after: &'a State,
}

impl Remembers for State {
    fn broken(&self) -> Broken {
        self.broken
    }
}

impl Shared {
    fn space(&self) -> Namespace {
        Namespace::new(&Name::new("l"), false)
    }

    /// The name of a machine.
    fn machine(&self, number: u8) -> Name {
        Name::new(if number == 0 || self.same_name { "a" } else { "b" })
    }

    fn plan(&self) -> Plan {
        let task =
            |number| Task { id: format!("T-{number}"), name: "work".to_owned(), ..Task::default() };
        let criterion = Criterion {
            id: "AC-1".to_owned(),
            description: "the tests pass".to_owned(),
            verification_command: "cargo test".to_owned(),
            ..Criterion::default()
        };
        let state = LoopState {
            task_graph: (0..self.tasks).map(task).collect(),
            acceptance_criteria: vec![criterion],
            ..LoopState::default()
        };
        Plan { attempts: 2, ..Plan::from_state(&state, LEASE_SECONDS) }
    }
}

impl Model for Shared {
    type State = State;
    type Action = Act;

    fn init_states(&self) -> Vec<State> {
        let plan = Made::plan(self);
        let remote = References { ledger: 0, tasks: [None; 2] };
        let machine = Machine {
            is_alive: true,
            seen: remote,
            works_on: None,
            own: 0,
            unsettled: Vec::new(),
            landed: 0,
            lost: 0,
        };
        let machines = [machine.clone(), machine];
        vec![State { made: vec![plan], remote, flights: Vec::new(), machines, kills: 0, broken: 0 }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Act>) {
        if state.broken == 0 {
            act::possible(self, state, actions);
        }
    }

    fn next_state(&self, before: &State, act: Act) -> Option<State> {
        let mut after = before.clone();
        if !act::carry_out(self, &mut after, act) {
            return None;
        }
        let step = Step { model: self, before, act, after: &after };
        after.broken = broken_by(&promises::promises(), &step);
        Some(after)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = properties(&promises::promises());
        properties.extend(promises::reached(self));
        properties
    }
}
