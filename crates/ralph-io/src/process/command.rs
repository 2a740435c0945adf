//! Runs one acceptance command in such a way that it can harm nothing.
//!
//! The command is not our child but the child of its own supervisor process, `ralph supervise`. All
//! orphans of the command go to that supervisor, so several commands can run side by side. We hold
//! the write end of the supervisor's standard input; if we die, for whatever reason, the supervisor
//! reads the end of its input and kills everything.

pub(crate) mod family;
mod keep;
mod orphans;
mod output;
mod shell;
pub(crate) mod signals;
mod supervise;
mod wire;

pub use orphans::adopt as adopt_orphans;
pub use supervise::supervise;
pub use wire::{CommandReport, CommandRequest, receive, send};

use crate::process::clock;
use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use ralph_core::evidence::tests_run::Summary;
use ralph_core::state::Bounds;
use ralph_core::text::secrets;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a supervisor may take after the deadline to end everything and store the output. One
/// that takes longer was stopped or worse, and counts as lost.
const MARGIN: Duration = Duration::from_secs(15);

/// A deadline further away is cut to this.
const FAR: Duration = Duration::from_secs(366 * 24 * 3600);

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

/// The result of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRun {
    pub ended: CommandEnd,
    pub started_at: Timestamp,
    /// The time from the start to the command's own end, or until we ended it.
    pub duration: Duration,
    /// The digest of every byte that it wrote.
    pub output_sha256: String,
    /// How many bytes it wrote.
    pub output_bytes: u64,
    /// The end of its output: at most 2,000 characters of plain text, without secrets.
    pub tail: String,
    /// The names of the processes that it left running and that we ended.
    pub left: Vec<String>,
    /// What the bounds of the loop kept it from, each with its remedy.
    pub refused: Vec<String>,
    /// False if the output could not be written to its file.
    pub stored: bool,
    /// Names of the tests that failed, without secrets.
    pub failing: Vec<String>,
    /// The first line that states an error, without secrets.
    pub error: String,
    /// The test counts from the runners' own summaries.
    pub tests: Summary,
}

/// Runs a command to its end. When this returns, nothing that the command started is alive.
///
/// # Errors
/// If the supervisor cannot be started, or is not a supervisor.
pub fn run(order: &CommandOrder<'_>) -> Result<CommandRun> {
    run_request(order, &CommandRequest::of(order))
}

/// Runs a command as [`run`] does, by a request that goes beyond its order.
pub(crate) fn run_request(
    order: &CommandOrder<'_>,
    request: &CommandRequest,
) -> Result<CommandRun> {
    let started_at = clock::now();
    let began = Instant::now();
    let request = wire::line(request)?;
    let mut supervisor = orphans::start(&mut scrubbed(order.ralph))
        .with_context(|| format!("could not start `{}`", order.ralph.display()))?;
    // Kept open until the answer is here: closing it tells the supervisor that we have died.
    let mut line_to_it = supervisor.child.stdin.take().context("its input is not a pipe")?;
    // A supervisor that got only part of the request would wait for the rest, and we for it, until
    // the deadline; so close the pipe at once. If the supervisor has died already, reading its
    // answer shows that.
    let line_to_it = line_to_it.write_all(&request).is_ok().then_some(line_to_it);
    let answer = read_answer(&mut supervisor.child, began + order.deadline.min(FAR) + MARGIN)?;
    drop(line_to_it);
    let report = match wire::read(&answer) {
        Some(report) => report,
        None => without_answer(&mut supervisor.child, order, began.elapsed())?,
    };
    supervisor.child.wait().context("could not wait for the supervisor")?;
    drop(supervisor);
    if report.ended == CommandEnd::SupervisorLost {
        orphans::end_all();
    }
    Ok(report.into_run(started_at))
}

/// Builds the supervisor's command without the client's secrets: a command can read the environment
/// of its parent.
fn scrubbed(ralph: &Path) -> Command {
    let mut command = Command::new(ralph);
    command.arg("supervise").stdin(Stdio::piped()).stdout(Stdio::piped());
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(secrets::is_clients_secret) {
            command.env_remove(&name);
        }
    }
    command
}

/// Reads everything that the supervisor prints. A supervisor that takes too long is killed.
fn read_answer(supervisor: &mut Child, until: Instant) -> Result<Vec<u8>> {
    let mut pipe = supervisor.stdout.take().context("its output is not a pipe")?;
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).context("the deadline is too far away")?;
        match poll(&mut [PollFd::new(&pipe, PollFlags::IN)], Some(&left)) {
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error).context("could not wait for the supervisor"),
            Ok(0) => {
                supervisor.kill().context("could not end the supervisor")?;
                return Ok(answer);
            }
            Ok(_) => match pipe.read(&mut piece).context("could not read the answer")? {
                0 => return Ok(answer),
                read => answer.extend_from_slice(&piece[..read]),
            },
        }
    }
}

/// The report on a command whose supervisor gave no answer.
fn without_answer(
    supervisor: &mut Child,
    order: &CommandOrder<'_>,
    took: Duration,
) -> Result<CommandReport> {
    let status = supervisor.wait().context("could not wait for the supervisor")?;
    if status.signal().is_none() {
        bail!("`{} supervise` gave no answer ({status})", order.ralph.display());
    }
    keep::remove_part(order.output);
    Ok(CommandReport::nothing(CommandEnd::SupervisorLost, took))
}

impl CommandRequest {
    pub(crate) fn of(order: &CommandOrder<'_>) -> CommandRequest {
        let bytes = |text: &OsStr| text.as_bytes().to_vec();
        let secret = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            let name = name.into_string().ok()?;
            secrets::is_redacted(&name, value.as_bytes()).then(|| (name, bytes(&value)))
        };
        CommandRequest {
            command: order.command.to_owned(),
            folder: bytes(order.folder.as_os_str()),
            output: bytes(order.output.as_os_str()),
            deadline_ms: u64::try_from(order.deadline.as_millis()).unwrap_or(u64::MAX),
            bounds: order.bounds.cloned(),
            elsewhere: None,
            variables: Vec::new(),
            secrets: std::env::vars_os().filter_map(secret).collect(),
        }
    }
}
