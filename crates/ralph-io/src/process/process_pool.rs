//! Runs members, one or several at once; each reports in lines, and ends when we do.
//!
//! Only a separate process above each client can tell its orphans from another client's. So each
//! member is a process that runs one client. It reads its order from its standard input, which we
//! keep open: if we die, for whatever reason, it reads the end there.

use crate::process::command::adopt_orphans;
use crate::process::command::family::{self, Family, FamilyEnding};
use crate::process::wait_any::{InterruptRequest, Interrupts};
use crate::process::waits::CLIENT_GRACE;
use crate::process::watch::Watch;
use crate::process::{PIECE, pipe, read_some};
use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{PipeReader, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Instant;

/// An event of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemberEvent {
    /// A line without its line feed.
    Line(Vec<u8>),
    /// The member has ended with this status, and nothing that it started is alive.
    Gone(String),
}

struct Member {
    name: String,
    child: Child,
    /// Kept open: its end would tell the member that we have died.
    _order: ChildStdin,
    /// Not set after the member has closed it.
    out: Option<PipeReader>,
    /// The start of an incomplete line.
    begun: Vec<u8>,
    /// True after the member's first line; before that it may not catch signals yet.
    has_spoken: bool,
    asked: InterruptRequest,
}

/// A pool of running members.
pub struct Crew {
    members: Vec<Member>,
    /// Our children from before the pool; they and their descendants do not belong to it.
    others: Vec<Pid>,
}

impl Crew {
    /// Creates an empty pool; orphaned grandchildren are reparented to us.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn new() -> Result<Crew> {
        adopt_orphans()?;
        Ok(Crew { members: Vec::new(), others: family::children() })
    }

    pub fn len(&self) -> usize {
        self.members.len()
    }

    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Starts a member and sends it its order, which it reads up to a line feed.
    ///
    /// # Errors
    /// If it cannot be started, or does not accept the order.
    pub fn start(&mut self, name: &str, program: &Path, args: &[&str], order: &[u8]) -> Result<()> {
        let started = || -> Result<Member> {
            let (out, to_out) = pipe()?;
            let mut child = Command::new(program)
                .args(args)
                .stdin(Stdio::piped())
                .stdout(to_out)
                // Ctrl-C reaches only us; we decide what it means for a member.
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

    /// Passes a request on to all members.
    pub fn ask(&mut self, asked: InterruptRequest) {
        self.send(asked, |_| true);
    }

    /// Passes a request on to one member.
    pub fn ask_one(&mut self, name: &str, asked: InterruptRequest) {
        self.send(asked, |member| member.name == name);
    }

    fn send(&mut self, asked: InterruptRequest, holds: impl Fn(&Member) -> bool) {
        for member in self.members.iter_mut().filter(|member| holds(member)) {
            member.asked = asked;
            member.pass_on();
        }
    }

    /// Waits until a member reports, a watched file changes or the user interrupts, at most until
    /// `until`. Returns the events and whether a file has changed; a change that coincides with
    /// events is reported by the next wait.
    ///
    /// # Errors
    /// If a member cannot be waited for.
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
        let readable = interrupts.wait(&open, watch.look_before(until));
        let is_ready = watched.is_some() && readable.last() == Some(&true);
        let has_changed = watch.take_change(is_ready)?;
        Ok((self.take_in(interrupts)?, has_changed))
    }

    fn take_in(&mut self, interrupts: &Interrupts) -> Result<Vec<(String, MemberEvent)>> {
        let mut heard = Vec::new();
        let mut gone = Vec::new();
        for (at, member) in self.members.iter_mut().enumerate() {
            member.take_in(&mut heard);
            let ended = member.child.try_wait().context("could not wait for a member")?;
            if let Some(status) = ended {
                // Its last lines may have come since the first read.
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

    /// Ends what a killed member left. A member normally ends its client's leftovers itself; if it
    /// was killed, they come to us, and we end all that belongs to no other member.
    fn end_what_is_left(&self, interrupts: &Interrupts) {
        let members = self.members.iter().map(|member| Pid::from_child(&member.child));
        let others: Vec<Pid> = members.chain(self.others.iter().copied()).collect();
        let (mut family, mut ending) =
            (Family::new(others, None), FamilyEnding::begin(CLIENT_GRACE));
        while let Some(next) = family.press(&mut ending) {
            interrupts.wait(&[], next);
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
        while let Some(read) = read_some(&mut self.out, &mut bytes) {
            self.feed(&bytes[..read], heard);
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
