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
    let is_heard = tell(&match came {
        Ok(came) => RoundMessage::Came(Box::new(came)),
        Err(error) => RoundMessage::failed(&error),
    });
    if !is_heard {
        order.call_for_killed_run()?;
    }
    Ok(Exit::Done)
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RoundOrder {
    round: ClientRound,
    /// True if the round waits for a usage limit to be reset.
    waits_for_limits: bool,
    /// The lock to hold while any process of the round is alive.
    alone: PathBuf,
    /// The state file of the loop; `None` in a run without one.
    state: Option<PathBuf>,
}

impl RoundOrder {
    pub(crate) fn new(round: ClientRound, policy: &Policy, alone: &Path) -> RoundOrder {
        let waits_for_limits = policy.waits_for_limits;
        RoundOrder { round, waits_for_limits, alone: alone.to_owned(), state: None }
    }

    /// The same for a round of this loop.
    #[must_use]
    pub(crate) fn in_loop(&self, file: Option<&LoopFile>) -> RoundOrder {
        RoundOrder { state: file.map(|file| file.path().to_owned()), ..self.clone() }
    }

    /// The run is gone, so nobody else calls the user if the loop has ended in this round.
    fn call_for_killed_run(&self) -> Result<()> {
        let Some(state) = &self.state else { return Ok(()) };
        if let Some((file, loaded)) = lifecycle::read(&Home::from_env()?, LoopFile::at(state))? {
            notice::call_for_killed_run(&file, &loaded.state);
        }
        Ok(())
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
