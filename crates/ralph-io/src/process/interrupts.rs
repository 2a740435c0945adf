//! Handles interrupts of a command that works for hours: Ctrl-C once, or twice.
//!
//! The first Ctrl-C lets the current round finish, the second ends it at once; so do a closed
//! terminal and SIGTERM. Each handler writes a byte, and the waiting loops poll for it.

use crate::process::command::signals::{clear, count, stream};
use anyhow::Result;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::signal::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use std::cell::Cell;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// The strongest request so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum InterruptRequest {
    #[default]
    Nothing,
    /// Start no other round after this one.
    Finish,
    /// End at once.
    End,
}

/// The signals to this process, caught for as long as it lives.
#[derive(Debug)]
pub struct Interrupts {
    keyboard: UnixStream,
    end: UnixStream,
    child: UnixStream,
    asked: Cell<InterruptRequest>,
}

impl Interrupts {
    /// Catches Ctrl-C, SIGTERM and SIGHUP, so that they no longer end the process.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn catch() -> Result<Interrupts> {
        Ok(Interrupts {
            keyboard: stream(&[SIGINT])?,
            end: stream(&[SIGTERM, SIGHUP])?,
            child: stream(&[SIGCHLD])?,
            asked: Cell::new(InterruptRequest::Nothing),
        })
    }

    /// Reads new signals and returns the strongest request so far.
    pub fn asked(&self) -> InterruptRequest {
        let presses = count(&self.keyboard);
        let now = match (self.asked.get(), presses) {
            _ if count(&self.end) > 0 => InterruptRequest::End,
            (asked, 0) => asked,
            (InterruptRequest::Nothing, 1) => InterruptRequest::Finish,
            _ => InterruptRequest::End,
        };
        self.asked.set(now);
        now
    }

    /// Waits until `until`, or until a new request arrives; true if none did.
    pub fn rest(&self, until: Instant) -> bool {
        let before = self.asked();
        while self.asked() == before {
            if Instant::now() >= until {
                return true;
            }
            self.wait(&[], until);
        }
        false
    }

    /// Waits for a signal, for a child's end, or for one of `others` to be readable, at most until
    /// `until`. Returns which of `others` are readable.
    pub(crate) fn wait(&self, others: &[BorrowedFd<'_>], until: Instant) -> Vec<bool> {
        let left = until.saturating_duration_since(Instant::now()).min(Duration::from_secs(3600));
        let left = Timespec::try_from(left).unwrap_or_default();
        let ours = [&self.keyboard, &self.end, &self.child];
        let mut ends: Vec<PollFd<'_>> =
            ours.iter().map(|end| PollFd::new(*end, PollFlags::IN)).collect();
        ends.extend(others.iter().map(|other| PollFd::from_borrowed_fd(*other, PollFlags::IN)));
        if poll(&mut ends, Some(&left)).is_err() {
            // Interrupted by a signal: its byte is in its stream, and the next turn reads it.
            return vec![false; others.len()];
        }
        clear(&self.child);
        ends[ours.len()..].iter().map(|end| !end.revents().is_empty()).collect()
    }
}
