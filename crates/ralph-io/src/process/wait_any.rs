//! Waits for whatever comes first: a key, a file change, a signal, or a time.
//!
//! A signal handler only writes a byte, so the owner of the terminal can restore it before the
//! process ends or is suspended; then [`StopSignal::carry_out`] does what the signal would have
//! done.

use crate::process::waits::CHANGE_AGAIN;
use crate::process::watch::{Watch, poll_until};
use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::termios::{QueueSelector, tcflush};
use signal_hook::consts::signal::{SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGWINCH};
use signal_hook::low_level::{emulate_default_handler, pipe};
use std::cell::Cell;
use std::io::{Read, stdin};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// The signals to this process, caught for as long as it lives.
#[derive(Debug)]
pub struct Attention {
    ends: Vec<(i32, UnixStream)>,
    rests: UnixStream,
    /// Readable when the window size has changed or the process was continued.
    redraw: UnixStream,
}

/// What ended a wait.
#[derive(Debug, Default)]
pub struct Wakeup {
    /// The bytes typed.
    pub typed: Vec<u8>,
    /// True if a watched file has changed.
    pub changed: bool,
    /// True if the whole screen has to be redrawn.
    pub redraw: bool,
    /// The signal that suspends or ends this process.
    pub ending: Option<StopSignal>,
}

impl Wakeup {
    fn is_nothing(&self) -> bool {
        self.typed.is_empty() && !self.changed && !self.redraw && self.ending.is_none()
    }
}

/// A signal that stops this process, for a while or for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopSignal(i32);

impl StopSignal {
    /// Suspends the process until it is continued.
    pub const REST: StopSignal = StopSignal(SIGTSTP);

    /// True if the process continues after this signal.
    pub fn is_rest(self) -> bool {
        self == StopSignal::REST
    }

    /// Does what the signal does by default; returns once the process continues.
    pub fn carry_out(self) {
        // If even that fails, the process ends with its command.
        let _ = emulate_default_handler(self.0);
    }
}

impl Attention {
    /// Catches the signals: from now on none of them acts by itself.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn catch() -> Result<Attention> {
        let mut ends = Vec::new();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            ends.push((signal, stream(&[signal])?));
        }
        Ok(Attention { ends, rests: stream(&[SIGTSTP])?, redraw: stream(&[SIGWINCH, SIGCONT])? })
    }

    /// Waits for the first event, at most until `until`.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn wait(&self, watch: &Watch, until: Instant) -> Result<Wakeup> {
        loop {
            let heard = self.wait_once(watch, watch.look_before(until))?;
            if !heard.is_nothing() || Instant::now() >= until {
                return Ok(heard);
            }
        }
    }

    fn wait_once(&self, watch: &Watch, until: Instant) -> Result<Wakeup> {
        let stdin = std::io::stdin();
        let mut ready = vec![PollFd::new(&stdin, PollFlags::IN)];
        ready.extend(watch.as_fd().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        let at = ready.len();
        let ends = self.ends.iter().map(|(_, end)| end);
        ready.extend(
            ends.chain([&self.rests, &self.redraw]).map(|end| PollFd::new(end, PollFlags::IN)),
        );
        poll_until(&mut ready, until).context("could not wait")?;
        let has_input = !ready[0].revents().is_empty();
        let changed = watch.take_change(at > 1 && !ready[1].revents().is_empty())?;
        let mut heard = Wakeup { changed, ..Wakeup::default() };
        heard.redraw = count(&self.redraw) > 0;
        if count(&self.rests) > 0 {
            heard.ending = Some(StopSignal::REST);
        }
        let ended = self.ends.iter().find(|(_, end)| count(end) > 0);
        heard.ending = ended.map(|(signal, _)| StopSignal(*signal)).or(heard.ending);
        if has_input && heard.ending.is_none() {
            heard.typed = vec![0; 4096];
            let read = match rustix::io::read(&stdin, &mut heard.typed[..]) {
                // The terminal is gone.
                Ok(0) | Err(Errno::IO) => {
                    heard.ending = Some(StopSignal(SIGHUP));
                    0
                }
                Ok(read) => read,
                Err(Errno::INTR | Errno::AGAIN) => 0,
                Err(error) => return Err(error).context("could not read the keyboard"),
            };
            heard.typed.truncate(read);
        }
        Ok(heard)
    }
}

// Handles interrupts of a command that works for hours: Ctrl-C once, or twice.
//
// The first Ctrl-C lets the current round finish, the second ends it at once; so do a closed
// terminal and SIGTERM. Each handler writes a byte, and the waiting loops poll for it.

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

    /// Waits until `until`, or until there is a request; true if there is none.
    pub fn wait_until(&self, until: Instant) -> bool {
        while self.asked() == InterruptRequest::Nothing {
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
        let until = until.min(Instant::now() + Duration::from_secs(3600));
        let ours = [&self.keyboard, &self.end, &self.child];
        let mut ends: Vec<PollFd<'_>> =
            ours.iter().map(|end| PollFd::new(*end, PollFlags::IN)).collect();
        ends.extend(others.iter().map(|other| PollFd::from_borrowed_fd(*other, PollFlags::IN)));
        // Interrupted by a signal, it says that nothing is readable: the next turn reads the signal's byte.
        if !poll_until(&mut ends, until).is_ok_and(|is_ready| is_ready) {
            return vec![false; others.len()];
        }
        count(&self.child);
        ends[ours.len()..].iter().map(|end| !end.revents().is_empty()).collect()
    }
}

/// A stream that receives one byte for each of these signals.
pub(crate) fn stream(signals: &[i32]) -> Result<UnixStream> {
    let caught = || -> std::io::Result<UnixStream> {
        let (read, write) = UnixStream::pair()?;
        read.set_nonblocking(true)?;
        for signal in signals {
            pipe::register(*signal, write.try_clone()?)?;
        }
        Ok(read)
    };
    caught().context("could not catch signals")
}

/// Counts the signals since the last call.
pub(crate) fn count(mut stream: &UnixStream) -> usize {
    let mut bytes = [0; 256];
    let mut n_signals = 0;
    while let Ok(read @ 1..) = stream.read(&mut bytes) {
        n_signals += read;
    }
    n_signals
}

// Waits for the user: for input on the terminal, for a change made from another one, or for
// Ctrl-C.

/// Why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitEnd {
    /// Standard input is readable: a line, or its end.
    Typed,
    /// A watched file has changed, or may have.
    Changed,
    /// Ctrl-C, or the terminal was closed.
    Interrupted,
}

/// Discards earlier keystrokes: nobody can agree to a question before seeing it.
pub fn forget_what_was_typed() {
    // Fails if standard input is not a terminal; then nobody has typed.
    let _ = tcflush(stdin(), QueueSelector::IFlush);
}

/// Waits for the next event. `types` says whether the user can type here.
///
/// # Errors
/// If the watch's events cannot be read.
pub fn wait(interrupts: &Interrupts, watch: &Watch, types: bool) -> Result<WaitEnd> {
    if interrupts.asked() != InterruptRequest::Nothing {
        return Ok(WaitEnd::Interrupted);
    }
    let input = stdin();
    let typed = types.then(|| input.as_fd());
    let ends: Vec<_> = typed.into_iter().chain(watch.as_fd()).collect();
    let ready = interrupts.wait(&ends, watch.look_before(Instant::now() + CHANGE_AGAIN));
    watch.take_change(true)?;
    Ok(match interrupts.asked() {
        InterruptRequest::Nothing if types && ready.first() == Some(&true) => WaitEnd::Typed,
        InterruptRequest::Nothing => WaitEnd::Changed,
        _ => WaitEnd::Interrupted,
    })
}
