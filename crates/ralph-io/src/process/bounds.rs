//! Runs a command within the bounds of its loop: bubblewrap on Linux, `sandbox-exec` on macOS.
//!
//! On Linux, `ralph supervise --inside` is the first process inside. It opens the listeners for the
//! proxy and the ports in the network of the sandbox and hands them out through its standard input,
//! a socket; Ralph accepts outside what was connected to inside. So nothing has to be bridged, and
//! the command can reach nothing but these listeners.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
mod proxy;

use crate::process::{programs, table};
use anyhow::{Context, Result, bail};
#[cfg(target_os = "linux")]
use linux as platform;
#[cfg(target_os = "macos")]
use macos as platform;
use ralph_core::state::Bounds;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use rustix::process::{Pid, WaitOptions, WaitStatus};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// A command that is about to run within bounds, and what has to be done after it.
#[derive(Debug)]
pub(crate) struct Bounded {
    /// The command line that starts everything.
    pub(crate) command: Command,
    /// Removed with everything that the command left in it.
    _temporary: tempfile::TempDir,
    /// The project's folder, locked together with the other commands in it.
    shared: std::fs::File,
    /// Folders that did not exist and stand there empty for the mounts.
    made: Vec<PathBuf>,
    /// Files that do not exist and that the command must not make.
    watched: Vec<PathBuf>,
    served: Option<Served>,
}

/// What the bounds did, besides what the command printed.
#[derive(Debug, Default)]
pub(crate) struct BoundsOutcome {
    /// What the command tried and did not get, each with its remedy.
    pub(crate) refused: Vec<String>,
    pub(crate) inside: Option<InsideReport>,
}

impl Bounded {
    /// Wraps a program. With the order for an overlay, the bounds are set up within it.
    ///
    /// # Errors
    /// If the bounds cannot be set up; the program must not run then.
    pub(crate) fn wrap(
        bounds: &Bounds,
        folder: &Path,
        elsewhere: Option<&Path>,
        program: &Path,
        arguments: &[&std::ffi::OsStr],
    ) -> Result<Bounded> {
        platform::wrap(bounds, folder, elsewhere, program, arguments)
    }

    /// Takes back what was made for the command and must not stay.
    pub(crate) fn finish(self) -> BoundsOutcome {
        let mut outcome = self.served.map(Served::finish).unwrap_or_default();
        for path in self.watched.iter().filter(|path| path.symlink_metadata().is_ok()) {
            let removed = std::fs::remove_file(path).or_else(|_| std::fs::remove_dir_all(path));
            let what = if removed.is_ok() { "removed" } else { "could not be removed" };
            outcome.refused.push(format!("it made `{}`, which was {what}", path.display()));
        }
        // Removing a folder would take the mount on it from another command that is running.
        if flock(&self.shared, FlockOperation::NonBlockingLockExclusive).is_err() {
            return outcome;
        }
        for folder in self.made.iter().rev() {
            // Only empty ones go: what anybody put there is not ours.
            let _ = std::fs::remove_dir(folder);
        }
        outcome
    }
}

/// Why the commands of a sandboxed loop cannot run here, with what to type; `None` if they can.
pub fn cannot_bound() -> Option<String> {
    let tool = platform::TOOL;
    let missing = programs::find_on_path(tool).is_none();
    missing.then(|| {
        format!(
            "could not find `{tool}`, within which the commands of this loop run; {}",
            platform::REMEDY
        )
    })
}

// The end of the socket that stays outside: gives the order, takes the listeners, and connects what
// the bounds allow.

/// At most so many ports: one message carries so many descriptors, with some to spare.
const MOST_PORTS: usize = 200;

#[cfg(target_os = "linux")]
const CLOSED_ON_EXEC: RecvFlags = RecvFlags::CMSG_CLOEXEC;
#[cfg(not(target_os = "linux"))]
const CLOSED_ON_EXEC: RecvFlags = RecvFlags::empty();

/// What the process inside is to do.
#[derive(Debug, Serialize, Deserialize)]
struct InsideOrder {
    program: Vec<u8>,
    arguments: Vec<Vec<u8>>,
    ports: Vec<u16>,
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
struct Listening {
    ports: Vec<u16>,
}

/// The thread that serves one command.
#[derive(Debug)]
struct Served {
    thread: JoinHandle<Option<InsideReport>>,
    refused: Arc<Mutex<Vec<String>>>,
}

impl Served {
    #[cfg_attr(target_os = "macos", allow(dead_code))]
    fn begin(
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
    fn begin_outside(listener: TcpListener, bounds: &Bounds) -> Served {
        let refused = Arc::new(Mutex::new(Vec::new()));
        let (told, bounds) = (Arc::clone(&refused), Arc::new(bounds.clone()));
        std::thread::spawn(move || proxy::serve(&listener, &bounds, &told));
        Served { thread: std::thread::spawn(|| None), refused }
    }

    /// Waits for the end of everything inside, which must be near.
    fn finish(self) -> BoundsOutcome {
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
    let got = recvmsg(socket, &mut [IoSliceMut::new(&mut bytes)], &mut ancillary, CLOSED_ON_EXEC)
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

// The first process inside the bounds: opens the listeners, starts the command, and reports how it
// ended and what it left.
//
// It is process 1 there, and the command, which runs as the same user, can neither inspect nor end
// it: it holds the socket to the outside and tells how the command ended. As process 1 it reaps
// what the command's processes leave.

/// The name of the first process within bounds.
pub(crate) const FIRST_PROCESS: &str = "ralph-bounds";

/// Both spellings: programs differ in which one they read.
const PROXIES: [&str; 8] = [
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "ftp_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "FTP_PROXY",
];
const WITHOUT_PROXY: &str = "localhost,127.0.0.1,::1";

/// Runs the order that standard input brings. Returns the exit code for this process.
///
/// # Errors
/// If nobody outside gave an order.
pub fn run_inside() -> Result<i32> {
    shield()?;
    let stdin = std::io::stdin().as_fd().try_clone_to_owned().context("there is no order")?;
    let mut socket = UnixStream::from(stdin);
    let mut line = String::new();
    let mut reader = BufReader::new(socket.try_clone().context("there is no order")?);
    reader.read_line(&mut line).context("could not read the order")?;
    let order: InsideOrder = serde_json::from_str(&line).context("could not read the order")?;
    let proxy = listen(&socket, &order.ports)?;
    if reader.read(&mut [0])? == 0 {
        bail!("nobody outside serves this command");
    }
    drop(reader);
    let report = start(&order, proxy);
    let code = report.code.unwrap_or_else(|| 128 + report.signal.unwrap_or_default());
    let mut answer = serde_json::to_vec(&report).context("could not write the report")?;
    answer.push(b'\n');
    socket.write_all(&answer).context("could not report the end")?;
    Ok(code)
}

/// Keeps the command from attaching to this process and from taking its descriptors, and gives it the
/// name by which a `ralph` inside knows where it is.
fn shield() -> Result<()> {
    #[cfg(target_os = "linux")]
    {
        std::fs::write("/proc/self/comm", FIRST_PROCESS)
            .context("could not name the first process")?;
        rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
            .context("could not shield the first process")?;
    }
    Ok(())
}

/// Opens the listeners and hands them out. Returns the proxy's port.
fn listen(socket: &UnixStream, ports: &[u16]) -> Result<u16> {
    let proxy = TcpListener::bind("127.0.0.1:0").context("could not listen inside")?;
    let number = proxy.local_addr().context("could not listen inside")?.port();
    let mut listening = Listening { ports: Vec::new() };
    let mut listeners = vec![proxy];
    for port in ports {
        let listener = TcpListener::bind(("127.0.0.1", *port));
        listeners.push(listener.with_context(|| format!("could not listen on port {port}"))?);
        listening.ports.push(*port);
    }
    let fds: Vec<BorrowedFd<'_>> = listeners.iter().map(AsFd::as_fd).collect();
    let mut space = vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(253))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(&fds)) {
        bail!("too many ports");
    }
    let bytes = serde_json::to_vec(&listening).context("could not name the listeners")?;
    sendmsg(socket, &[IoSlice::new(&bytes)], &mut ancillary, SendFlags::empty())
        .context("could not hand out the listeners")?;
    Ok(number)
}

fn start(order: &InsideOrder, proxy: u16) -> InsideReport {
    let mut command = Command::new(OsStr::from_bytes(&order.program));
    command.args(order.arguments.iter().map(|one| OsStr::from_bytes(one))).stdin(Stdio::null());
    use_proxy(&mut command, proxy);
    match command.spawn().and_then(|child| wait(&child)) {
        Ok(status) => report(status),
        Err(error) => InsideReport {
            code: Some(127),
            problem: format!("could not start it within the bounds: {error}"),
            ..InsideReport::default()
        },
    }
}

/// Waits for the command, and reaps the orphans that end before it.
fn wait(command: &Child) -> std::io::Result<WaitStatus> {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == Pid::from_child(command) => return Ok(status),
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Tells a program of the proxy.
fn use_proxy(command: &mut Command, port: u16) {
    let url = format!("http://127.0.0.1:{port}");
    command.envs(PROXIES.map(|name| (name, url.as_str())));
    command.envs(["no_proxy", "NO_PROXY"].map(|name| (name, WITHOUT_PROXY)));
}

fn report(status: WaitStatus) -> InsideReport {
    let (code, signal) = (status.exit_status(), status.terminating_signal());
    InsideReport { code, signal, left: left(), problem: String::new() }
}

/// The living processes inside, without this one. The names of the command's own making are cleaned
/// where they are shown.
fn left() -> Vec<String> {
    let rows = table::proc::rows().into_iter().filter(|row| row.pid != 1 && !row.has_ended);
    rows.map(|row| row.name).take(20).collect()
}
