//! What a supervisor is told and what it answers: one line of JSON each.
//!
//! The secrets are on this line and nowhere else: a pipe is not seen by the command, as the
//! arguments or the environment of its parent would be.

use super::{CommandEnd, CommandRun};
use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use ralph_core::evidence::tests_run::Summary;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, Write};
use std::time::Duration;

/// What to run. Paths are bytes, because a path need not be text.
#[derive(Serialize, Deserialize)]
pub struct CommandRequest {
    /// One line for a shell.
    pub command: String,
    pub(super) folder: Vec<u8>,
    pub(super) output: Vec<u8>,
    pub(super) deadline_ms: u64,
    /// Names and values of what is taken out of the output.
    pub(super) secrets: Vec<(String, Vec<u8>)>,
}

/// What came of it.
#[derive(Debug, Serialize, Deserialize)]
pub struct CommandReport {
    pub(super) ended: CommandEnd,
    pub(super) duration_ms: u64,
    pub(super) output_sha256: String,
    pub(super) output_bytes: u64,
    /// The end of what it wrote.
    pub tail: String,
    pub(super) left: Vec<String>,
    pub(super) stored: bool,
    /// What the runners' own summaries said of the tests that ran.
    #[serde(default)]
    pub tests: Summary,
}

impl CommandReport {
    /// The report on a command of which there is no output.
    pub(super) fn nothing(ended: CommandEnd, took: Duration) -> CommandReport {
        CommandReport {
            ended,
            duration_ms: millis(took),
            output_sha256: String::new(),
            output_bytes: 0,
            tail: String::new(),
            left: Vec::new(),
            stored: false,
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
            stored: self.stored,
            tests: self.tests,
        }
    }
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A document as a line.
pub(super) fn line(document: &impl Serialize) -> Result<Vec<u8>> {
    let mut line = serde_json::to_vec(document).context("could not write JSON")?;
    line.push(b'\n');
    Ok(line)
}

/// The report, if all of it is there.
pub(super) fn read(answer: &[u8]) -> Option<CommandReport> {
    serde_json::from_slice(answer.strip_suffix(b"\n")?).ok()
}

/// Reads on standard input what to run.
///
/// # Errors
/// When whoever started us is already gone, or is no caller of ours.
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
/// When nobody reads it any more.
pub fn send(report: &CommandReport) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(&line(report)?).context("could not tell what came of it")?;
    stdout.flush().context("could not tell what came of it")
}
