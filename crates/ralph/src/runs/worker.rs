//! `ralph round`: one round in a process of its own; not for people.
//!
//! Its order is one line of JSON on standard input, and it reports by lines of JSON. When its standard input
//! ends, it ends the client and all that the client started: a run that is killed leaves no client at work.

use super::client::{self, ClientRound, Policy, RoundResult};
use super::display::RoundDisplay;
use crate::command::exit::{self, Exit, refused};
use crate::command::screen;
use anyhow::{Context, Result};
use ralph_io::client::given;
use ralph_io::process::interrupts::Interrupts;
use ralph_io::store::lock;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::path::{Path, PathBuf};

pub(crate) const COMMAND: &str = "round";

pub(crate) fn run() -> Result<Exit> {
    let interrupts = Interrupts::catch()?;
    let line = given::order()?;
    let order: RoundOrder = serde_json::from_slice(&line)
        .context("could not read the order")
        .map_err(|error| refused(Exit::Usage, format!("{error:#}")))?;
    let came = order.hold().and_then(|_alone| {
        client::run_at(&order.round, &interrupts, &order.policy(), &Wire::default())
    });
    tell(&match came {
        Ok(came) => RoundMessage::Came(Box::new(came)),
        Err(error) => RoundMessage::failed(&error),
    });
    Ok(Exit::Done)
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RoundOrder {
    round: ClientRound,
    /// True if a usage limit is waited for.
    waits_for_limits: bool,
    /// What is locked for as long as anything of the round is alive.
    alone: PathBuf,
}

impl RoundOrder {
    pub(crate) fn new(round: ClientRound, policy: &Policy, alone: &Path) -> RoundOrder {
        RoundOrder { round, waits_for_limits: policy.waits_for_limits, alone: alone.to_owned() }
    }

    fn policy(&self) -> Policy {
        Policy { waits_for_limits: self.waits_for_limits, ..Policy::default() }
    }

    /// Held until the process ends.
    fn hold(&self) -> Result<lock::Lock> {
        lock::take(&self.alone, lock::DEADLINE)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RoundMessage {
    Now {
        what: String,
        tokens: Option<u64>,
    },
    /// Something that stays.
    Say(String),
    /// What came of the round. Nothing follows.
    Came(Box<RoundResult>),
    /// It could not be carried out. Nothing follows.
    Failed {
        why: String,
        /// True where a program is missing, or failed.
        is_missing: bool,
    },
}

impl RoundMessage {
    /// What an error is for whoever gave the order.
    fn failed(error: &anyhow::Error) -> RoundMessage {
        let is_missing = exit::of(error) == Exit::MissingProgram;
        RoundMessage::Failed { why: format!("{error:#}"), is_missing }
    }
}

/// Tells, and forgets that nobody may hear it: whoever is gone has ended us already.
fn tell(told: &RoundMessage) {
    if let Ok(line) = serde_json::to_string(told) {
        let _ = screen::print_bytes(line.as_bytes());
    }
}

/// The other end of the wire, as a place to show a round.
#[derive(Default)]
struct Wire {
    /// What was told last, so that it is not told again.
    last: RefCell<Option<RoundMessage>>,
}

impl RoundDisplay for Wire {
    fn now(&self, what: &str, tokens: Option<u64>) {
        let told = RoundMessage::Now { what: what.to_owned(), tokens };
        if self.last.borrow().as_ref() != Some(&told) {
            tell(&told);
            self.last.replace(Some(told));
        }
    }

    fn say(&self, words: &str) {
        tell(&RoundMessage::Say(words.to_owned()));
    }

    // Whoever gave the order has passed it on, and knows.
    fn answer_person(&self, _words: &str) {}

    fn end(&self) {}
}
