//! One machine holds a claim, another observes it: when is a lease taken for expired?
//!
//! A step of time is one poll interval. Both clocks run equally fast while both machines are awake;
//! nights and outages strike both. The holder attempts what is due before time goes on, if the
//! remote answers; the observer reads whenever it likes.

use crate::explore::{Broken, Promise, Remembers, broken_by, properties};
use ralph_core::tasks::shared::timing::{Watch, is_renewal_due};
use stateright::{Model, Property};
use std::time::Duration;

const POLL: Duration = Duration::from_secs(30);
/// A night, in polls.
const NIGHT: u8 = 40;

pub(crate) const NOT_ROBBED: &str = "no live holder is robbed of its lease";

/// The model and its bounds.
#[derive(Debug, Clone)]
pub struct Clocks {
    /// Its name.
    pub name: &'static str,
    /// A lease, in polls.
    pub lease: u8,
    /// Outages, nights and failed renewals between two renewals.
    pub troubles: u8,
    /// Whether the clocks of the holder and the observer go on in a night.
    pub in_suspend: [bool; 2],
    /// A mistake: the whole time between two answered reads counts.
    pub counts_everything: bool,
}

/// The machines and the remote.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    /// Whether the holder lives; it may also sleep alone.
    pub holder: Holder,
    /// Polls since the holder's last renewal began, by its clock.
    pub since: u8,
    /// Whether the holder has polled since time went on last.
    pub has_polled: bool,
    /// The renewal on the remote: as the observer has read it, or another one.
    pub renewal: bool,
    /// The one that the observer has read.
    pub seen: bool,
    /// Whether a renewal is on its way.
    pub on_the_way: bool,
    /// What the observer counts.
    pub watch: Watch<bool>,
    /// Polls since the observer's last answered read, by its clock.
    pub unread: u8,
    /// Answered reads since the holder died.
    pub reads_since_death: u8,
    /// Whether the remote is out of reach.
    pub outage: bool,
    /// Troubles since the last renewal.
    pub troubles: u8,
    /// Whether the observer has taken the claim over.
    pub taken: bool,
    broken: Broken,
}

/// How the holder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Holder {
    /// Awake.
    Awake,
    /// Stopped while the observer works, or not yet renewed since then.
    Stopped,
    /// Continued, but not yet renewed.
    Continued,
    /// Killed.
    Dead,
}

/// One happening.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// One poll interval passes.
    Time,
    /// The holder reads, and begins a renewal if one is due.
    Poll,
    /// The holder's renewal fails, and it knows.
    Fail,
    /// The renewal on the way lands.
    Land,
    /// The observer reads.
    Observe,
    /// The observer takes the claim over.
    TakeOver,
    /// An outage begins or ends.
    Outage(bool),
    /// Both machines sleep.
    Night,
    /// The holder is stopped alone, or continued.
    Stop(bool),
    /// The holder is killed.
    Kill,
}

/// A step.
pub struct Step<'a> {
    model: &'a Clocks,
    act: Act,
    after: &'a State,
}

impl Remembers for State {
    fn broken(&self) -> Broken {
        self.broken
    }
}

fn polls(number: u8) -> Duration {
    POLL * u32::from(number)
}

fn has_expired(model: &Clocks, state: &State) -> bool {
    state.watch.has_expired(polls(model.lease))
}

/// The read on which a take-over is decided counts: a renewal is no fence for a claim, and may land
/// between that read and the take-over of a holder that was stopped for too long.
fn not_robbed(step: &Step<'_>) -> bool {
    step.act != Act::Observe
        || step.after.holder != Holder::Awake
        || !has_expired(step.model, step.after)
}

fn dead_is_followed(step: &Step<'_>) -> bool {
    // The first read may see the last renewal, and so begin to count.
    let enough = step.model.lease + 1;
    step.model.counts_everything
        || step.after.reads_since_death <= enough
        || has_expired(step.model, step.after)
}

fn promises<'a>() -> [Promise<Step<'a>>; 2] {
    [
        Promise { name: NOT_ROBBED, kept: not_robbed },
        Promise { name: "a dead holder's lease expires", kept: dead_is_followed },
    ]
}

impl Clocks {
    fn carry_out(&self, state: &mut State, act: Act) {
        let go_on = |count: &mut u8, by: u8| *count = count.saturating_add(by).min(NIGHT);
        match act {
            Act::Time => {
                if matches!(state.holder, Holder::Awake | Holder::Continued) {
                    go_on(&mut state.since, 1);
                }
                go_on(&mut state.unread, 1);
                state.has_polled = false;
            }
            Act::Poll => {
                state.has_polled = true;
                if is_renewal_due(polls(state.since), polls(self.lease)) && !state.on_the_way {
                    (state.on_the_way, state.since) = (true, 0);
                }
            }
            Act::Fail => {
                state.on_the_way = false;
                state.since = self.lease;
                state.troubles += 1;
            }
            Act::Land => {
                state.on_the_way = false;
                state.renewal = !state.seen;
                (state.troubles, state.reads_since_death) = (0, 0);
                if state.holder == Holder::Continued {
                    state.holder = Holder::Awake;
                }
            }
            Act::Observe => {
                let poll = if self.counts_everything { polls(NIGHT) } else { POLL };
                state.seen = state.renewal;
                state.watch.answered(state.renewal, polls(state.unread), poll);
                if state.holder == Holder::Dead && state.unread > 0 {
                    state.reads_since_death += 1;
                }
                state.unread = 0;
            }
            Act::TakeOver => state.taken = true,
            Act::Outage(begins) => {
                state.outage = begins;
                state.has_polled = false;
                state.troubles += u8::from(begins);
            }
            Act::Night => {
                for (count, runs) in
                    [&mut state.since, &mut state.unread].into_iter().zip(self.in_suspend)
                {
                    go_on(count, if runs { NIGHT } else { 0 });
                }
                state.has_polled = false;
                state.troubles += 1;
            }
            Act::Stop(stops) => {
                state.holder = if stops { Holder::Stopped } else { Holder::Continued };
                state.has_polled = false;
                // A machine that was stopped reads and renews before it continues.
                state.since = self.lease;
            }
            Act::Kill => state.holder = Holder::Dead,
        }
    }
}

impl Model for Clocks {
    type State = State;
    type Action = Act;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            holder: Holder::Awake,
            since: 0,
            has_polled: true,
            renewal: false,
            seen: false,
            on_the_way: false,
            watch: Watch::new(false),
            unread: 0,
            reads_since_death: 0,
            outage: false,
            troubles: 0,
            taken: false,
            broken: 0,
        }]
    }

    fn actions(&self, state: &State, acts: &mut Vec<Act>) {
        if state.broken != 0 || state.taken {
            return;
        }
        if has_expired(self, state) {
            acts.push(Act::TakeOver);
            return;
        }
        let is_awake = matches!(state.holder, Holder::Awake | Holder::Continued);
        let has_trouble = state.troubles < self.troubles;
        if is_awake && !state.outage && !state.has_polled {
            acts.push(Act::Poll);
        }
        // A renewal takes less than a poll interval, or fails.
        if !is_awake || state.outage || state.has_polled && !state.on_the_way {
            acts.push(Act::Time);
        }
        if state.on_the_way {
            if !state.outage {
                acts.push(Act::Land);
            }
            if has_trouble || state.outage {
                acts.push(Act::Fail);
            }
        }
        if !state.outage {
            acts.push(Act::Observe);
        }
        if state.outage {
            acts.push(Act::Outage(false));
        } else if has_trouble {
            acts.extend([Act::Outage(true), Act::Night]);
        }
        match state.holder {
            Holder::Awake => acts.extend([Act::Stop(true), Act::Kill]),
            Holder::Stopped => acts.push(Act::Stop(false)),
            Holder::Continued | Holder::Dead => {}
        }
    }

    fn next_state(&self, before: &State, act: Act) -> Option<State> {
        let mut after = before.clone();
        self.carry_out(&mut after, act);
        let step = Step { model: self, act, after: &after };
        after.broken = broken_by(&promises(), &step);
        Some(after)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut all = properties(&promises());
        all.push(Property::sometimes("a dead holder is followed", |_, state: &State| {
            state.taken && state.holder == Holder::Dead
        }));
        all
    }
}
