//! One round of a headless loop: a prompt, a client without a terminal, and the result.
//!
//! What is particular to a client stands behind the trait [`Client`], in a file of its own.
//!
//! A round may need several processes. If the API is overloaded, the round tries again after a
//! pause; if the usage limit is reached, it waits if the policy says so. Both continue the same
//! conversation. A round always returns to its caller, who may hold a claim, and then no process
//! that the client started is alive.

pub(crate) mod claude_code;
pub(crate) mod sandbox;

use crate::command::exit::{Exit, refused};
use crate::runs::client::claude_code::ClaudeCode;
use crate::runs::options::Preflight;
use crate::runs::worker::RoundDisplay;
pub use crate::runs::worker::RoundMessage;
use anyhow::{Context, Result};
use jiff::Timestamp;
use ralph_core::protocol::loaded::ListedPlugins;
use ralph_core::protocol::permission::Need;
use ralph_core::protocol::sandbox::{SandboxReach, is_prevented};
use ralph_core::state::Tokens;
pub use ralph_core::stop::rounds::Policy;
use ralph_core::stop::rounds::{self, Busy, NextRound, Showed};
use ralph_core::transcript::stream::{Account, Denial, Lines, Reason, StreamEvent};
use ralph_io::client::SANDBOXED;
use ralph_io::git::litter::RoundFolder;
use ralph_io::process::headless::{self, ClientStart, Listener, Log, without_secrets};
use ralph_io::process::wait_any::{InterruptRequest, Interrupts};
use ralph_io::process::{clock, left_running, programs, random};
use ralph_io::store::atomic;
use ralph_io::store::home::Home;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The prompt for a client that was cut off in the middle of its work.
const GO_ON: &str = "The connection to the model was lost. Go on where you were.";

/// The kernel limits one argument to 128 KiB, with one byte for the terminator.
pub const LONGEST_PROMPT: usize = 128 * 1024 - 1;

/// The client that every run uses.
pub const CLIENT: &dyn Client = &ClaudeCode;

/// What is particular to a program that carries out rounds. The methods with a default concern what
/// another program may not have.
pub trait Client {
    /// The executable.
    ///
    /// # Errors
    /// When it is missing; with what to install.
    fn program(&self) -> Result<PathBuf>;

    /// How a process for this round is started.
    ///
    /// # Errors
    /// If arguments of the user contradict the round.
    fn command(&self, round: &ClientRound) -> Result<ClientCommand>;

    /// What a line of the output means; `None` if it is none.
    fn read(&self, line: &[u8]) -> Option<StreamEvent>;

    /// The same line for a reader of the log; nothing if it has no words for one.
    fn readable(&self, line: &[u8]) -> Vec<String>;

    /// Asks the program for its version, before a run.
    ///
    /// # Errors
    /// When it is too old for such a round.
    fn check_version(&self, _round: &ClientRound) -> Result<()> {
        Ok(())
    }

    /// Looks at what the program would load and obey in the round's folder, before each process.
    ///
    /// # Errors
    /// If something there takes the place of Ralph's, or lets the model out of the sandbox.
    fn check_folder(&self, _round: &ClientRound) -> Result<()> {
        Ok(())
    }

    /// Finds out which of these calls nobody could permit.
    ///
    /// # Errors
    /// When the program has no such permission mode.
    fn preflight(&self, _round: &ClientRound, _needs: &[Need]) -> Result<Preflight> {
        Ok(Preflight::default())
    }

    /// The plugins that the program loads for such a round.
    ///
    /// # Errors
    /// When it cannot be asked.
    fn plugins(&self, _round: &ClientRound) -> Result<ListedPlugins> {
        Ok(ListedPlugins::default())
    }
}

/// How a client's process is started.
#[derive(Debug)]
pub struct ClientCommand {
    pub args: Vec<OsString>,
    /// Variables to add to those of the round.
    pub env: &'static [(&'static str, &'static str)],
    /// Variables of Ralph's own environment that the client must not see.
    pub unset: &'static [&'static str],
}

/// One prompt, and how to start the client with it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ClientRound {
    /// The client that the start of the run found; empty if it found none.
    #[serde(default)]
    pub client: PathBuf,
    /// The plugins that the start of the run listed; `None` if nobody did.
    #[serde(default)]
    pub plugins: Option<ListedPlugins>,
    /// At most [`LONGEST_PROMPT`] bytes: see [`fit`].
    pub prompt: String,
    /// The id for a new session, a UUID that no session has yet; `None` lets the client choose.
    pub session_id: Option<String>,
    /// The session to resume instead of starting a new one.
    #[serde(default)]
    pub resume: Option<String>,
    /// Environment variables to add to Ralph's own.
    pub env: Vec<(String, String)>,
    /// The model; `None` leaves it to the client.
    pub model: Option<String>,
    /// The agent that the client starts as, by the name of its definition.
    pub agent: Option<String>,
    /// True if it only reads, and heeds neither the project's settings nor a session around it.
    #[serde(default)]
    pub is_reviewer: bool,
    /// The project whose settings of this user count as well, in a worktree that lacks them.
    pub settings_of: Option<PathBuf>,
    /// Arguments to add after Ralph's own.
    pub extra_args: Vec<OsString>,
    /// Permission rules to add to the user's own.
    #[serde(default)]
    pub allowed: Vec<String>,
    /// The client's permission mode; `None` means the mode in the client's settings.
    pub permission_mode: Option<String>,
    /// The label of the round: `round 2/3`, `T-4 lexer`.
    pub label: String,
    /// The file for the client's output. Later attempts append to it.
    pub log: PathBuf,
    /// The client's working folder; `None` means Ralph's own.
    pub folder: Option<PathBuf>,
    /// True if it waits for a usage limit to be reset.
    #[serde(default)]
    pub waits_for_limits: bool,
    /// What its commands may reach in the client's sandbox; `None` starts it without one.
    #[serde(default)]
    pub sandbox: Option<SandboxReach>,
    /// How long a background command may outlive the turn; `None` means as long as anything else.
    #[serde(default)]
    pub background: Option<Duration>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub enum RoundOutcome {
    /// The client's turn is over.
    Finished {
        /// The model's last words, or the error's text.
        result: String,
        /// The client reports a failure, and another attempt would not help.
        is_error: bool,
    },
    /// The client reports a failure, and the model has not answered once.
    Unanswered {
        /// The error's text.
        why: String,
        /// Another round would fail in the same way.
        is_final: bool,
    },
    /// The usage limit is reached, or there were too many requests.
    RateLimited {
        /// When the limit is reset, if the client said so.
        until: Option<Timestamp>,
    },
    /// The API is overloaded, fails, or cannot be reached.
    Overloaded {
        /// How many processes have tried.
        attempts: u32,
    },
    /// The client ended without a result.
    Crashed {
        /// How it ended, and its last words.
        why: String,
    },
    /// The user, or the run itself, ended the client at once.
    #[default]
    Ended,
}

impl RoundOutcome {
    /// Why a round failed, as text. `undone` describes a round that finished without doing its
    /// work.
    pub(crate) fn why(&self, undone: &str) -> String {
        match self {
            RoundOutcome::Finished { is_error: true, result } => {
                format!("its client failed: {result}")
            }
            RoundOutcome::Unanswered { why, .. } => format!("its client failed: {why}"),
            RoundOutcome::Finished { .. } => undone.to_owned(),
            RoundOutcome::RateLimited { .. } => "the usage limit was reached".to_owned(),
            RoundOutcome::Overloaded { .. } => "the API did not answer".to_owned(),
            RoundOutcome::Crashed { why } => why.clone(),
            RoundOutcome::Ended => "the user ended it".to_owned(),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RoundResult {
    pub outcome: RoundOutcome,
    /// The session's id, if the client reported one.
    pub session_id: Option<String>,
    /// All tokens of the session.
    pub tokens: Tokens,
    /// In US dollars, as the client reports it.
    pub cost: f64,
    /// Includes the pauses between attempts.
    pub duration: Duration,
    /// The calls that were denied because no user could permit them, or because a rule forbids
    /// them.
    pub denials: Vec<Denial>,
    /// The names of leftover processes that had to be killed.
    pub leftovers: Vec<String>,
    /// What the sandbox prevented, in the words of the commands.
    #[serde(default)]
    pub prevented: Vec<String>,
    /// What is missing from the log, and why.
    pub log_problem: Option<String>,
}

impl RoundResult {
    /// What the user should know besides the outcome: calls that were denied, what the sandbox
    /// prevented, and what was left running.
    pub(crate) fn notices(&self) -> Vec<String> {
        let denied =
            self.denials.iter().map(|one| format!("not permitted: {} {}", one.tool, one.about));
        let prevented = self.prevented.iter().map(|line| format!("sandbox: {line}"));
        let left = (!self.leftovers.is_empty())
            .then(|| format!("ended what was left running: {}", self.leftovers.join(", ")));
        denied.chain(prevented).chain(left).collect()
    }

    /// The result of a round whose client was lost.
    pub(crate) fn crashed(why: String) -> RoundResult {
        RoundResult { outcome: RoundOutcome::Crashed { why }, ..RoundResult::default() }
    }
}

/// Runs a round to its end, in this process. After the first Ctrl-C it continues, and `interrupts`
/// tells the caller to start no other; a round that only waits ends at once.
///
/// # Errors
/// When the client is missing or cannot be started, or the log cannot be created.
pub fn run(
    client: &dyn Client,
    round: &ClientRound,
    interrupts: &Interrupts,
    policy: &Policy,
    tell: &dyn Fn(&RoundMessage),
) -> Result<RoundResult> {
    let shown = &RoundDisplay::new(tell);
    let program = round.program(client)?;
    shown.now("begins", None);
    let place = round.place();
    let protected = round.sandbox.as_ref().map(sandbox::protected).unwrap_or_default();
    let began = Instant::now();
    let mut sum = Sum::default();
    sum.came.leftovers = round.end_strays();
    for number in 1.. {
        let folder = round.begin_in(&place, &protected)?;
        let absent = round.sandbox.as_ref().map(sandbox::unprotected).unwrap_or_default();
        let next = round.again(&sum);
        let attempt = Attempt { client, program: &program, round: &next, number, policy };
        let tried = attempt.run(interrupts, shown);
        folder.into_iter().for_each(RoundFolder::finish);
        let mut tried = tried?;
        tried.prevented.extend(sandbox::take_back(&absent));
        let now = clock::now();
        let refusal = tried.refusal.take();
        let showed = sum.add(tried);
        let next = rounds::next(&showed, number, now, policy, random::fraction());
        if refusal.is_none() && wait_for_attempt(&next, now, interrupts, shown, &showed) {
            continue;
        }
        let outcome = match refusal {
            Some(why) => RoundOutcome::Unanswered { why, is_final: true },
            None => outcome(showed, number, &sum, &round.env),
        };
        shown.finish(&outcome);
        return Ok(RoundResult { outcome, duration: began.elapsed(), ..sum.came });
    }
    anyhow::bail!("could not end the round: it took too many attempts")
}

/// The sum of all attempts of a round.
#[derive(Debug, Default)]
struct Sum {
    /// Its outcome and its duration are known at the end.
    came: RoundResult,
    has_worked: bool,
    result: String,
    is_error: bool,
    is_refused_for_good: bool,
}

impl Sum {
    fn add(&mut self, tried: Tried) -> Showed {
        let (account, came) = (tried.account, &mut self.came);
        self.has_worked |= account.has_worked;
        // A resumed session reports the tokens and the cost of all its processes. An attempt that
        // broke off reports nothing, so the tokens of its messages are counted.
        match account.ended.as_ref().filter(|ended| ended.tokens.total() > 0) {
            Some(ended) => (came.tokens, came.cost) = (ended.tokens, ended.cost),
            None => came.tokens = came.tokens.plus(account.tokens()),
        }
        came.denials.extend(account.denials());
        came.prevented.extend(tried.prevented);
        came.leftovers.extend(tried.leftovers);
        came.session_id = account.session_id.or(came.session_id.take());
        came.log_problem = tried.log_problem.or(came.log_problem.take());
        if let Some(ended) = account.ended {
            self.is_refused_for_good = ended.reason == Reason::Refused { is_final: true };
            (self.result, self.is_error) = (ended.result, ended.is_error);
        }
        tried.showed
    }
}

/// Waits for the next attempt. Returns false if there is none, or the user has interrupted.
fn wait_for_attempt(
    next: &NextRound,
    now: Timestamp,
    interrupts: &Interrupts,
    shown: &RoundDisplay<'_>,
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
    // Check the wall clock every minute, since the machine may sleep meanwhile.
    loop {
        let left = Duration::try_from(at.duration_since(clock::now())).unwrap_or_default();
        if left.is_zero() {
            return true;
        }
        if !interrupts.wait_until(Instant::now() + left.min(Duration::from_secs(60))) {
            return false;
        }
    }
}

fn outcome(showed: Showed, attempts: u32, sum: &Sum, env: &[(String, String)]) -> RoundOutcome {
    match showed {
        Showed::Finished => {
            let result = without_secrets(&sum.result, env);
            match sum.is_error && !sum.has_worked {
                true => RoundOutcome::Unanswered { why: result, is_final: sum.is_refused_for_good },
                false => RoundOutcome::Finished { result, is_error: sum.is_error },
            }
        }
        Showed::Limited(until) => RoundOutcome::RateLimited { until },
        Showed::Busy(Busy::RateLimited) => RoundOutcome::RateLimited { until: None },
        Showed::Busy(Busy::Overloaded) => RoundOutcome::Overloaded { attempts },
        Showed::Crashed(why) => RoundOutcome::Crashed { why: without_secrets(&why, env) },
        Showed::Interrupted => RoundOutcome::Ended,
    }
}

impl ClientRound {
    /// The round as the next attempt makes it: a session that is known is resumed.
    fn again(&self, so_far: &Sum) -> ClientRound {
        let mut next = self.clone();
        next.resume = so_far.came.session_id.clone().or(next.resume);
        if so_far.has_worked && next.resume.is_some() {
            next.prompt = GO_ON.to_owned();
        }
        next
    }

    fn program(&self, client: &dyn Client) -> Result<PathBuf> {
        match programs::is_executable(&self.client) {
            true => Ok(self.client.clone()),
            false if self.client.as_os_str().is_empty() => client.program(),
            false => Err(refused(
                Exit::MissingProgram,
                format!(
                    "the client with which the run began, `{}`, is gone; start the run again",
                    self.client.display()
                ),
            )),
        }
    }

    /// Where the client works.
    fn place(&self) -> PathBuf {
        self.folder.clone().unwrap_or_else(|| std::env::current_dir().unwrap_or_default())
    }

    /// Ends what a killed client left running in its folder; returns the names.
    fn end_strays(&self) -> Vec<String> {
        match self.sandbox {
            Some(_) => left_running::end_in(&self.place()),
            None => Vec::new(),
        }
    }

    /// Prepares the folder for a client; `None` without a sandbox.
    fn begin_in<'a>(
        &self,
        place: &'a Path,
        protected: &'a [PathBuf],
    ) -> Result<Option<RoundFolder<'a>>> {
        if self.sandbox.is_none() {
            return Ok(None);
        }
        sandbox::make_refs(place);
        let note = sandbox::note(&Home::from_env()?, place)?;
        RoundFolder::begin(&note, place, protected).map(Some)
    }

    fn log(&self) -> Result<ralph_io::process::headless::Log> {
        ralph_io::process::headless::Log::open(&self.log, &self.env)
            .with_context(|| format!("could not begin the log of {}", self.label))
    }
}

/// Returns the prompt itself if it fits into an argument. Otherwise writes it to the file and
/// returns `words`.
///
/// # Errors
/// When the file cannot be written.
pub fn fit(prompt: String, file: &Path, words: impl FnOnce(&Path) -> String) -> Result<String> {
    if prompt.len() <= LONGEST_PROMPT && !prompt.contains('\0') {
        return Ok(prompt);
    }
    atomic::write(file, prompt.as_bytes())?;
    Ok(words(file))
}

/// The command as text to paste into a shell.
///
/// # Errors
/// When the client is missing.
pub fn command_line(round: &ClientRound) -> Result<String> {
    let program = round.program(CLIENT)?;
    let env = round.env.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
    let args = CLIENT.command(round)?.args;
    let words = std::iter::once(program.into()).chain(args);
    let words = words.map(|word| quoted(&word.to_string_lossy()));
    let command = env.chain(words).collect::<Vec<_>>().join(" ");
    Ok(match &round.folder {
        Some(folder) => format!("cd {} && {command}", quoted(&folder.to_string_lossy())),
        None => command,
    })
}

/// Quotes a word for a shell, if necessary.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,@%+".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

// One process of the client, from its start to its end.

struct Attempt<'a> {
    client: &'a dyn Client,
    program: &'a Path,
    round: &'a ClientRound,
    number: u32,
    policy: &'a Policy,
}

struct Tried {
    showed: Showed,
    account: Account,
    leftovers: Vec<String>,
    prevented: Vec<String>,
    log_problem: Option<String>,
    /// Why the client was ended when it started: it had loaded plugins that it must not.
    refusal: Option<String>,
}

impl Attempt<'_> {
    fn run(&self, interrupts: &Interrupts, shown: &RoundDisplay<'_>) -> Result<Tried> {
        // Each time: a merge of workers' branches may bring such a file.
        self.client.check_folder(self.round)?;
        let command = self.client.command(self.round)?;
        let unset: Vec<String> = command.unset.iter().map(|name| (*name).to_owned()).collect();
        let mut log = self.round.log()?;
        let began = json!({"type": "ralph", "attempt": self.number, "at": clock::now()});
        log.note(&began.to_string());
        let start = ClientStart {
            program: self.program,
            args: &command.args,
            env: &self.env(command.env),
            unset: &unset,
            folder: self.round.folder.as_deref(),
            grace: self.policy.grace,
            background: self.round.background.unwrap_or(self.policy.grace),
        };
        let mut ear = Ear {
            client: self.client,
            lines: Lines::default(),
            account: Account::default(),
            log,
            shown,
            listed: self.round.plugins.as_ref(),
            refusal: None,
        };
        let gone = headless::run(&start, interrupts, &mut ear)
            .map_err(|error| refused(Exit::MissingProgram, format!("{error:#}")))?;
        let Ear { mut lines, mut account, mut log, refusal, .. } = ear;
        let client = self.client;
        lines.finish(&mut |line| client.read(line).into_iter().for_each(|said| account.hear(said)));
        // One row, so that every line of the log is a JSON document of its own.
        let words = without_secrets(&gone.last_words, &self.round.env);
        log.note(
            &json!({"type": "ralph", "exit": format!("{:?}", gone.exit), "stderr": words,
            "leftovers": gone.leftovers, "lines_passed_over": lines.passed_over()})
            .to_string(),
        );
        let hidden = self.round.sandbox.as_ref().map(|reach| reach.deny_read.as_slice());
        let prevented = hidden.map(|hidden| prevented(&account, hidden)).unwrap_or_default();
        Ok(Tried {
            prevented: prevented.iter().map(|it| without_secrets(it, &self.round.env)).collect(),
            showed: rounds::showed(&account, &gone.exit, &gone.last_words),
            leftovers: [account.left_running(), &gone.leftovers].concat(),
            account,
            log_problem: log.finish(),
            refusal,
        })
    }

    /// The variables of the round, and a `PATH` on which the model cannot put a `ralph` of its own.
    fn env(&self, more: &[(&str, &str)]) -> Vec<(String, String)> {
        let mut env = self.round.env.clone();
        env.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        if self.round.sandbox.is_some() {
            env.push((SANDBOXED.to_owned(), "1".to_owned()));
        }
        let path =
            self.round.sandbox.as_ref().and_then(|_| sandbox::safe_path(&self.round.place()));
        env.extend(path.and_then(|path| Some(("PATH".to_owned(), path.into_string().ok()?))));
        env
    }
}

/// What the sandbox has prevented, each once.
fn prevented(account: &Account, hidden: &[String]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in account.prevented().iter().filter(|line| is_prevented(line, hidden)) {
        if !found.contains(line) {
            found.push(line.clone());
        }
    }
    found
}

/// Reads the client's output for the log, the account and the display.
struct Ear<'a> {
    client: &'a dyn Client,
    lines: Lines,
    account: Account,
    log: Log,
    shown: &'a RoundDisplay<'a>,
    listed: Option<&'a ListedPlugins>,
    refusal: Option<String>,
}

impl Listener for Ear<'_> {
    fn hear(&mut self, piece: &[u8]) {
        self.log.feed(piece);
        let (client, account, shown) = (self.client, &mut self.account, self.shown);
        let (listed, refusal) = (self.listed, &mut self.refusal);
        self.lines.feed(piece, &mut |line| {
            let Some(said) = client.read(line) else { return };
            if let StreamEvent::Denied { tool, why, .. } = &said {
                shown.denied(tool, why);
            }
            if let (StreamEvent::Began { plugins, .. }, Some(listed)) = (&said, listed) {
                *refusal = refusal.take().or_else(|| listed.refusal(plugins));
            }
            if let StreamEvent::Warning(text) = &said {
                shown.warns(text);
            }
            account.hear(said);
            shown.works(account);
        });
    }

    fn asked(&mut self, asked: InterruptRequest) {
        self.shown.asked(asked);
    }

    fn is_refused(&self) -> bool {
        self.refusal.is_some()
    }

    fn is_settled(&self) -> bool {
        self.account.is_settled()
    }

    fn has_background(&self) -> bool {
        self.account.in_background().next().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_that_is_too_long_for_an_argument_goes_to_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("prompt");
        let named = |path: &Path| format!("read {}", path.display());
        let fits = "x".repeat(LONGEST_PROMPT);
        assert_eq!(fit(fits.clone(), &file, named).unwrap(), fits);
        assert!(!file.exists());
        let long = fits + "x";
        assert_eq!(fit(long.clone(), &file, named).unwrap(), named(&file));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), long);
    }
}
