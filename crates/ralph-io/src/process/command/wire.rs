//! The request to a supervisor and its answer: one line of JSON each.
//!
//! Secrets travel in this line and nowhere else: the command cannot see a pipe, but it can see its
//! parent's arguments and environment.

use super::{CommandEnd, CommandRun};
use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use ralph_core::evidence::tests_run::Summary;
use ralph_core::state::Bounds;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, Write};
use std::time::Duration;

/// What to run. Paths are bytes, because a path need not be UTF-8.
#[derive(Serialize, Deserialize)]
pub struct CommandRequest {
    /// One line for a shell.
    pub command: String,
    pub(super) folder: Vec<u8>,
    pub(super) output: Vec<u8>,
    pub(super) deadline_ms: u64,
    /// Within which it runs; `None` if the loop is not sandboxed.
    pub(super) bounds: Option<Bounds>,
    /// The order for the process that runs it on other files; `None` if it runs on the machine's.
    #[serde(default)]
    pub(crate) elsewhere: Option<Vec<u8>>,
    /// Variables that differ from those of the supervisor.
    #[serde(default)]
    pub(crate) variables: Vec<(Vec<u8>, Vec<u8>)>,
    /// Names and values to be redacted from the output.
    pub(super) secrets: Vec<(String, Vec<u8>)>,
}

/// A supervisor's report on its command.
#[derive(Debug, Serialize, Deserialize)]
pub struct CommandReport {
    pub(super) ended: CommandEnd,
    pub(super) duration_ms: u64,
    pub(super) output_sha256: String,
    pub(super) output_bytes: u64,
    /// The end of the command's output.
    pub tail: String,
    pub(super) left: Vec<String>,
    #[serde(default)]
    pub(super) refused: Vec<String>,
    pub(super) stored: bool,
    /// Names of the tests that failed.
    #[serde(default)]
    pub(super) failing: Vec<String>,
    /// The first line that states an error.
    #[serde(default)]
    pub(super) error: String,
    /// The test counts from the runners' own summaries.
    #[serde(default)]
    pub tests: Summary,
}

impl CommandReport {
    /// The report on a command without output.
    pub(super) fn nothing(ended: CommandEnd, took: Duration) -> CommandReport {
        CommandReport {
            ended,
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

    pub(super) fn into_run(self, started_at: Timestamp) -> CommandRun {
        CommandRun {
            ended: self.ended,
            started_at,
            duration: Duration::from_millis(self.duration_ms),
            output_sha256: self.output_sha256,
            output_bytes: self.output_bytes,
            tail: self.tail,
            left: self.left,
            refused: self.refused,
            stored: self.stored,
            failing: self.failing,
            error: self.error,
            tests: self.tests,
        }
    }
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Serializes a document as one line.
pub(super) fn line(document: &impl Serialize) -> Result<Vec<u8>> {
    let mut line = serde_json::to_vec(document).context("could not write JSON")?;
    line.push(b'\n');
    Ok(line)
}

/// Parses the report; `None` if it is incomplete.
pub(super) fn read(answer: &[u8]) -> Option<CommandReport> {
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
pub fn send(report: &CommandReport) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(&line(report)?).context("could not report the result")?;
    stdout.flush().context("could not report the result")
}
