//! Runs one acceptance command in such a way that it can harm nothing.
//!
//! The command is not our child but the child of its own supervisor process, `ralph supervise`. All
//! orphans of the command go to that supervisor, so several commands can run side by side. We hold
//! the write end of the supervisor's standard input; if we die, for whatever reason, the supervisor
//! reads the end of its input and kills everything.

pub(crate) mod family;
mod output;
mod supervise;

use crate::process::headless::secret_variables;
use crate::process::waits::{FAR, SUPERVISOR_MARGIN};
use crate::process::{self, clock, read_to_end, wait_readable};
use anyhow::{Context, Result, bail};
pub use family::adopt as adopt_orphans;
use jiff::Timestamp;
use ralph_core::evidence::tests_run::Summary;
use ralph_core::state::Bounds;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::io::{BufRead, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
pub use supervise::supervise;

/// What to run, and where its output goes.
#[derive(Debug, Clone, Copy)]
pub struct CommandOrder<'a> {
    /// The `ralph` executable, which supervises.
    pub ralph: &'a Path,
    /// One line for a shell.
    pub command: &'a str,
    /// The working folder.
    pub folder: &'a Path,
    /// The file for the output. Its folder must exist.
    pub output: &'a Path,
    pub deadline: Duration,
    /// The bounds of the loop; `None` if it is not sandboxed.
    pub bounds: Option<&'a Bounds>,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandEnd {
    /// It exited with this code.
    Exited(i32),
    /// It was killed by this signal, which we did not send.
    Signalled(i32),
    /// We ended it at the deadline.
    Deadline,
    /// We ended it because the supervisor was told to stop: the user interrupted, or the command
    /// sent a signal to its parent.
    Stopped,
    /// It never started, for this reason.
    NotStarted(String),
    /// Its supervisor was killed before it could report, usually by the command.
    SupervisorLost,
}

/// The result of a command, as its supervisor reports it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRun {
    pub ended: CommandEnd,
    /// Known to the supervisor's caller.
    #[serde(skip)]
    pub started_at: Timestamp,
    /// The time from the start to the command's own end, or until we ended it.
    pub duration_ms: u64,
    /// The digest of every byte that it wrote.
    pub output_sha256: String,
    /// How many bytes it wrote.
    pub output_bytes: u64,
    /// The end of its output: at most 2,000 characters of plain text, without secrets.
    pub tail: String,
    /// The names of the processes that it left running and that we ended.
    pub left: Vec<String>,
    /// What the bounds of the loop kept it from, each with its remedy.
    #[serde(default)]
    pub refused: Vec<String>,
    /// False if the output could not be written to its file.
    pub stored: bool,
    /// Names of the tests that failed, without secrets.
    #[serde(default)]
    pub failing: Vec<String>,
    /// The first line that states an error, without secrets.
    #[serde(default)]
    pub error: String,
    /// The test counts from the runners' own summaries.
    #[serde(default)]
    pub tests: Summary,
}

impl CommandRun {
    /// That of a command without output.
    fn nothing(ended: CommandEnd, took: Duration) -> CommandRun {
        CommandRun {
            ended,
            started_at: Timestamp::default(),
            duration_ms: millis(took),
            output_sha256: String::new(),
            output_bytes: 0,
            tail: String::new(),
            left: Vec::new(),
            refused: Vec::new(),
            stored: false,
            failing: Vec::new(),
            error: String::new(),
            tests: Summary::default(),
        }
    }

    pub fn duration(&self) -> Duration {
        Duration::from_millis(self.duration_ms)
    }
}

/// Runs a command to its end. When this returns, nothing that the command started is alive.
///
/// # Errors
/// If the supervisor cannot be started, or is not a supervisor.
pub fn run(order: &CommandOrder<'_>) -> Result<CommandRun> {
    run_request(order, &CommandRequest::from_order(order))
}

/// Runs a command as [`run`] does, by a request that goes beyond its order.
pub(crate) fn run_request(
    order: &CommandOrder<'_>,
    request: &CommandRequest,
) -> Result<CommandRun> {
    let started_at = clock::now();
    let began = Instant::now();
    let request = line(request)?;
    let mut command = Command::new(order.ralph);
    command.arg("supervise").stdin(Stdio::piped()).stdout(Stdio::piped());
    process::take_secrets(&mut command);
    let mut supervisor = family::start(&mut command)
        .with_context(|| format!("could not start `{}`", order.ralph.display()))?;
    // Kept open until the answer is here: closing it tells the supervisor that we have died.
    let mut line_to_it = supervisor.child.stdin.take().context("its input is not a pipe")?;
    // A supervisor that got only part of the request would wait for the rest, and we for it, until
    // the deadline; so close the pipe at once. If the supervisor has died already, reading its
    // answer shows that.
    let line_to_it = line_to_it.write_all(&request).is_ok().then_some(line_to_it);
    let mut answer_of_it = supervisor.child.stdout.take().context("its output is not a pipe")?;
    let until = began + order.deadline.min(FAR) + SUPERVISOR_MARGIN;
    let answer = read_to_end(&mut answer_of_it, until, usize::MAX, wait_readable);
    if answer.is_err() {
        supervisor.child.kill().context("could not end the supervisor")?;
    }
    drop(line_to_it);
    let answer = answer.ok().flatten().unwrap_or_default().0;
    let report = match read(&answer) {
        Some(report) => report,
        None => without_answer(&mut supervisor.child, order, began.elapsed())?,
    };
    supervisor.child.wait().context("could not wait for the supervisor")?;
    drop(supervisor);
    if report.ended == CommandEnd::SupervisorLost {
        family::end_all();
    }
    Ok(CommandRun { started_at, ..report })
}

/// The report on a command whose supervisor gave no answer.
fn without_answer(
    supervisor: &mut Child,
    order: &CommandOrder<'_>,
    took: Duration,
) -> Result<CommandRun> {
    let status = supervisor.wait().context("could not wait for the supervisor")?;
    if status.signal().is_none() {
        bail!("`{} supervise` gave no answer ({status})", order.ralph.display());
    }
    output::remove_part(order.output);
    Ok(CommandRun::nothing(CommandEnd::SupervisorLost, took))
}

impl CommandRequest {
    pub(crate) fn from_order(order: &CommandOrder<'_>) -> CommandRequest {
        let bytes = |text: &OsStr| text.as_bytes().to_vec();
        CommandRequest {
            command: order.command.to_owned(),
            folder: bytes(order.folder.as_os_str()),
            output: bytes(order.output.as_os_str()),
            deadline_ms: u64::try_from(order.deadline.as_millis()).unwrap_or(u64::MAX),
            bounds: order.bounds.cloned(),
            elsewhere: None,
            variables: Vec::new(),
            secrets: secret_variables(),
        }
    }
}

// The request to a supervisor and its answer: one line of JSON each.
//
// Secrets travel in this line and nowhere else: the command cannot see a pipe, but it can see its
// parent's arguments and environment.

/// What to run. Paths are bytes, because a path need not be UTF-8.
#[derive(Serialize, Deserialize)]
pub struct CommandRequest {
    /// One line for a shell.
    pub command: String,
    folder: Vec<u8>,
    output: Vec<u8>,
    deadline_ms: u64,
    /// Within which it runs; `None` if the loop is not sandboxed.
    bounds: Option<Bounds>,
    /// The order for the process that runs it on other files; `None` if it runs on the machine's.
    #[serde(default)]
    pub(crate) elsewhere: Option<Vec<u8>>,
    /// Variables that differ from those of the supervisor.
    #[serde(default)]
    pub(crate) variables: Vec<(Vec<u8>, Vec<u8>)>,
    /// Names and values to be redacted from the output.
    secrets: Vec<(String, Vec<u8>)>,
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Serializes a document as one line.
fn line(document: &impl Serialize) -> Result<Vec<u8>> {
    let mut line = serde_json::to_vec(document).context("could not write JSON")?;
    line.push(b'\n');
    Ok(line)
}

/// Parses the report; `None` if it is incomplete.
fn read(answer: &[u8]) -> Option<CommandRun> {
    serde_json::from_slice(answer.strip_suffix(b"\n")?).ok()
}

/// Reads the request from standard input.
///
/// # Errors
/// If the caller has died already, or is not Ralph.
pub fn receive() -> Result<CommandRequest> {
    let mut line = Vec::new();
    let read = std::io::stdin().lock().read_until(b'\n', &mut line);
    read.context("could not read what to run")?;
    if line.is_empty() {
        bail!("could not read what to run: standard input is empty");
    }
    serde_json::from_slice(&line).context("could not read what to run")
}

/// Prints the report on standard output.
///
/// # Errors
/// If nobody reads it any more.
pub fn send(report: &CommandRun) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(&line(report)?).context("could not report the result")?;
    stdout.flush().context("could not report the result")
}
