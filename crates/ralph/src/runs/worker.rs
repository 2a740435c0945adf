//! `ralph round`: one round in a process of its own; not for users.
//!
//! Its order is one line of JSON on standard input, and it reports in lines of JSON. When its
//! standard input closes, it ends the client and every process that the client started: a killed
//! run leaves no client behind.

use super::client::{self, CLIENT, ClientRound, Policy, RoundOutcome, RoundResult};
use crate::command::exit::{self, Exit, refused};
use crate::command::screen::visible;
use anyhow::{Context, Result};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use ralph_core::stop::rounds::{Busy, Showed};
use ralph_core::text::plural::noun;
use ralph_core::transcript::stream::Account;
use ralph_io::client::given;
use ralph_io::process::wait_any::{InterruptRequest, Interrupts};
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
        // A reader that is gone is noticed at the end of the round.
        client::run(CLIENT, &order.round, &interrupts, &policy, &|message| {
            tell(message);
        })
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
pub enum RoundMessage {
    Now {
        what: String,
        tokens: Option<u64>,
    },
    /// A permanent line.
    Say(String),
    /// What Ctrl-C does; a run of several rounds says it once for all.
    Asked(String),
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
        let is_missing = exit::from_error(error) == Exit::MissingProgram;
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

// What the user sees of a round while it runs: the run prints it to standard error, since standard output
// is the command's answer.

/// More of a command is not needed to recognize it.
const LONGEST: usize = 100;

/// The client's activity if no tool is in use.
pub(crate) const THINKS: &str = "thinks";

/// Tells the run what the user should see of a round.
///
/// Names and commands come from a model, so control characters in them are escaped.
pub(crate) struct RoundDisplay<'a> {
    tell: &'a dyn Fn(&RoundMessage),
    /// The last activity, so that it is not repeated.
    last: RefCell<Option<RoundMessage>>,
}

impl RoundDisplay<'_> {
    pub(crate) fn new(tell: &dyn Fn(&RoundMessage)) -> RoundDisplay<'_> {
        RoundDisplay { tell, last: RefCell::default() }
    }

    /// Shows the current activity, and the tokens so far if known.
    pub(crate) fn now(&self, what: &str, tokens: Option<u64>) {
        let message = RoundMessage::Now { what: what.to_owned(), tokens };
        if self.last.borrow().as_ref() != Some(&message) {
            (self.tell)(&message);
            self.last.replace(Some(message));
        }
    }

    fn say(&self, words: &str) {
        (self.tell)(&RoundMessage::Say(words.to_owned()));
    }

    /// Shows the tool in use and the tokens so far.
    pub(crate) fn works(&self, account: &Account) {
        let tokens = Some(account.tokens().total());
        match (&account.retry, &account.tool) {
            (Some(retry), _) => {
                let seconds = retry.after.as_secs_f64();
                let words = format!(
                    "{}: the client tries again in {seconds:.0} s ({} of {})",
                    visible(&retry.error),
                    retry.attempt,
                    retry.most
                );
                self.now(&words, tokens);
            }
            (None, Some((name, about))) => {
                self.now(&format!("{} {}", visible(name), short(about)), tokens)
            }
            (None, None) => self.now(THINKS, tokens),
        }
    }

    /// Shows a denied call.
    pub(crate) fn denied(&self, tool: &str, why: &str) {
        self.say(&format!("{} was denied: {}", visible(tool), short(why)));
    }

    /// Shows a warning of the client.
    pub(crate) fn warns(&self, text: &str) {
        self.say(&short(text));
    }

    /// Shows what Ctrl-C does.
    pub(crate) fn asked(&self, asked: InterruptRequest) {
        let words = match asked {
            InterruptRequest::Nothing => return,
            InterruptRequest::Finish => {
                "this round will be finished, and no other begun; Ctrl-C again ends it at once"
            }
            InterruptRequest::End => "ending the client",
        };
        (self.tell)(&RoundMessage::Asked(words.to_owned()));
    }

    /// Shows why the round waits, and until when.
    pub(crate) fn waits(&self, showed: &Showed, until: Timestamp) {
        let why = match showed {
            Showed::Limited(_) => "the usage limit is reached",
            Showed::Busy(Busy::RateLimited) => "there were too many requests",
            _ => "the API is overloaded or out of reach",
        };
        let at = until.to_zoned(TimeZone::system()).strftime("%F %H:%M:%S").to_string();
        self.say(&format!("{why}: waiting until {at}; Ctrl-C ends the wait"));
        if let Showed::Limited(_) = showed {
            (self.tell)(&RoundMessage::Limit(until));
        }
        self.now(&format!("waits until {at}"), None);
    }

    pub(crate) fn finish(&self, outcome: &RoundOutcome) {
        let words = match outcome {
            // The run shows what a round has achieved; its end alone tells the user nothing.
            RoundOutcome::Finished { is_error: false, .. } => return,
            RoundOutcome::Finished { result, .. }
            | RoundOutcome::Unanswered { why: result, .. } => {
                format!("failed: {}", short(result))
            }
            RoundOutcome::RateLimited { until: Some(until) } => {
                format!("usage limit until {until}")
            }
            RoundOutcome::RateLimited { until: None } => "refused by a limit".to_owned(),
            RoundOutcome::Overloaded { attempts } => {
                format!(
                    "the API did not answer in {attempts} {}",
                    noun(*attempts, "attempt", "attempts")
                )
            }
            RoundOutcome::Crashed { why } => short(why),
            RoundOutcome::Ended => "ended by you".to_owned(),
        };
        self.say(&words);
    }
}

fn short(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let shown: String = line.chars().take(LONGEST).collect();
    let more = shown.len() < text.trim().len();
    format!("{}{}", visible(&shown), if more { " …" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_by_its_beginning_and_acts_on_nothing() {
        assert_eq!(short("cargo test"), "cargo test");
        assert_eq!(short(" a\nb"), "a …");
        assert_eq!(short("\u{1b}[2J"), "\\u{1b}[2J");
        assert_eq!(short(&"é".repeat(101)), "é".repeat(100) + " …");
    }
}
