//! Starts one program as the client starts a hook, and says how long it took and what it said.
//!
//! No shell, a clean environment, three pipes. Nothing is set that would make the standard
//! library fork: its `posix_spawn` shares the parent's memory until the exec, as the client's
//! `vfork` does.

use std::ffi::OsString;
use std::io::{ErrorKind, Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::Context;

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
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

/// The input is written first and the answers are read after it, in one thread: what answers
/// here answers in less than a pipe holds, or after it has read its input.
pub(crate) fn run(call: &Call) -> anyhow::Result<Outcome> {
    let mut command = Command::new(&call.program);
    command
        .args(&call.args)
        .current_dir(&call.folder)
        .env_clear()
        .envs(call.env.iter().cloned());
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let (mut stdout, mut stderr) = (Vec::with_capacity(65_536), Vec::with_capacity(4_096));

    let began = Instant::now();
    let mut child = command
        .spawn()
        .with_context(|| format!("could not start `{}`", call.program.display()))?;
    let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    if let Some(mut input) = input {
        feed(&mut input, &call.stdin)?;
    }
    if let (Some(mut output), Some(mut errors)) = (output, errors) {
        output
            .read_to_end(&mut stdout)
            .context("could not read an answer")?;
        errors
            .read_to_end(&mut stderr)
            .context("could not read an answer")?;
    }
    let status = child.wait().context("could not reap a child")?;
    let took = began.elapsed();

    Ok(Outcome {
        took,
        code: status.code(),
        stdout,
        stderr,
    })
}

/// An idle hook exits without reading, so that the pipe breaks; the client does not mind either.
fn feed(input: &mut impl Write, bytes: &[u8]) -> anyhow::Result<()> {
    match input.write_all(bytes) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(e).context("could not write a payload"),
        _ => Ok(()),
    }
}
