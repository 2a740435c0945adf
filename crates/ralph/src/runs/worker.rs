//! `ralph round`: one round in a process of its own; not for users.
//!
//! Its order is one line of JSON on standard input, and it reports in lines of JSON. When its
//! standard input closes, it ends the client and every process that the client started: a killed
//! run leaves no client behind.

use super::client::{self, ClientRound, Policy, RoundResult};
use super::display::RoundDisplay;
use crate::command::exit::{self, Exit, refused};
use crate::command::screen;
use anyhow::{Context, Result};
use jiff::Timestamp;
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
    /// True if the round waits for a usage limit to be reset.
    waits_for_limits: bool,
    /// The lock to hold while any process of the round is alive.
    alone: PathBuf,
}

impl RoundOrder {
    pub(crate) fn new(round: ClientRound, policy: &Policy, alone: &Path) -> RoundOrder {
        RoundOrder { round, waits_for_limits: policy.waits_for_limits, alone: alone.to_owned() }
    }

    /// True if the round continues the conversation of an earlier one.
    pub(crate) fn is_continued(&self) -> bool {
        self.round.resume.is_some()
    }

    fn policy(&self) -> Policy {
        Policy { waits_for_limits: self.waits_for_limits, ..Policy::default() }
    }

    /// Takes the lock, which is held until the process ends.
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
    /// A permanent line.
    Say(String),
    /// The round waits for the usage limit, until this time.
    Limit(Timestamp),
    /// The result of the round. Nothing follows.
    Came(Box<RoundResult>),
    /// The round could not be carried out. Nothing follows.
    Failed {
        why: String,
        /// True if a program is missing, or failed.
        is_missing: bool,
    },
}

impl RoundMessage {
    /// The message about an error.
    fn failed(error: &anyhow::Error) -> RoundMessage {
        let is_missing = exit::of(error) == Exit::MissingProgram;
        RoundMessage::Failed { why: format!("{error:#}"), is_missing }
    }
}

/// Sends a message and ignores a write error: if the reader is gone, this process is being ended
/// anyway.
fn tell(told: &RoundMessage) {
    if let Ok(line) = serde_json::to_string(told) {
        let _ = screen::print_bytes(line.as_bytes());
    }
}

/// Displays a round by sending messages to the parent process.
#[derive(Default)]
struct Wire {
    /// The last message, so that it is not repeated.
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

    fn limited(&self, until: Timestamp) {
        tell(&RoundMessage::Limit(until));
    }

    // The parent process passed the interrupt on, so it knows.
    fn answer_person(&self, _words: &str) {}
}
