//! Signals as something to poll for, beside pipes.
//!
//! A handler writes one byte; everything else happens in the loop that reads it.

use anyhow::{Context, Result};
use signal_hook::consts::signal::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe;
use std::io::Read;
use std::os::unix::net::UnixStream;

/// What a supervisor listens to.
pub(super) struct Signals {
    /// A child ended.
    pub(super) child: UnixStream,
    /// We are to end.
    pub(super) stop: UnixStream,
}

impl Signals {
    /// From now on these signals do nothing but make a stream readable.
    pub(super) fn catch() -> Result<Signals> {
        Ok(Signals { child: stream(&[SIGCHLD])?, stop: stream(&[SIGTERM, SIGINT, SIGHUP])? })
    }
}

/// A stream that gets a byte for each of these signals.
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

/// Takes what has arrived, so that the stream is readable again at the next signal only.
pub(crate) fn clear(stream: &UnixStream) {
    let _ = count(stream);
}

/// How many signals have arrived since the last time.
pub(crate) fn count(mut stream: &UnixStream) -> usize {
    let mut bytes = [0; 256];
    let mut n_signals = 0;
    while let Ok(read @ 1..) = stream.read(&mut bytes) {
        n_signals += read;
    }
    n_signals
}
