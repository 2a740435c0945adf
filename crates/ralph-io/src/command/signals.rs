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

fn stream(signals: &[i32]) -> Result<UnixStream> {
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
pub(super) fn clear(mut stream: &UnixStream) {
    let mut bytes = [0; 256];
    while stream.read(&mut bytes).is_ok_and(|read| read > 0) {}
}
