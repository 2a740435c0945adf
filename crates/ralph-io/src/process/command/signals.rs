//! Makes signals pollable, like pipes.
//!
//! A handler writes one byte; everything else happens in the loop that reads it.

use anyhow::{Context, Result};
use signal_hook::consts::signal::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe;
use std::io::Read;
use std::os::unix::net::UnixStream;

/// The signals that a supervisor handles.
pub(super) struct Signals {
    /// Readable when a child has ended.
    pub(super) child: UnixStream,
    /// Readable when we must end.
    pub(super) stop: UnixStream,
}

impl Signals {
    /// Catches the signals: from now on they only make a stream readable.
    pub(super) fn catch() -> Result<Signals> {
        Ok(Signals { child: stream(&[SIGCHLD])?, stop: stream(&[SIGTERM, SIGINT, SIGHUP])? })
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

/// Empties the stream, so that only the next signal makes it readable again.
pub(crate) fn clear(stream: &UnixStream) {
    let _ = count(stream);
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
