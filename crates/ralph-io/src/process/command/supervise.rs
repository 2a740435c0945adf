//! The supervisor of one command: starts it, watches it, and ends whatever it leaves.
//!
//! One loop waits for output, the end of a child, signals, the deadline, and the end of our
//! standard input, which means that our caller has died. What the command leaves is ended before we
//! answer; the result is still the command's own exit code.

use super::family::{Family, FamilyEnding};
use super::output::Output;
use super::{CommandEnd, adopt_orphans, family};
use crate::process::bounds::{Bounded, FIRST_PROCESS};
use crate::process::command::{self, CommandRequest, CommandRun};
use crate::process::wait_any::{InterruptRequest, Interrupts};
use crate::process::waits::{COMMAND_GRACE, FAR};
use crate::process::{PIECE, elsewhere, pipe, programs, read_some};
use anyhow::{Context, Result};
use jiff::Timestamp;
use ralph_core::evidence::tests_run::Summary;
use ralph_core::project::bounds;
use ralph_core::state::Bounds;
use ralph_core::text::sanitize;
use rustix::process::Pid;
use std::ffi::OsStr;
use std::io::PipeReader;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The names of the processes that hold a command within its bounds, or run it on other files.
const OURS: [&str; 3] = ["bwrap", "ralph", FIRST_PROCESS];

/// Runs the requested command. The observer gets every byte of the output as it is written.
pub fn supervise(request: &CommandRequest, observer: &mut dyn FnMut(&[u8])) -> CommandRun {
    let began = Instant::now();
    let started = prepare().and_then(|interrupts| Ok((interrupts, start(request)?)));
    match started {
        Err(error) => {
            CommandRun::nothing(CommandEnd::NotStarted(format!("{error:#}")), began.elapsed())
        }
        Ok((interrupts, (command, pipe, bounded))) => CommandWatch {
            began,
            deadline: began + Duration::from_millis(request.deadline_ms).min(FAR),
            family: Family::new(Vec::new(), Some(command)),
            interrupts,
            pipe: Some(pipe),
            bounds: request.bounds.as_ref(),
            is_elsewhere: request.elsewhere.is_some(),
            bounded,
            output: Output::begin(request, observer),
            is_stopped: false,
        }
        .finish(),
    }
}

/// Makes this process adopt orphans, and shields it from the terminal and from signals to its old
/// process group.
fn prepare() -> Result<Interrupts> {
    // Without a terminal, a command that asks for a password fails at once instead of waiting. An
    // error means that we already lead a POSIX session.
    let _ = rustix::process::setsid();
    adopt_orphans()?;
    Interrupts::catch()
}

/// A command that is running, or whose leftovers are.
struct CommandWatch<'a> {
    began: Instant,
    deadline: Instant,
    family: Family,
    interrupts: Interrupts,
    bounds: Option<&'a Bounds>,
    is_elsewhere: bool,
    bounded: Option<Bounded>,
    /// Not set after the other end is closed.
    pipe: Option<PipeReader>,
    output: Output<'a>,
    /// True if our caller has died, or we were told to end.
    is_stopped: bool,
}

impl CommandWatch<'_> {
    fn finish(mut self) -> CommandRun {
        let ended = self.watch();
        let took = self.began.elapsed();
        let mut left = self.end_family();
        self.drain();
        let output = self.output.finish();
        let mut ended = ended;
        let mut refused = Vec::new();
        if self.is_elsewhere || self.bounded.is_some() {
            left.retain(|name| !OURS.contains(&name.as_str()));
        }
        if let Some(outcome) = self.bounded.map(Bounded::finish) {
            refused = outcome.refused;
            refused.extend(self.bounds.iter().flat_map(|of| bounds::refusals(&output.tail, of)));
            ended = match outcome.inside {
                Some(inside) if matches!(ended, CommandEnd::Exited(_)) => {
                    left.extend(
                        inside.left.iter().map(|name| sanitize::visible(name).into_owned()),
                    );
                    match inside.signal {
                        _ if !inside.problem.is_empty() => CommandEnd::NotStarted(inside.problem),
                        Some(signal) => CommandEnd::Signalled(signal),
                        None => ended,
                    }
                }
                // Only Linux has a process inside that reports.
                None if cfg!(target_os = "linux") && ended == CommandEnd::Exited(0) => {
                    CommandEnd::NotStarted("the bounds gave no report".to_owned())
                }
                None if matches!(ended, CommandEnd::Exited(_))
                    && output.tail.contains("bwrap: ") =>
                {
                    CommandEnd::NotStarted(format!(
                        "the bounds of the loop could not be set up: {}",
                        output.tail.lines().last().unwrap_or_default()
                    ))
                }
                _ => ended,
            };
        }
        CommandRun {
            ended,
            // Filled in by the caller, and below by the observer of the output.
            started_at: Timestamp::default(),
            refused,
            duration_ms: command::millis(took),
            output_sha256: output.sha256,
            output_bytes: output.bytes,
            tail: output.tail,
            left,
            stored: output.stored,
            failing: output.failures.tests,
            error: output.failures.error,
            tests: Summary::default(),
        }
    }

    /// Waits until the command itself has ended, or has to be ended.
    fn watch(&mut self) -> CommandEnd {
        loop {
            match self.family.exit.map(|status| (status.exit_status(), status.terminating_signal()))
            {
                Some((Some(code), _)) => return CommandEnd::Exited(code),
                Some((None, signal)) => return CommandEnd::Signalled(signal.unwrap_or_default()),
                None if self.is_stopped => return CommandEnd::Stopped,
                None if Instant::now() >= self.deadline => return CommandEnd::Deadline,
                None => self.turn(self.deadline),
            }
        }
    }

    /// Ends everything that is left; returns the names of what was left.
    fn end_family(&mut self) -> Vec<String> {
        if self.family.is_gone() {
            return Vec::new();
        }
        let names = self.family.members().into_iter().map(|member| member.name).collect();
        let mut ending = FamilyEnding::begin(COMMAND_GRACE);
        while let Some(next) = self.family.press(&mut ending) {
            self.turn(next);
        }
        names
    }

    /// Waits until something happens or until `until`, and handles it.
    fn turn(&mut self, until: Instant) {
        let stdin = std::io::stdin();
        // Once told to end we need no second notice, and the end of the input would stay readable
        // for ever.
        let input = (!self.is_stopped).then(|| stdin.as_fd());
        let output = self.pipe.as_ref().map(AsFd::as_fd);
        let ends: Vec<BorrowedFd<'_>> = input.into_iter().chain(output).collect();
        let mut ready = self.interrupts.wait(&ends, until).into_iter();
        let is_input_ended = input.is_some() && ready.next() == Some(true) && is_at_end(&stdin);
        if ready.next() == Some(true) {
            self.read();
        }
        self.is_stopped |= is_input_ended | (self.interrupts.asked() != InterruptRequest::Nothing);
        self.family.reap();
    }

    /// Reads one piece; returns whether there may be more.
    fn read(&mut self) -> bool {
        let mut piece = [0; PIECE];
        let Some(read) = read_some(&mut self.pipe, &mut piece) else { return false };
        self.output.feed(&piece[..read]);
        true
    }

    /// Reads what is still in the pipe after everything has ended. Bounded, because a process that
    /// we could not end may go on writing.
    fn drain(&mut self) {
        for _ in 0..64 {
            if !self.read() {
                return;
            }
        }
    }
}

/// Only the end of the input matters: the caller sends nothing after the first line.
fn is_at_end(stdin: &std::io::Stdin) -> bool {
    matches!(rustix::io::read(stdin, &mut [0; 64]), Ok(0))
}

// Starts a command in a shell, as a person would, but with no standard input.
//
// Standard output and standard error share one pipe, so the order of writing is kept.

/// Starts the command as the leader of its own process group. Returns its output as a pipe whose
/// reads never block.
pub(super) fn start(request: &CommandRequest) -> Result<(Pid, PipeReader, Option<Bounded>)> {
    let folder = Path::new(to_text(&request.folder));
    // Checked first: the error of a failed start would not tell whether the folder or the shell is
    // missing.
    std::fs::metadata(folder)
        .with_context(|| format!("could not enter the folder `{}`", folder.display()))?;
    let shell = programs::shell();
    let (reader, writer) = pipe()?;
    // The command owns both write ends, and closes them at the end of this function.
    let line = [OsStr::new("-c"), OsStr::new(&request.command)];
    let elsewhere = request.elsewhere.as_deref().map(|order| Path::new(to_text(order)));
    let mut bounded = match &request.bounds {
        Some(bounds) => Some(Bounded::wrap(bounds, folder, elsewhere, &shell, &line)?),
        None => None,
    };
    let mut plain = elsewhere::in_front(elsewhere, &shell)?;
    plain.args(line).current_dir(folder).stdin(Stdio::null());
    let command = bounded.as_mut().map_or(&mut plain, |bounded| &mut bounded.command);
    command
        .stdout(writer.try_clone().context("could not make a pipe")?)
        .stderr(writer)
        .envs(family::mark())
        .envs(request.variables.iter().map(|(name, value)| (to_text(name), to_text(value))))
        .process_group(0);
    let child = command.spawn();
    let child = child.with_context(|| {
        format!("could not start `{}` in `{}`", shell.display(), folder.display())
    })?;
    // What the command line holds would keep the pipe and the socket open.
    let pid = Pid::from_child(&child);
    drop(plain);
    if let Some(bounded) = &mut bounded {
        bounded.command = Command::new(&shell);
    }
    Ok((pid, reader, bounded))
}

fn to_text(bytes: &[u8]) -> &OsStr {
    OsStr::from_bytes(bytes)
}
