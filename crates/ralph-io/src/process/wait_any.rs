//! Waits for whatever comes first: a key, a change of files, a signal, or a time.
//!
//! Signals only write a byte each, so that whoever holds the terminal gives it back before it ends or
//! rests; then [`StopSignal::carry_out`] does what the signal would have done.

use crate::process::command::signals::{count, stream};
use crate::process::watch::Watch;
use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use signal_hook::consts::signal::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGWINCH};
use signal_hook::low_level::emulate_default_handler;
use std::os::unix::net::UnixStream;
use std::time::Instant;

/// Signals to this process, caught for as long as it lives.
#[derive(Debug)]
pub struct Attention {
    ends: Vec<(i32, UnixStream)>,
    rests: UnixStream,
    /// The size has changed, or somebody else had the terminal.
    redraw: UnixStream,
}

/// What came.
#[derive(Debug, Default)]
pub struct Wakeup {
    /// What was typed.
    pub typed: Vec<u8>,
    /// Something that is watched has changed.
    pub changed: bool,
    /// All has to be drawn anew.
    pub redraw: bool,
    /// We are to rest, or to end.
    pub ending: Option<StopSignal>,
}

/// A signal that stops this process, for a while or for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopSignal(i32);

impl StopSignal {
    /// To rest until somebody continues us.
    pub const REST: StopSignal = StopSignal(SIGTSTP);

    /// True where the process goes on after it.
    pub fn is_rest(self) -> bool {
        self == StopSignal::REST
    }

    /// What the signal does where nobody catches it; returns when the process goes on.
    pub fn carry_out(self) {
        // A process that cannot even end by it ends at the end of its command.
        let _ = emulate_default_handler(self.0);
    }
}

impl Attention {
    /// From now on none of these signals does anything by itself.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn catch() -> Result<Attention> {
        let mut ends = Vec::new();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            ends.push((signal, stream(&[signal])?));
        }
        Ok(Attention { ends, rests: stream(&[SIGTSTP])?, redraw: stream(&[SIGWINCH, SIGCONT])? })
    }

    /// Waits.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn wait(&self, watch: &Watch, until: Instant) -> Result<Wakeup> {
        let left = until.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).context("could not wait so long")?;
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
        let (has_input, changed) =
            (!ready[0].revents().is_empty(), at > 1 && !ready[1].revents().is_empty());
        let mut heard = Wakeup { changed, ..Wakeup::default() };
        if changed {
            watch.forget()?;
        }
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
