//! The first process inside the bounds: opens the listeners, starts the command, and reports how it
//! ended and what it left.
//!
//! It is process 1 there, and the command, which runs as the same user, can neither inspect nor end
//! it: it holds the socket to the outside and tells how the command ended. As process 1 it reaps
//! what the command's processes leave.

use super::serve::{InsideOrder, InsideReport, Listening};
use anyhow::{Context, Result, bail};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{Pid, WaitOptions, WaitStatus};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

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
pub fn run() -> Result<i32> {
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
pub(super) fn use_proxy(command: &mut Command, port: u16) {
    let url = format!("http://127.0.0.1:{port}");
    command.envs(PROXIES.map(|name| (name, url.as_str())));
    command.envs(["no_proxy", "NO_PROXY"].map(|name| (name, WITHOUT_PROXY)));
}

fn report(status: WaitStatus) -> InsideReport {
    let left = left().unwrap_or_default();
    let (code, signal) = (status.exit_status(), status.terminating_signal());
    InsideReport { code, signal, left, problem: String::new() }
}

/// The living processes inside, without this one. The names of the command's own making are cleaned
/// where they are shown.
fn left() -> Option<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir("/proc").ok()?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        let Some((name, rest)) = stat.split_once(" (").and_then(|(_, rest)| rest.rsplit_once(") "))
        else {
            continue;
        };
        if pid != 1 && !rest.starts_with(['Z', 'X']) {
            names.push(name.to_owned());
        }
    }
    names.truncate(20);
    Some(names)
}
