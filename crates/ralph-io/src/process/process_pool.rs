//! Several neighbours at work at once: each tells by lines what it does, and ends when we do.
//!
//! A client's orphans can be told from another's only by a process of its own above each client. So
//! each member is one, which holds one client. It reads its order from its standard input, which we
//! keep open: when we are gone, however, it finds the end of it there.

use crate::process::command::{adopt_orphans, family};
use crate::process::interrupts::{InterruptRequest, Interrupts};
use crate::process::watch::Watch;
use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::io::{PipeReader, Read, Write, pipe};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

/// How much is read at once.
const PIECE: usize = 64 * 1024;

/// When processes are killed again, in case some were born while we looked.
const AGAIN: Duration = Duration::from_millis(50);

/// When we stop trying: what is alive then cannot be killed by us.
const PATIENCE: Duration = Duration::from_secs(10);

/// What was heard of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemberEvent {
    /// A line, without its end.
    Line(Vec<u8>),
    /// It has ended, and nothing that it started is alive; how.
    Gone(String),
}

struct Member {
    name: String,
    child: Child,
    /// Its other end is how it knows that we are there.
    _order: ChildStdin,
    /// None once it has said its last.
    out: Option<PipeReader>,
    /// The beginning of a line whose end has not come yet.
    begun: Vec<u8>,
    /// True once it has said a line: before that it may not catch signals yet.
    has_spoken: bool,
    asked: InterruptRequest,
}

/// Those that are at work.
pub struct Crew {
    members: Vec<Member>,
    /// Children of ours from before: they and theirs are none of this.
    others: Vec<Pid>,
}

impl Crew {
    /// Nobody yet. What a member leaves without a parent comes to us.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn new() -> Result<Crew> {
        adopt_orphans()?;
        Ok(Crew { members: Vec::new(), others: family::children() })
    }

    /// How many are at work.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// True if nobody is.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Starts a member and gives it its order, which it reads up to a line feed.
    ///
    /// # Errors
    /// When it cannot be started, or does not take the order.
    pub fn start(&mut self, name: &str, program: &Path, args: &[&str], order: &[u8]) -> Result<()> {
        let started = || -> Result<Member> {
            let (out, to_out) = pipe()?;
            rustix::io::ioctl_fionbio(&out, true)?;
            let mut child = Command::new(program)
                .args(args)
                .stdin(Stdio::piped())
                .stdout(to_out)
                // Ctrl-C is for us; what it means to a member, we say.
                .process_group(0)
                .spawn()?;
            let mut stdin = child.stdin.take().context("it has no standard input")?;
            stdin.write_all(order).and_then(|()| stdin.write_all(b"\n"))?;
            let name = name.to_owned();
            Ok(Member {
                name,
                child,
                _order: stdin,
                out: Some(out),
                begun: Vec::new(),
                has_spoken: false,
                asked: InterruptRequest::Nothing,
            })
        };
        let started = started();
        let member = started.with_context(|| format!("could not start `{}`", program.display()))?;
        self.members.push(member);
        Ok(())
    }

    /// Passes on what a person has asked for.
    pub fn ask(&mut self, asked: InterruptRequest) {
        self.send(asked, |_| true);
    }

    /// Passes it on to one of them.
    pub fn ask_one(&mut self, name: &str, asked: InterruptRequest) {
        self.send(asked, |member| member.name == name);
    }

    fn send(&mut self, asked: InterruptRequest, holds: impl Fn(&Member) -> bool) {
        for member in self.members.iter_mut().filter(|member| holds(member)) {
            member.asked = asked;
            member.pass_on();
        }
    }

    /// Waits until something is heard, until something changes in what is watched or a person asks
    /// for something, at most until that time. Returns what was heard by then, and whether something has
    /// changed; a change while something is heard is reported by the next wait.
    ///
    /// # Errors
    /// When a member cannot be waited for.
    pub fn wait(
        &mut self,
        interrupts: &Interrupts,
        watch: &Watch,
        until: Instant,
    ) -> Result<(Vec<(String, MemberEvent)>, bool)> {
        let heard = self.take_in(interrupts)?;
        if !heard.is_empty() {
            return Ok((heard, false));
        }
        let pipes = self.members.iter().filter_map(|member| member.out.as_ref());
        let watched = watch.as_fd();
        let open: Vec<BorrowedFd<'_>> = pipes.map(AsFd::as_fd).chain(watched).collect();
        let readable = interrupts.wait(&open, until);
        let has_changed = watched.is_some() && readable.last() == Some(&true);
        if has_changed {
            watch.forget()?;
        }
        Ok((self.take_in(interrupts)?, has_changed))
    }

    fn take_in(&mut self, interrupts: &Interrupts) -> Result<Vec<(String, MemberEvent)>> {
        let mut heard = Vec::new();
        let mut gone = Vec::new();
        for (at, member) in self.members.iter_mut().enumerate() {
            member.take_in(&mut heard);
            let ended = member.child.try_wait().context("could not wait for a worker")?;
            if let Some(status) = ended {
                // What it said last may have come while we asked.
                member.take_in(&mut heard);
                gone.push((at, status.to_string()));
            }
        }
        for (at, how) in gone.into_iter().rev() {
            let member = self.members.remove(at);
            self.end_what_is_left(interrupts);
            heard.push((member.name, MemberEvent::Gone(how)));
        }
        Ok(heard)
    }

    /// A member ends what its client has left. One that was killed could not: all that came to us then
    /// and belongs to no other member ends here.
    fn end_what_is_left(&self, interrupts: &Interrupts) {
        let members = self.members.iter().map(|member| Pid::from_child(&member.child));
        let others: Vec<Pid> = members.chain(self.others.iter().copied()).collect();
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            for child in family::children().iter().filter(|pid| !others.contains(pid)) {
                let _ = waitpid(Some(*child), WaitOptions::NOHANG);
            }
            let left = family::left_to_us(&others);
            if left.is_empty() {
                return;
            }
            left.iter().for_each(|one| one.signal(Signal::KILL));
            interrupts.wait(&[], Instant::now() + AGAIN);
        }
    }
}

impl Member {
    fn pass_on(&self) {
        let signal = match self.asked {
            InterruptRequest::Finish if self.has_spoken => Signal::INT,
            InterruptRequest::End => Signal::TERM,
            InterruptRequest::Nothing | InterruptRequest::Finish => return,
        };
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }

    fn take_in(&mut self, heard: &mut Vec<(String, MemberEvent)>) {
        let mut bytes = vec![0; PIECE];
        while let Some(out) = &mut self.out {
            match out.read(&mut bytes) {
                Ok(0) => self.out = None,
                Ok(read) => self.feed(&bytes[..read], heard),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return,
                Err(_) => self.out = None,
            }
        }
    }

    fn feed(&mut self, mut piece: &[u8], heard: &mut Vec<(String, MemberEvent)>) {
        while let Some(end) = piece.iter().position(|byte| *byte == b'\n') {
            self.begun.extend_from_slice(&piece[..end]);
            heard.push((self.name.clone(), MemberEvent::Line(std::mem::take(&mut self.begun))));
            if !std::mem::replace(&mut self.has_spoken, true) {
                self.pass_on();
            }
            piece = &piece[end + 1..];
        }
        self.begun.extend_from_slice(piece);
    }
}
