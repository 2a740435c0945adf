//! A person, a client and a model around one loop: who may start it, rest it, take it up, end it?
//!
//! The rules are those of `ralph-core`; the order in which the executables ask them is mirrored in
//! `hooks.rs`. Left out are criteria and progress, which the model of turns explores: here a request
//! ends the loop unverified, and no tree can be looked at.

mod act;
mod client;
mod hooks;
mod key;
mod promises;

use crate::explore::{Broken, Remembers, broken_by, properties};
pub use act::Act;
pub use client::{Client, Typed};
use ralph_core::state::{LoopState, Registration};
use stateright::{Model, Property};

/// The model and its bounds.
#[derive(Debug, Clone)]
pub struct Sessions {
    /// Its name.
    pub name: &'static str,
    /// How often a loop may go on.
    pub max_iterations: u32,
    /// The ways in which the hooks are registered, in the order in which their copies run.
    pub registered: Vec<Registration>,
    /// True where all copies look before the first of them acts.
    pub overlap: bool,
    /// Whether background workers are started.
    pub workers: bool,
    /// What the host does to a session.
    pub host: bool,
}

/// A session of somebody else.
pub const FOREIGN: u8 = 9;

/// The loop on disk, the client, and what an observer has noted.
#[derive(Debug, Clone, PartialEq)]
pub struct World {
    /// The project's planned or most recent loop.
    pub looped: Option<LoopState>,
    /// True once it was put away.
    pub away: bool,
    /// The sessions whose manifest entry leads to it.
    pub entries: [bool; 3],
    /// The client.
    pub client: Client,
    /// What an observer has noted.
    pub noted: Noted,
    /// How often a loop may go on; the same for all.
    pub bound: u32,
    broken: Broken,
}

/// What an observer notes who trusts nothing that the state says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Hash)]
pub struct Noted {
    /// How many times the loop was told to go on.
    pub went_on: u32,
    /// True since a person ended or rested the loop, until a person takes it up.
    pub rests: bool,
    /// True since a person cut the loop's turn by Esc, until the next thing they type.
    pub cut: bool,
}

/// What a hook answers, as far as the client acts on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Answer {
    /// Nothing, or words for the person only.
    Silent,
    /// The turn goes on.
    GoOn,
    /// The tool may not run.
    Deny,
    /// The tool may not run, and the turn ends.
    Cut,
    /// What was typed does not become a prompt.
    Block,
    /// What was typed becomes a prompt, with the contract.
    Contract,
}

/// A step: before, what happened, what was answered, after.
pub struct Step<'a> {
    /// The model.
    pub model: &'a Sessions,
    /// Before.
    pub before: &'a World,
    /// What happened.
    pub act: Act,
    /// What the copies answered, in turn.
    pub answers: Vec<Answer>,
    /// After.
    pub after: &'a World,
}

impl Remembers for World {
    fn broken(&self) -> Broken {
        self.broken
    }
}

impl Model for Sessions {
    type State = World;
    type Action = Act;

    fn init_states(&self) -> Vec<World> {
        vec![World {
            looped: None,
            away: false,
            entries: [false; 3],
            client: Client::default(),
            noted: Noted::default(),
            bound: self.max_iterations,
            broken: 0,
        }]
    }

    fn actions(&self, world: &World, acts: &mut Vec<Act>) {
        if world.broken == 0 {
            act::possible(self, world, acts);
        }
    }

    fn next_state(&self, before: &World, act: Act) -> Option<World> {
        let mut after = before.clone();
        let answers = act::carry_out(self, &mut after, act);
        let step = Step { model: self, before, act, answers, after: &after };
        let broken = broken_by(&promises::promises(), &step);
        after.broken = broken;
        Some(after)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties(&promises::promises())
    }
}
