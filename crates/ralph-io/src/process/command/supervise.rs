//! The supervisor of one command: starts it, watches it, ends whatever it leaves.
//!
//! One loop waits for everything at once: output, the end of a child, signals, the deadline, and
//! the end of our standard input, which means that whoever started us is gone. What the command
//! leaves is ended before we answer; its own exit code is what counts.

use super::family;
use super::output::Output;
use super::shell;
use super::signals::{self, Signals};
use super::wire::{self, CommandReport, CommandRequest};
use super::{CommandEnd, FAR, adopt_orphans};
use anyhow::Result;
use ralph_core::evidence::tests_run::Summary;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
use std::io::{PipeReader, Read};
use std::time::{Duration, Instant};

/// How long a process may take to end itself once it was asked.
const GRACE: Duration = Duration::from_millis(500);

/// When processes are killed again, in case some were born while we looked.
const AGAIN: Duration = Duration::from_millis(50);

/// When we stop trying: what is alive then cannot be killed by us.
const PATIENCE: Duration = Duration::from_secs(10);

/// How much is read at once.
const PIECE: usize = 64 * 1024;

/// Runs what was asked for. The observer sees every byte of the output, as it is written.
pub fn supervise(request: &CommandRequest, observer: &mut dyn FnMut(&[u8])) -> CommandReport {
    let began = Instant::now();
    let started = prepare().and_then(|signals| Ok((signals, shell::start(request)?)));
    match started {
        Err(error) => {
            CommandReport::nothing(CommandEnd::NotStarted(format!("{error:#}")), began.elapsed())
        }
        Ok((signals, (command, pipe))) => CommandWatch {
            began,
            deadline: began + Duration::from_millis(request.deadline_ms).min(FAR),
            command,
            signals,
            pipe: Some(pipe),
            output: Output::begin(request, observer),
            exit: None,
            is_stopped: false,
        }
        .finish(),
    }
}

/// Makes us someone to whom orphans come, and whom no terminal and no neighbour's signal reaches.
fn prepare() -> Result<Signals> {
    // Without a terminal, a command that asks for a password fails at once instead of waiting.
    // We may lead a session already.
    let _ = rustix::process::setsid();
    adopt_orphans()?;
    Signals::catch()
}

/// A command that runs, or whose leftovers do.
struct CommandWatch<'a> {
    began: Instant,
    deadline: Instant,
    /// The command itself, which leads a group.
    command: Pid,
    signals: Signals,
    /// None once its other end is closed.
    pipe: Option<PipeReader>,
    output: Output<'a>,
    /// How the command itself ended.
    exit: Option<WaitStatus>,
    /// Whoever started us is gone, or we were told to end.
    is_stopped: bool,
}

impl CommandWatch<'_> {
    fn finish(mut self) -> CommandReport {
        let ended = self.watch();
        let took = self.began.elapsed();
        let left = self.end_family();
        self.drain();
        let output = self.output.finish();
        CommandReport {
            ended,
            duration_ms: wire::millis(took),
            output_sha256: output.sha256,
            output_bytes: output.bytes,
            tail: output.tail,
            left,
            stored: output.stored,
            // Whoever read the output along says so.
            tests: Summary::default(),
        }
    }

    /// Until the command itself has ended, or has to.
    fn watch(&mut self) -> CommandEnd {
        loop {
            match self.exit.map(|status| (status.exit_status(), status.terminating_signal())) {
                Some((Some(code), _)) => return CommandEnd::Exited(code),
                Some((None, signal)) => return CommandEnd::Signalled(signal.unwrap_or_default()),
                None if self.is_stopped => return CommandEnd::Stopped,
                None if Instant::now() >= self.deadline => return CommandEnd::Deadline,
                None => self.turn(self.deadline),
            }
        }
    }

    /// Asks everything that is left to end, then kills it; returns the names of what was left.
    fn end_family(&mut self) -> Vec<String> {
        if self.is_alone() {
            return Vec::new();
        }
        let members = family::members(self.command);
        for signal in [Signal::TERM, Signal::CONT] {
            members.iter().for_each(|member| member.signal(signal));
        }
        let until = Instant::now() + GRACE;
        while Instant::now() < until && !self.is_alone() {
            self.turn(until);
        }
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until && !self.is_alone() {
            let alive = family::members(self.command);
            alive.iter().for_each(|member| member.signal(Signal::KILL));
            self.turn(until.min(Instant::now() + AGAIN));
        }
        members.into_iter().map(|member| member.name).collect()
    }

    /// True when nothing that the command started is alive.
    fn is_alone(&mut self) -> bool {
        // Who adopts every orphan and has no child has no descendant either: the system's own
        // word, where a list of processes is old by the time it is read.
        let childless = self.reap();
        childless && (cfg!(target_os = "linux") || family::members(self.command).is_empty())
    }

    /// Waits until something happens, at most until then, and takes it in.
    fn turn(&mut self, until: Instant) {
        let happened = self.wait(until);
        if happened.output {
            self.read();
        }
        if happened.child {
            signals::clear(&self.signals.child);
            let _ = self.reap();
        }
        self.is_stopped |= happened.stop;
    }

    fn wait(&self, until: Instant) -> Happened {
        let stdin = std::io::stdin();
        let left = until.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).unwrap_or_default();
        let mut ends = vec![PollFd::new(&self.signals.child, PollFlags::IN)];
        // Once told to end, we need not be told again, and the end of the input would be seen
        // for ever.
        if !self.is_stopped {
            ends.push(PollFd::new(&self.signals.stop, PollFlags::IN));
            ends.push(PollFd::new(&stdin, PollFlags::IN));
        }
        if let Some(pipe) = &self.pipe {
            ends.push(PollFd::new(pipe, PollFlags::IN));
        }
        if poll(&mut ends, Some(&left)).is_err() {
            // A signal: it is in its stream, and the next turn reads it.
            return Happened::default();
        }
        let ready: Vec<bool> = ends.iter().map(|end| !end.revents().is_empty()).collect();
        let told = !self.is_stopped && (ready[1] || ready[2] && is_at_end(&stdin));
        let output = self.pipe.is_some() && ready.last() == Some(&true);
        Happened { child: ready[0], stop: told, output }
    }

    /// Reads one piece; says whether there may be more.
    fn read(&mut self) -> bool {
        let Some(pipe) = &mut self.pipe else { return false };
        let mut piece = [0; PIECE];
        match pipe.read(&mut piece) {
            Ok(0) => self.pipe = None,
            Ok(read) => self.output.feed(&piece[..read]),
            Err(error) => return error.kind() == std::io::ErrorKind::Interrupted,
        }
        self.pipe.is_some()
    }

    /// What is still in the pipe when everything has ended. Bounded, in case something that we
    /// could not end goes on writing.
    fn drain(&mut self) {
        for _ in 0..64 {
            if !self.read() {
                return;
            }
        }
    }

    /// Takes children that have ended off the system's list: the command, and orphans. True if
    /// no child is left.
    fn reap(&mut self) -> bool {
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.command => self.exit = Some(status),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return false,
                Err(_) => return true,
            }
        }
    }
}

/// What woke us.
#[derive(Default)]
struct Happened {
    output: bool,
    child: bool,
    stop: bool,
}

/// Only the end matters: nothing more is said to us after the first line.
fn is_at_end(stdin: &std::io::Stdin) -> bool {
    matches!(rustix::io::read(stdin, &mut [0; 64]), Ok(0))
}
