//! Runs the client without a terminal: reads its output as it comes, and leaves no process behind.
//!
//! The client leads its own process group, so that Ctrl-C reaches us and not the client. Its
//! descendants may leave that group and outlive the client; we adopt them as orphans and find them
//! by descent. Only one client runs at a time in a process, so that its orphans cannot be confused
//! with another's.

mod leftovers;
mod log;

pub use log::{Log, read_log, without_secrets};

use crate::process::command::{adopt_orphans, family};
use crate::process::interrupts::{InterruptRequest, Interrupts};
use anyhow::{Context, Result};
use leftovers::Family;
use ralph_core::stop::rounds::Exit;
use rustix::process::Pid;
use std::ffi::OsString;
use std::io::{PipeReader, Read, pipe};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How much is read at once.
const PIECE: usize = 64 * 1024;

/// How much of the end of standard error is kept.
const LAST_WORDS: usize = 4096;

/// The interval between checks whether anything of an ending family is alive.
const AGAIN: Duration = Duration::from_millis(100);

/// Longer than any wait.
const FAR: Duration = Duration::from_secs(3600);

/// How to start the client.
#[derive(Debug, Clone, Copy)]
pub struct ClientStart<'a> {
    pub program: &'a Path,
    pub args: &'a [OsString],
    /// Variables added to our environment.
    pub env: &'a [(String, String)],
    /// Variables of our environment that the client must not see.
    pub unset: &'a [String],
    /// The working folder; ours if not set.
    pub folder: Option<&'a Path>,
    /// How long the client and its descendants may live after its last result.
    pub grace: Duration,
    /// The same while a command of the model runs in the background, for which the client waits.
    pub background: Duration,
}

/// Receives the client's output.
pub trait Listener {
    /// Takes the next piece of standard output.
    fn hear(&mut self, piece: &[u8]);
    /// Takes a new interrupt request; called once for each.
    fn asked(&mut self, asked: InterruptRequest);
    /// True if the client must end at once.
    fn is_refused(&self) -> bool {
        false
    }
    /// True if nothing more is expected of the client except its end.
    fn is_settled(&self) -> bool;
    /// True if a command of the model runs in the background.
    fn has_background(&self) -> bool {
        false
    }
}

/// The result of a client's run.
#[derive(Debug)]
pub struct ClientExit {
    pub exit: Exit,
    /// The names of the client's descendants that we had to end; the client's own name if it did
    /// not end by itself.
    pub leftovers: Vec<String>,
    /// The end of the client's standard error.
    pub last_words: String,
}

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Runs the client to its end. When this returns, nothing that it started is alive, as far as the
/// platform lets us find it.
///
/// # Errors
/// If the client cannot be started.
pub fn run(
    start: &ClientStart<'_>,
    interrupts: &Interrupts,
    listener: &mut dyn Listener,
) -> Result<ClientExit> {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    adopt_orphans()?;
    let others = family::children();
    let (child, out, err) = spawn(start)?;
    let pid = Pid::from_child(&child);
    let watch = ClientWatch {
        child,
        family: Family { others, client: pid },
        out: Some(out),
        err: Some(err),
        last_words: Vec::new(),
        forgot: false,
        exit: None,
        settled_at: None,
        told: InterruptRequest::Nothing,
        grace: start.grace,
        background: start.background,
        interrupts,
        listener,
    };
    watch.finish()
}

fn spawn(start: &ClientStart<'_>) -> Result<(Child, PipeReader, PipeReader)> {
    let ends = || {
        let (reader, writer) = pipe().context("could not make a pipe")?;
        rustix::io::ioctl_fionbio(&reader, true).context("could not make a pipe")?;
        anyhow::Ok((reader, writer))
    };
    let ((out, to_out), (err, to_err)) = (ends()?, ends()?);
    // The command owns both write ends, and closes them at the end of this function.
    let mut command = Command::new(start.program);
    for name in start.unset {
        command.env_remove(name);
    }
    command
        .args(start.args)
        .envs(start.env.iter().map(|(name, value)| (name, value)))
        .envs(family::mark())
        // Nobody answers prompts: a program that asks reads the end of its input.
        .stdin(Stdio::null())
        .stdout(to_out)
        .stderr(to_err)
        .process_group(0);
    if let Some(folder) = start.folder {
        command.current_dir(folder);
    }
    let child = command.spawn();
    let child = child.with_context(|| format!("could not start `{}`", start.program.display()))?;
    Ok((child, out, err))
}

struct ClientWatch<'a> {
    child: Child,
    family: Family,
    /// Not set after the other end is closed.
    out: Option<PipeReader>,
    err: Option<PipeReader>,
    last_words: Vec<u8>,
    /// True if the beginning of standard error was dropped.
    forgot: bool,
    /// The client's own exit status.
    exit: Option<ExitStatus>,
    /// Since when nothing more is expected.
    settled_at: Option<Instant>,
    told: InterruptRequest,
    grace: Duration,
    background: Duration,
    interrupts: &'a Interrupts,
    listener: &'a mut dyn Listener,
}

impl ClientWatch<'_> {
    fn finish(mut self) -> Result<ClientExit> {
        let ended = self.watch()?;
        let names = self.family.end(&mut self.child, &mut self.exit, self.interrupts);
        self.drain();
        let leftovers = if ended == Some(Exit::Interrupted) { Vec::new() } else { names };
        let last_words = String::from_utf8_lossy(&self.whole_words()).into_owned();
        let exit = ended.or_else(|| self.exit.map(by_itself)).unwrap_or(Exit::Leftovers);
        Ok(ClientExit { exit, leftovers, last_words })
    }

    /// Waits until the client has ended and left nothing, or has to be ended. Returns the reason if
    /// it has to be ended.
    fn watch(&mut self) -> Result<Option<Exit>> {
        loop {
            self.take_in()?;
            if self.told == InterruptRequest::End || self.listener.is_refused() {
                return Ok(Some(Exit::Interrupted));
            }
            let now = Instant::now();
            let until = self.settled_at.map(|at| at + self.patience());
            if self.exit.is_some() && !self.family.is_alive() {
                return Ok(None);
            }
            if until.is_some_and(|until| now >= until) {
                return Ok(self.exit.is_none().then_some(Exit::Leftovers));
            }
            // Descendants that are not our children yet send no signal when they end, so poll.
            let next = if self.exit.is_some() { now + AGAIN } else { now + FAR };
            self.wait(until.map_or(next, |until| until.min(next)));
        }
    }

    /// How long the client may still live. One that has exited waits for nothing.
    fn patience(&self) -> Duration {
        match self.exit.is_none() && self.listener.has_background() {
            true => self.background.max(self.grace),
            false => self.grace,
        }
    }

    fn wait(&mut self, until: Instant) {
        let pipes = [&self.out, &self.err];
        let open: Vec<_> = pipes.iter().filter_map(|pipe| Some(pipe.as_ref()?.as_fd())).collect();
        self.interrupts.wait(&open, until);
    }

    /// Handles everything that has happened by now.
    fn take_in(&mut self) -> Result<()> {
        let mut bytes = vec![0; PIECE];
        // Bounded: an interrupt must not wait for a client that prints without end.
        for _ in 0..64 {
            let Some(read) = read(&mut self.out, &mut bytes) else { break };
            self.listener.hear(&bytes[..read]);
        }
        for _ in 0..64 {
            let Some(read) = read(&mut self.err, &mut bytes) else { break };
            self.remember(&bytes[..read]);
        }
        self.look_around()
    }

    fn look_around(&mut self) -> Result<()> {
        let asked = self.interrupts.asked();
        if asked > self.told {
            self.told = asked;
            self.listener.asked(asked);
        }
        if self.exit.is_none() {
            self.exit = self.child.try_wait().context("could not wait for the client")?;
        }
        let is_settled = self.listener.is_settled() || self.exit.is_some();
        self.settled_at = is_settled.then(|| self.settled_at.unwrap_or_else(Instant::now));
        Ok(())
    }

    fn remember(&mut self, piece: &[u8]) {
        self.last_words.extend_from_slice(piece);
        let surplus = self.last_words.len().saturating_sub(LAST_WORDS);
        self.last_words.drain(..surplus);
        self.forgot |= surplus > 0;
    }

    /// Standard error without a first line whose beginning was dropped: half a secret would not be
    /// recognised as one.
    fn whole_words(&self) -> Vec<u8> {
        let mut lines = self.last_words.splitn(2, |byte| *byte == b'\n');
        let rest = if self.forgot { lines.nth(1) } else { Some(&self.last_words[..]) };
        rest.unwrap_or_default().to_vec()
    }

    /// Reads what is still in the pipes after everything has ended. Bounded, because a process that
    /// we could not end may go on writing.
    fn drain(&mut self) {
        let mut bytes = vec![0; PIECE];
        for _ in 0..1024 {
            let Some(read) = read(&mut self.out, &mut bytes) else { break };
            self.listener.hear(&bytes[..read]);
        }
        for _ in 0..64 {
            let Some(read) = read(&mut self.err, &mut bytes) else { break };
            self.remember(&bytes[..read]);
        }
    }
}

/// Reads some bytes; `None` if there are none now, or the pipe has ended.
fn read(pipe: &mut Option<PipeReader>, bytes: &mut [u8]) -> Option<usize> {
    loop {
        match pipe.as_mut()?.read(bytes) {
            Ok(0) => *pipe = None,
            Ok(read) => return Some(read),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return None,
            Err(_) => *pipe = None,
        }
    }
}

fn by_itself(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, signal) => Exit::Signal(signal.unwrap_or_default()),
    }
}
