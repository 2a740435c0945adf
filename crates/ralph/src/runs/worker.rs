//! `ralph round`: one round in a process of its own; not for users.
//!
//! Its order is one line of JSON on standard input, and it reports in lines of JSON. When its
//! standard input closes, it ends the client and every process that the client started: a killed
//! run leaves no client behind.

use super::client::{self, ClientRound, Policy, RoundResult};
use super::display::RoundDisplay;
use crate::command::exit::{self, Exit, refused};
use anyhow::{Context, Result};
use jiff::Timestamp;
use ralph_io::client::given;
use ralph_io::process::wait_any::Interrupts;
use ralph_io::store::home::Home;
use ralph_io::store::loop_file::LoopFile;
use ralph_io::store::{lifecycle, lock, notice};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::io::Write;
use std::path::PathBuf;

pub(crate) const COMMAND: &str = "round";

pub(crate) fn run() -> Result<Exit> {
    let interrupts = Interrupts::catch()?;
    let line = given::order()?;
    let order: RoundOrder = serde_json::from_slice(&line)
        .context("could not read the order")
        .map_err(|error| refused(Exit::Usage, format!("{error:#}")))?;
    let came = lock::take(&order.alone, lock::DEADLINE).and_then(|_alone| {
        let waits_for_limits = order.round.waits_for_limits;
        let policy = Policy { waits_for_limits, ..Policy::default() };
        client::run_at(&order.round, &interrupts, &policy, &Wire::default())
    });
    let is_heard = tell(&match came {
        Ok(came) => RoundMessage::Came(Box::new(came)),
        Err(error) => RoundMessage::failed(&error),
    });
    if !is_heard {
        order.call_for_killed_run()?;
    }
    Ok(Exit::Done)
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RoundOrder {
    pub(crate) round: ClientRound,
    /// The lock to hold while any process of the round is alive.
    pub(crate) alone: PathBuf,
    /// The state file of the loop; `None` in a run without one.
    pub(crate) state: Option<PathBuf>,
}

impl RoundOrder {
    /// The run is gone, so nobody else calls the user if the loop has ended in this round.
    fn call_for_killed_run(&self) -> Result<()> {
        let Some(state) = &self.state else { return Ok(()) };
        if let Some((file, loaded)) = lifecycle::read(&Home::from_env()?, LoopFile::at(state))? {
            notice::call_for_killed_run(&file, &loaded.state);
        }
        Ok(())
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

/// Sends a message. Returns false if the reader is gone: this process is being ended then.
fn tell(told: &RoundMessage) -> bool {
    let Ok(mut line) = serde_json::to_vec(told) else { return false };
    line.push(b'\n');
    let mut to = std::io::stdout().lock();
    to.write_all(&line).and_then(|()| to.flush()).is_ok()
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
            // A reader that is gone is noticed at the end of the round.
            let _ = tell(&told);
            self.last.replace(Some(told));
        }
    }

    fn say(&self, words: &str) {
        let _ = tell(&RoundMessage::Say(words.to_owned()));
    }

    fn limited(&self, until: Timestamp) {
        let _ = tell(&RoundMessage::Limit(until));
    }

    // The parent process passed the interrupt on, so it knows.
    fn answer_person(&self, _words: &str) {}
}
