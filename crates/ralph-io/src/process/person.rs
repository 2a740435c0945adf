//! Waits for a person: a line at the terminal, a word in another one, or Ctrl-C.

use crate::process::interrupts::{InterruptRequest, Interrupts};
use crate::process::watch::Watch;
use anyhow::Result;
use rustix::termios::{QueueSelector, tcflush};
use std::io::stdin;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// What a wait has ended with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitEnd {
    /// Something stands at standard input: a line, or its end.
    Typed,
    /// Something that is watched has changed; or may have.
    Changed,
    /// Ctrl-C, or the end of the terminal.
    Interrupted,
}

/// Between two looks where the system cannot tell of changes, and after the machine has slept.
const AGAIN: Duration = Duration::from_secs(60);

/// Forgets what was typed before: nobody agrees to what they have not seen.
pub fn forget_what_was_typed() {
    // Standard input is no terminal: then nobody has typed.
    let _ = tcflush(stdin(), QueueSelector::IFlush);
}

/// Waits, as long as it takes. `types` says whether somebody can type.
///
/// # Errors
/// When what has changed cannot be read.
pub fn wait(interrupts: &Interrupts, watch: &Watch, types: bool) -> Result<WaitEnd> {
    if interrupts.asked() != InterruptRequest::Nothing {
        return Ok(WaitEnd::Interrupted);
    }
    let input = stdin();
    let typed = types.then(|| input.as_fd());
    let ready = interrupts
        .wait(&typed.into_iter().chain(watch.as_fd()).collect::<Vec<_>>(), Instant::now() + AGAIN);
    watch.forget()?;
    Ok(match interrupts.asked() {
        InterruptRequest::Nothing if types && ready.first() == Some(&true) => WaitEnd::Typed,
        InterruptRequest::Nothing => WaitEnd::Changed,
        _ => WaitEnd::Interrupted,
    })
}
