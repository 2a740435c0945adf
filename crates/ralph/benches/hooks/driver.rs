//! Starts one program as the client starts a hook, and returns its time and its output.
//!
//! No shell, a clean environment, three pipes, `vfork` and `exec`. A small C program takes the
//! time, one process for each case; its head comment says why the time is not taken here.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context, bail};

#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
    pub(crate) folder: PathBuf,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) stdin: Rc<[u8]>,
}

pub(crate) struct Outcome {
    pub(crate) took: Duration,
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

/// A stopwatch process that holds one call and starts it on request.
pub(crate) struct Stopwatch {
    process: Child,
    go: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Stopwatch {
    pub(crate) fn holding(stopwatch: &Path, call: &Call) -> anyhow::Result<Stopwatch> {
        let mut command = Command::new(stopwatch);
        command.arg(call.stdin.len().to_string()).arg(&call.program).args(&call.args);
        command.current_dir(&call.folder).env_clear().envs(call.env.iter().cloned());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().context("could not start the stopwatch")?;
        let (Some(mut go), Some(answers)) = (process.stdin.take(), process.stdout.take()) else {
            bail!("the stopwatch has no pipes");
        };
        go.write_all(&call.stdin).context("could not hand a payload to the stopwatch")?;
        Ok(Stopwatch { process, go, answers: BufReader::new(answers) })
    }

    /// Starts the call once and waits for its end.
    pub(crate) fn start(&mut self) -> anyhow::Result<Outcome> {
        self.go.write_all(b"g").context("could not reach the stopwatch")?;
        let mut line = String::new();
        self.answers.read_line(&mut line).context("could not read the stopwatch")?;
        let Ok([nanoseconds, code, said, complained]) = numbers(&line) else {
            bail!("could not understand the stopwatch: {line:?}");
        };
        let (mut stdout, mut stderr) = (vec![0; said as usize], vec![0; complained as usize]);
        self.answers.read_exact(&mut stdout).context("could not read an answer")?;
        self.answers.read_exact(&mut stderr).context("could not read an answer")?;
        Ok(Outcome { took: Duration::from_nanos(nanoseconds), code: code as i32, stdout, stderr })
    }
}

impl Drop for Stopwatch {
    fn drop(&mut self) {
        // It is idle between two starts, so it leaves nothing behind.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn numbers(line: &str) -> Result<[u64; 4], Vec<u64>> {
    let numbers: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    numbers.try_into()
}
