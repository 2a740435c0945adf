//! Waits for the user: for input on the terminal, for a change made from another one, or for
//! Ctrl-C.

use crate::process::interrupts::{InterruptRequest, Interrupts};
use crate::process::watch::Watch;
use anyhow::Result;
use rustix::termios::{QueueSelector, tcflush};
use std::io::stdin;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

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

/// The longest single wait: for systems that report no file changes, and for changes while the
/// machine slept.
const AGAIN: Duration = Duration::from_secs(60);

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
    let ready = interrupts.wait(&ends, watch.look_before(Instant::now() + AGAIN));
    watch.take_change(true)?;
    Ok(match interrupts.asked() {
        InterruptRequest::Nothing if types && ready.first() == Some(&true) => WaitEnd::Typed,
        InterruptRequest::Nothing => WaitEnd::Changed,
        _ => WaitEnd::Interrupted,
    })
}
