//! Waits for whatever comes first: a key, a file change, a signal, or a time.
//!
//! A signal handler only writes a byte, so the owner of the terminal can restore it before the
//! process ends or is suspended; then [`StopSignal::carry_out`] does what the signal would have
//! done.

use crate::process::command::signals::{count, stream};
use crate::process::watch::Watch;
use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use signal_hook::consts::signal::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGWINCH};
use signal_hook::low_level::emulate_default_handler;
use std::os::unix::net::UnixStream;
use std::time::Instant;

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
        let left = until.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).context("could not wait that long")?;
        let stdin = std::io::stdin();
        let mut ready = vec![PollFd::new(&stdin, PollFlags::IN)];
        ready.extend(watch.as_fd().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        let at = ready.len();
        let ends = self.ends.iter().map(|(_, end)| end);
        ready.extend(
            ends.chain([&self.rests, &self.redraw]).map(|end| PollFd::new(end, PollFlags::IN)),
        );
        match poll(&mut ready, Some(&left)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error).context("could not wait"),
        }
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
