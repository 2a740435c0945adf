//! The end of the socket that stays outside: gives the order, takes the listeners, and connects what
//! the bounds allow.

use super::BoundsOutcome;
use super::proxy;
use anyhow::{Context, Result};
use ralph_core::state::Bounds;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, IoSliceMut, Write};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// At most so many ports: one message carries so many descriptors, with some to spare.
pub(super) const MOST_PORTS: usize = 200;

/// What the process inside is to do.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct InsideOrder {
    pub(super) program: Vec<u8>,
    pub(super) arguments: Vec<Vec<u8>>,
    pub(super) ports: Vec<u16>,
}

/// How the command ended inside.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InsideReport {
    /// Its exit code; `None` if a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    /// Names of the processes that it left.
    pub(crate) left: Vec<String>,
    /// Why it could not be started.
    #[serde(default)]
    pub(crate) problem: String,
}

/// The first message from inside: which ports the listeners have, the proxy's not named.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Listening {
    pub(super) ports: Vec<u16>,
}

/// The thread that serves one command.
#[derive(Debug)]
pub(super) struct Served {
    thread: JoinHandle<Option<InsideReport>>,
    refused: Arc<Mutex<Vec<String>>>,
}

impl Served {
    pub(super) fn begin(
        socket: UnixStream,
        bounds: &Bounds,
        program: &Path,
        arguments: &[&OsStr],
    ) -> Result<Served> {
        let ports = bounds.ports.iter().filter_map(|port| u16::try_from(*port).ok());
        let order = InsideOrder {
            program: program.as_os_str().as_bytes().to_vec(),
            arguments: arguments.iter().map(|one| one.as_bytes().to_vec()).collect(),
            ports: ports.take(MOST_PORTS).collect(),
        };
        let order = serde_json::to_vec(&order).context("could not write the order")?;
        let refused = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&refused);
        let bounds = Arc::new(bounds.clone());
        let thread = std::thread::spawn(move || serve(socket, order, &bounds, &told));
        Ok(Served { thread, refused })
    }

    /// Serves a proxy whose listener is outside, where the platform has no network inside.
    #[cfg(target_os = "macos")]
    pub(super) fn begin_outside(listener: TcpListener, bounds: &Bounds) -> Served {
        let refused = Arc::new(Mutex::new(Vec::new()));
        let (told, bounds) = (Arc::clone(&refused), Arc::new(bounds.clone()));
        std::thread::spawn(move || proxy::serve(&listener, &bounds, &told));
        Served { thread: std::thread::spawn(|| None), refused }
    }

    /// Waits for the end of everything inside, which must be near.
    pub(super) fn finish(self) -> BoundsOutcome {
        let inside = self.thread.join().ok().flatten();
        let refused = self.refused.lock().map(|all| all.clone()).unwrap_or_default();
        BoundsOutcome { refused, inside }
    }
}

fn serve(
    mut socket: UnixStream,
    mut order: Vec<u8>,
    bounds: &Arc<Bounds>,
    refused: &Arc<Mutex<Vec<String>>>,
) -> Option<InsideReport> {
    order.push(b'\n');
    socket.write_all(&order).ok()?;
    let (listening, listeners) = receive(&socket).ok()?;
    let mut listeners = listeners.into_iter().map(TcpListener::from);
    if let Some(listener) = listeners.next() {
        let (bounds, refused) = (Arc::clone(bounds), Arc::clone(refused));
        std::thread::spawn(move || proxy::serve(&listener, &bounds, &refused));
    }
    for (port, listener) in listening.ports.into_iter().zip(listeners) {
        std::thread::spawn(move || proxy::forward(&listener, port));
    }
    // The command may begin only now.
    socket.write_all(b"\n").ok()?;
    let mut line = String::new();
    BufReader::new(socket).read_line(&mut line).ok()?;
    serde_json::from_str(&line).ok()
}

/// Receives the listeners.
fn receive(socket: &UnixStream) -> Result<(Listening, Vec<OwnedFd>)> {
    let mut space = vec![std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(253))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut bytes = [0; 4096];
    let got = recvmsg(
        socket,
        &mut [IoSliceMut::new(&mut bytes)],
        &mut ancillary,
        RecvFlags::CMSG_CLOEXEC,
    )
    .context("could not receive the listeners")?;
    let mut fds = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(these) = message {
            fds.extend(these);
        }
    }
    let listening = serde_json::from_slice(&bytes[..got.bytes]).context("no listeners came")?;
    Ok((listening, fds))
}
