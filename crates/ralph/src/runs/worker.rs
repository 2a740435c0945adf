//! A round in a process of its own: its order, and what it tells whoever gave it, as lines of JSON.

use super::client::{ClientRound, Policy, RoundResult};
use super::display::RoundDisplay;
use crate::cli::exit::{self, Exit};
use crate::cli::screen;
use ralph_io::store::lock;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::path::PathBuf;

/// What is to be done.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RoundOrder {
    /// The round.
    pub(crate) round: ClientRound,
    /// True if a usage limit is waited for.
    pub(crate) waits_for_limits: bool,
    /// What is locked for as long as anything of the round is alive.
    pub(crate) alone: PathBuf,
}

impl RoundOrder {
    pub(crate) fn policy(&self) -> Policy {
        Policy { waits_for_limits: self.waits_for_limits, ..Policy::default() }
    }

    /// Held until the process ends.
    pub(crate) fn hold(&self) -> anyhow::Result<lock::Lock> {
        lock::take(&self.alone, lock::DEADLINE)
    }
}

/// What is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RoundMessage {
    /// What goes on now.
    Now {
        /// In words.
        what: String,
        /// The tokens so far.
        tokens: Option<u64>,
    },
    /// Something that stays.
    Say(String),
    /// What came of the round. Nothing follows.
    Came(Box<RoundResult>),
    /// It could not be carried out. Nothing follows.
    Failed {
        /// Why.
        why: String,
        /// True where a program is missing, or failed.
        is_missing: bool,
    },
}

impl RoundMessage {
    /// What an error is for whoever gave the order.
    pub(crate) fn failed(error: &anyhow::Error) -> RoundMessage {
        let is_missing = exit::of(error) == Exit::MissingProgram;
        RoundMessage::Failed { why: format!("{error:#}"), is_missing }
    }
}

/// Tells, and forgets that nobody may hear it: whoever is gone has ended us already.
pub(crate) fn tell(told: &RoundMessage) {
    if let Ok(line) = serde_json::to_string(told) {
        let _ = screen::print_bytes(line.as_bytes());
    }
}

/// The other end of the wire, as a place to show a round.
#[derive(Default)]
pub(crate) struct Wire {
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
