//! Runs one acceptance command so that it can harm nothing, whatever it does.
//!
//! The command is not our child but the child of a process of its own, `ralph supervise`, which
//! watches it: whatever the command leaves behind comes back to that one process and to no other, so
//! several commands can run side by side. We hold the write end of the supervisor's standard input;
//! when we are gone, however that came about, the supervisor sees its end and ends everything.

pub(crate) mod family;
mod keep;
mod orphans;
mod output;
mod shell;
pub(crate) mod signals;
mod supervise;
mod wire;

#[cfg(fuzzing)]
pub(crate) use family::process_of;
pub use orphans::adopt as adopt_orphans;
pub use supervise::supervise;
pub use wire::{CommandReport, CommandRequest, receive, send};

use crate::process::clock;
use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use ralph_core::evidence::tests_run::Summary;
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

/// How long a supervisor may take after the deadline to end everything and to store the output.
/// One that takes longer was stopped or worse, and counts as lost.
const MARGIN: Duration = Duration::from_secs(15);

/// A deadline that is further away is as good as none.
const FAR: Duration = Duration::from_secs(366 * 24 * 3600);

/// What to run, and where its output goes.
#[derive(Debug, Clone, Copy)]
pub struct CommandOrder<'a> {
    /// The executable that supervises: `ralph`.
    pub ralph: &'a Path,
    /// One line for a shell.
    pub command: &'a str,
    /// Where it runs.
    pub folder: &'a Path,
    /// The file that gets its output. Its folder exists.
    pub output: &'a Path,
    /// How long it may take.
    pub deadline: Duration,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandEnd {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal, which was not ours.
    Signalled(i32),
    /// By us, at the deadline.
    Deadline,
    /// By us, because the supervisor was told to stop: a person interrupted, or the command sent a
    /// signal to its parent.
    Stopped,
    /// It never began; why.
    NotStarted(String),
    /// Its supervisor was killed before it could say anything, as a rule by the command.
    SupervisorLost,
}

/// What came of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRun {
    /// How it ended.
    pub ended: CommandEnd,
    /// When it was started.
    pub started_at: Timestamp,
    /// From its start to its own end, or to ours.
    pub duration: Duration,
    /// Over every byte that it wrote.
    pub output_sha256: String,
    /// How many bytes it wrote.
    pub output_bytes: u64,
    /// The end of what it wrote: at most 2,000 characters of plain text, without secrets.
    pub tail: String,
    /// The names of the processes that it left and that had to be ended.
    pub left: Vec<String>,
    /// False if the output could not be written to its file.
    pub stored: bool,
    /// What the runners' own summaries said of the tests that ran.
    pub tests: Summary,
}

/// Runs a command to its end and says what came of it. When this returns, nothing that the command
/// started is alive.
///
/// # Errors
/// When the supervisor cannot be started, or is no supervisor.
pub fn run(order: &CommandOrder<'_>) -> Result<CommandRun> {
    let started_at = clock::now();
    let began = Instant::now();
    let request = wire::line(&CommandRequest::of(order))?;
    let mut supervisor = orphans::start(&mut scrubbed(order.ralph))
        .with_context(|| format!("could not start `{}`", order.ralph.display()))?;
    // Kept until the answer is here: its end tells the supervisor that we are gone.
    let mut line_to_it = supervisor.child.stdin.take().context("its input is no pipe")?;
    // One that was not told all would wait for the rest, and we for it, until the deadline: it is
    // let go of at once. One that is already gone is noticed below.
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

/// The supervisor, started without the client's secrets: not even its parent's environment, which
/// a command can read, has them.
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

/// Everything that the supervisor prints. One that takes too long is killed.
fn read_answer(supervisor: &mut Child, until: Instant) -> Result<Vec<u8>> {
    let mut pipe = supervisor.stdout.take().context("its output is no pipe")?;
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

/// What can be said when the supervisor said nothing.
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
    fn of(order: &CommandOrder<'_>) -> CommandRequest {
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
            secrets: std::env::vars_os().filter_map(secret).collect(),
        }
    }
}
