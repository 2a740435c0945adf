//! One round of a headless loop: a prompt, a client without a terminal, and what came of it.
//!
//! A round is more than a process: an overloaded API is asked again after a pause, a used-up
//! subscription is waited for where the policy says so, and either goes on in the same conversation.
//! Whatever happens, a round comes back to its caller, who may hold a claim; nothing that the client
//! started is alive then.

mod attempt;
mod command;
mod preflight;

use super::display::RoundDisplay;
use super::screen::Screen;
pub(crate) use command::quoted;
pub use command::{LONGEST_PROMPT, client, command_line, fit};
pub use preflight::{Preflight, preflight};

use anyhow::{Context, Result};
use attempt::{Attempt, Tried};
use jiff::Timestamp;
use ralph_core::stop::rounds::{self, Busy, NextRound, Showed};
use ralph_core::transcript::stream::Denial;
use ralph_core::transcript::tokens::Tokens;
use ralph_io::process::headless::without_secrets;
use ralph_io::process::interrupts::{InterruptRequest, Interrupts};
use ralph_io::{process::clock, process::random};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant};

pub use ralph_core::stop::rounds::Policy;

/// What the client is told where it was cut off in the middle of its work.
const GO_ON: &str = "The connection to the model was lost. Go on where you were.";

/// One prompt and how it is put to the client.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ClientRound {
    /// At most [`LONGEST_PROMPT`] bytes: see [`fit`].
    pub prompt: String,
    /// The id that the session is to have, a UUID that no session has yet; the client's own if none.
    pub session_id: Option<String>,
    /// The session that is taken up, in place of a new one.
    #[serde(default)]
    pub resume: Option<String>,
    /// Variables on top of ours.
    pub env: Vec<(String, String)>,
    /// Arguments after ours.
    pub extra_args: Vec<OsString>,
    /// How permissions are asked for; the client's settings say it where this does not.
    pub permission_mode: Option<String>,
    /// What the round is called: `round 2/3`, `T-4 lexer`.
    pub label: String,
    /// All that the client prints goes there. A later attempt is appended.
    pub log: PathBuf,
    /// Where the client works; ours if none.
    pub folder: Option<PathBuf>,
}

/// How a round ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum RoundOutcome {
    /// The client's turn is over.
    Finished {
        /// The model's last words, or the error's.
        result: String,
        /// The client calls it a failure, and trying again would not help.
        is_error: bool,
    },
    /// The subscription's limit is reached, or requests are refused for their number.
    RateLimited {
        /// When it is reset, where the client said so.
        until: Option<Timestamp>,
    },
    /// The API is overloaded, fails, or cannot be reached.
    Overloaded {
        /// How many processes have tried.
        attempts: u32,
    },
    /// The client ended without a result.
    Crashed {
        /// How, and its last words.
        why: String,
    },
    /// A person ended it at once.
    Ended,
}

impl RoundOutcome {
    /// Why a round came to nothing, in words. `undone` says what one that ended by itself has left undone.
    pub(crate) fn why(&self, undone: &str) -> String {
        match self {
            RoundOutcome::Finished { is_error: true, result } => {
                format!("its client failed: {result}")
            }
            RoundOutcome::Finished { .. } => undone.to_owned(),
            RoundOutcome::RateLimited { .. } => "the usage limit was reached".to_owned(),
            RoundOutcome::Overloaded { .. } => "the API did not answer".to_owned(),
            RoundOutcome::Crashed { why } => why.clone(),
            RoundOutcome::Ended => "a person ended it".to_owned(),
        }
    }
}

/// What came of a round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoundResult {
    /// How it ended.
    pub outcome: RoundOutcome,
    /// The session's id, where it came to have one.
    pub session_id: Option<String>,
    /// All tokens of the session.
    pub tokens: Tokens,
    /// In dollars, by the client's account.
    pub cost: f64,
    /// Pauses included.
    pub duration: Duration,
    /// The calls that nobody was there to permit, or that are forbidden.
    pub denials: Vec<Denial>,
    /// The names of the processes that were left and had to be ended.
    pub leftovers: Vec<String>,
    /// What is missing from the log, and why.
    pub log_problem: Option<String>,
}

impl RoundResult {
    /// A round of which nothing is known but how its client was lost.
    pub(crate) fn crashed(why: String) -> RoundResult {
        RoundResult {
            outcome: RoundOutcome::Crashed { why },
            session_id: None,
            tokens: Tokens::default(),
            cost: 0.0,
            duration: Duration::ZERO,
            denials: Vec::new(),
            leftovers: Vec::new(),
            log_problem: None,
        }
    }
}

/// Runs a round to its end, in this process. After the first Ctrl-C it goes on, and `interrupts` tells the caller to
/// begin no other; where it was only waiting, it ends.
///
/// # Errors
/// When the client is missing or cannot be started, or the log cannot be made.
pub fn run(round: &ClientRound, interrupts: &Interrupts, policy: &Policy) -> Result<RoundResult> {
    let screen = Screen::one();
    screen.add("", &round.label, "");
    run_at(round, interrupts, policy, &screen)
}

/// As [`run`], shown somewhere else than on a line of its own.
pub(crate) fn run_at(
    round: &ClientRound,
    interrupts: &Interrupts,
    policy: &Policy,
    shown: &dyn RoundDisplay,
) -> Result<RoundResult> {
    let client = client()?;
    shown.now("begins", None);
    let began = Instant::now();
    let mut sum = Sum::default();
    for number in 1.. {
        let attempt = Attempt { client: &client, round, so_far: &sum, policy };
        let tried = attempt.run(interrupts, shown)?;
        let now = clock::now();
        let showed = sum.add(tried, number);
        let next = rounds::next(&showed, number, now, policy, random::fraction());
        if !rest(&next, now, interrupts, shown, &showed) {
            let outcome = outcome(showed, number, &sum, &round.env);
            shown.finish(&outcome);
            return Ok(sum.came(outcome, began.elapsed()));
        }
    }
    anyhow::bail!("could not end the round: it took too many attempts")
}

/// What all attempts of a round came to.
#[derive(Debug, Default)]
struct Sum {
    session_id: Option<String>,
    has_worked: bool,
    result: String,
    is_error: bool,
    tokens: Tokens,
    cost: f64,
    denials: Vec<Denial>,
    leftovers: Vec<String>,
    log_problem: Option<String>,
    n_attempts: u32,
}

impl Sum {
    fn add(&mut self, tried: Tried, number: u32) -> Showed {
        let account = tried.account;
        self.n_attempts = number;
        self.has_worked |= account.has_worked;
        // A session that is taken up tells the tokens and the cost of all its processes; one that
        // broke off tells nothing, and its messages are counted.
        match account.ended.as_ref().filter(|ended| ended.tokens.total() > 0) {
            Some(ended) => (self.tokens, self.cost) = (ended.tokens, ended.cost),
            None => self.tokens = self.tokens.plus(account.tokens()),
        }
        self.denials.extend(account.denials());
        self.session_id = account.session_id.or(self.session_id.take());
        if let Some(ended) = account.ended {
            (self.result, self.is_error) = (ended.result, ended.is_error);
        }
        self.leftovers.extend(tried.leftovers);
        self.log_problem = tried.log_problem.or(self.log_problem.take());
        tried.showed
    }

    fn came(self, outcome: RoundOutcome, duration: Duration) -> RoundResult {
        RoundResult {
            outcome,
            session_id: self.session_id,
            tokens: self.tokens,
            cost: self.cost,
            duration,
            denials: self.denials,
            leftovers: self.leftovers,
            log_problem: self.log_problem,
        }
    }
}

/// Waits for the next attempt; false if there is none, or a person does not want it.
fn rest(
    next: &NextRound,
    now: Timestamp,
    interrupts: &Interrupts,
    shown: &dyn RoundDisplay,
    showed: &Showed,
) -> bool {
    let at = match next {
        NextRound::Over => return false,
        NextRound::AgainAfter(pause) => now.checked_add(*pause).unwrap_or(now),
        NextRound::AgainAt(at) => *at,
    };
    if interrupts.asked() != InterruptRequest::Nothing {
        return false;
    }
    shown.waits(showed, at);
    // By the clock on the wall, and again each minute: the machine may have slept meanwhile.
    loop {
        let left = Duration::try_from(at.duration_since(clock::now())).unwrap_or_default();
        if left.is_zero() {
            return true;
        }
        if !interrupts.rest(Instant::now() + left.min(Duration::from_secs(60))) {
            return false;
        }
    }
}

fn outcome(showed: Showed, attempts: u32, sum: &Sum, env: &[(String, String)]) -> RoundOutcome {
    match showed {
        Showed::Finished => {
            let result = without_secrets(&sum.result, env);
            RoundOutcome::Finished { result, is_error: sum.is_error }
        }
        Showed::Limited(until) => RoundOutcome::RateLimited { until },
        Showed::Busy(Busy::RateLimited) => RoundOutcome::RateLimited { until: None },
        Showed::Busy(Busy::Overloaded) => RoundOutcome::Overloaded { attempts },
        Showed::Crashed(why) => RoundOutcome::Crashed { why: without_secrets(&why, env) },
        Showed::Interrupted => RoundOutcome::Ended,
    }
}

impl ClientRound {
    /// The session that a later attempt takes up, and what it is told there.
    fn again(&self, so_far: &Sum) -> Option<(String, &str)> {
        let known = so_far.session_id.clone().filter(|_| so_far.n_attempts > 0);
        let session_id = known.or_else(|| self.resume.clone())?;
        Some((session_id, if so_far.has_worked { GO_ON } else { &self.prompt }))
    }

    fn log(&self) -> Result<ralph_io::process::headless::Log> {
        ralph_io::process::headless::Log::open(&self.log, &self.env)
            .with_context(|| format!("could not begin the log of {}", self.label))
    }
}
