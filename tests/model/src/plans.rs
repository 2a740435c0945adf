//! A model that may try anything, and a person, around one consensus planning: what changes before
//! consent?
//!
//! Agents are not followed one by one: any agent may be alive at any moment, several at once and
//! whenever they were called, so each may report and try every tool in every state, and one id may be
//! a planner's and a critic's. Each tool goes through `guard::decide` and `ralplan::may_call`, each
//! report and answer through `ralplan::step`; in which order is mirrored in `door.rs`. An observer
//! notes what really happened, and the promises compare with those notes only.

mod act;
mod door;
mod key;
mod promises;
mod reach;

use crate::explore::{Broken, Remembers, broken_by, properties};
pub use act::Act;
use jiff::Timestamp;
use ralph_core::modes::ralplan::{self, PlanOutcome};
use ralph_core::state::RalplanState;
use stateright::{Model, Property};

/// The model and its bounds.
#[derive(Debug, Clone)]
pub struct Plans {
    /// Its name.
    pub name: &'static str,
    /// Rejections after which the person is asked all the same.
    pub max_rejections: u32,
    /// How many texts the plan's file may have.
    pub texts: u8,
    /// Whether the loop is paused and taken up again.
    pub rests: bool,
}

/// A text of the plan's file; 0 where there is no file.
pub type Text = u8;

/// The digest of a text.
pub fn hash_of(text: Text) -> String {
    match text {
        0 => String::new(),
        text => text.to_string().repeat(64),
    }
}

/// Where the plan is.
pub const PATH: &str = ".omc/plans/a.md";

/// How the loop stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Loop {
    /// It drives the conversation.
    Runs,
    /// It rests.
    Rests,
    /// It is over, and with it the wall.
    Ended,
}

/// The planning, the project and the person.
#[derive(Debug, Clone, PartialEq)]
pub struct World {
    /// The planning.
    pub plan: RalplanState,
    /// The loop that it belongs to.
    pub looped: Loop,
    /// What stands in the plan's file.
    pub text: Text,
    /// True once something outside of the plans was changed, a branch made, or work begun.
    pub changed: bool,
    /// The text that the question names which stands before the person.
    pub asked: Option<Text>,
    /// What an observer has noted.
    pub noted: Noted,
    broken: Broken,
}

/// What an observer notes who trusts nothing that the state says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Hash)]
pub struct Noted {
    /// Which ids have reported as planners, and which as critics.
    pub planned: [bool; 2],
    /// Likewise as critics.
    pub judging: [bool; 2],
    /// The text in the file when a critic was last let through, as long as it may be judged.
    pub frozen: Option<Text>,
    /// The text that the last verdict was about.
    pub judged: Option<Text>,
    /// Rejections since the planning began or the person adjusted it.
    pub rejections: u32,
    /// True once a person agreed to the text that was judged and stood in the file.
    pub agreed: bool,
    /// True once a person ended it.
    pub ended: bool,
}

/// A step: before, what happened, what was answered, after.
pub struct Step<'a> {
    /// The model.
    pub model: &'a Plans,
    /// Before.
    pub before: &'a World,
    /// What happened.
    pub act: Act,
    /// Whether the hook let a tool through.
    pub let_through: bool,
    /// What came of an event.
    pub outcome: Option<PlanOutcome>,
    /// After.
    pub after: &'a World,
}

impl World {
    /// True as long as a person has neither agreed nor ended it.
    pub fn is_live(&self) -> bool {
        self.looped != Loop::Ended
    }
}

impl Remembers for World {
    fn broken(&self) -> Broken {
        self.broken
    }
}

impl Model for Plans {
    type State = World;
    type Action = Act;

    fn init_states(&self) -> Vec<World> {
        let mut plan = ralplan::begin("log in", Timestamp::UNIX_EPOCH);
        plan.max_iterations = self.max_rejections;
        plan.log.clear();
        plan.untold.clear();
        vec![World {
            plan,
            looped: Loop::Runs,
            text: 0,
            changed: false,
            asked: None,
            noted: Noted::default(),
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
        let done = door::carry_out(self, &mut after, act);
        let (let_through, outcome) = (done.let_through, done.outcome);
        let step = Step { model: self, before, act, let_through, outcome, after: &after };
        let broken = broken_by(&promises::promises(), &step);
        after.broken = broken;
        Some(after)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut all = properties(&promises::promises());
        all.extend(reach::properties(self));
        all
    }
}
