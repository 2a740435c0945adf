//! The listener before a server: passes bytes on, unless it was told to harm them.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// What happens to connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Everything passes.
    Pass,
    /// The server is gone: connections close at once, and open ones at their next byte.
    Refuse,
    /// Connections stay open and nothing arrives any more. One that has become silent stays so.
    Silent,
    /// Connections break when clients have sent so many bytes in all.
    CutClient(u64),
    /// Connections break when the server has sent so many bytes in all.
    CutServer(u64),
}

/// What has passed so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Traffic {
    pub connections: u64,
    /// Bytes from clients.
    pub sent: u64,
    /// Bytes to clients.
    pub received: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    Client,
    Server,
}

/// Listens until it is dropped.
pub(super) struct Front {
    port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    fault: Mutex<Fault>,
    is_closed: AtomicBool,
    connections: AtomicU64,
    sent: AtomicU64,
    received: AtomicU64,
}

impl Front {
    /// Starts `serve` in a thread of its own for each connection; the connection ends with it.
    pub(super) fn before(serve: impl Fn(UnixStream) + Send + Sync + 'static) -> Front {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            fault: Mutex::new(Fault::Pass),
            is_closed: AtomicBool::new(false),
            connections: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
        });
        let (front, serve) = (Front { port, shared: Arc::clone(&shared) }, Arc::new(serve));
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if shared.is_closed.load(Ordering::Relaxed) {
                    return;
                }
                if shared.fault() == Fault::Refuse {
                    continue;
                }
                shared.connections.fetch_add(1, Ordering::Relaxed);
                let (server, theirs) = UnixStream::pair().unwrap();
                let serve = Arc::clone(&serve);
                thread::spawn(move || serve(theirs));
                connect(client, server, &shared);
            }
        });
        front
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn set(&self, fault: Fault) {
        *self.shared.fault.lock().unwrap() = fault;
    }

    pub(super) fn traffic(&self) -> Traffic {
        let Shared { connections, sent, received, .. } = &*self.shared;
        Traffic {
            connections: connections.load(Ordering::Relaxed),
            sent: sent.load(Ordering::Relaxed),
            received: received.load(Ordering::Relaxed),
        }
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        self.shared.is_closed.store(true, Ordering::Relaxed);
        // What is open breaks at its next byte, and the listener wakes up.
        self.set(Fault::Refuse);
        drop(TcpStream::connect(("127.0.0.1", self.port)));
    }
}

impl Shared {
    fn fault(&self) -> Fault {
        *self.fault.lock().unwrap()
    }

    /// How many of `read` bytes may pass.
    fn pass(&self, from: From, read: usize) -> usize {
        let mut fault = self.fault.lock().unwrap();
        let passed = match &mut *fault {
            Fault::CutClient(left) if from == From::Client => take(left, read),
            Fault::CutServer(left) if from == From::Server => take(left, read),
            Fault::Refuse => 0,
            _ => read,
        };
        let counter = if from == From::Client { &self.sent } else { &self.received };
        counter.fetch_add(passed as u64, Ordering::Relaxed);
        passed
    }
}

fn take(left: &mut u64, read: usize) -> usize {
    let taken = read.min(usize::try_from(*left).unwrap_or(usize::MAX));
    *left -= taken as u64;
    taken
}

/// Passes bytes in both directions, each in a thread.
fn connect(client: TcpStream, server: UnixStream, shared: &Arc<Shared>) {
    let is_silent = Arc::new(AtomicBool::new(false));
    for from in [From::Client, From::Server] {
        let (client, server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        let (shared, is_silent) = (Arc::clone(shared), Arc::clone(&is_silent));
        thread::spawn(move || match from {
            From::Client => {
                if pump(&client, &server, from, &shared, &is_silent) {
                    drop(server.shutdown(Shutdown::Write));
                } else {
                    cut(&client, &server);
                }
            }
            From::Server => {
                let has_ended = pump(&server, &client, from, &shared, &is_silent);
                if is_silent.load(Ordering::Relaxed) {
                    // The client does not learn that its server has ended.
                } else if has_ended {
                    drop(client.shutdown(Shutdown::Write));
                } else {
                    cut(&client, &server);
                }
            }
        });
    }
}

fn cut(client: &TcpStream, server: &UnixStream) {
    drop((client.shutdown(Shutdown::Both), server.shutdown(Shutdown::Both)));
}

/// Passes bytes on until the sender ends; false if the connection breaks.
fn pump(
    mut from: impl Read,
    mut to: impl Write,
    side: From,
    shared: &Shared,
    is_silent: &AtomicBool,
) -> bool {
    let mut buffer = vec![0; 1 << 14];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        if shared.fault() == Fault::Silent {
            is_silent.store(true, Ordering::Relaxed);
        }
        if is_silent.load(Ordering::Relaxed) {
            continue;
        }
        let passed = shared.pass(side, read);
        if to.write_all(&buffer[..passed]).is_err() || passed < read {
            return false;
        }
    }
    true
}
