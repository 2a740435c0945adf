//! Runs one program as the client does: payload on standard input, no terminal, a deadline.

use anyhow::{Context, Result};
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Longer than any hook of a loop needs; reached only where something hangs.
pub(crate) const DEADLINE_SECONDS: u64 = 60;

/// What a program did.
#[derive(Debug)]
pub(crate) struct Ran {
    /// None if a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
    pub(crate) late: bool,
}

/// Runs it to its end.
pub(crate) fn run(mut command: Command, stdin: &[u8]) -> Result<Ran> {
    let began = Instant::now();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| {
        format!("could not start `{}`", command.get_program().to_string_lossy())
    })?;
    let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    std::thread::scope(|scope| {
        // A hook may end without reading: the pipe breaks, as it may.
        scope.spawn(move || input.map(|mut pipe| pipe.write_all(stdin)));
        let (all_read, both) = mpsc::channel();
        let errors_read = all_read.clone();
        let stdout = scope.spawn(move || text_of(output, all_read));
        let stderr = scope.spawn(move || text_of(errors, errors_read));
        let late = !ended(&both, began);
        let code = finish(&mut child, late)?;
        let took = began.elapsed();
        let text = |read: std::thread::Result<String>| read.unwrap_or_default();
        Ok(Ran { code, stdout: text(stdout.join()), stderr: text(stderr.join()), took, late })
    })
}

fn text_of(pipe: Option<impl Read>, read: mpsc::Sender<()>) -> String {
    let mut bytes = Vec::new();
    drop(pipe.map(|mut pipe| pipe.read_to_end(&mut bytes)));
    // Nobody listens any more once the deadline has passed.
    let _late = read.send(());
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Both outputs are closed when the program ends.
fn ended(both: &mpsc::Receiver<()>, began: Instant) -> bool {
    let deadline = Duration::from_secs(DEADLINE_SECONDS);
    let next = || both.recv_timeout(deadline.saturating_sub(began.elapsed())).is_ok();
    next() && next()
}

fn finish(child: &mut Child, late: bool) -> Result<Option<i32>> {
    if late {
        child.kill().context("could not end a hook that was late")?;
    }
    Ok(child.wait().context("could not wait for a hook")?.code())
}
