//! Starts, captures, attaches and ends tmux sessions.
//!
//! A tmux session has the environment of tmux's server, which may be days old or another user's. So
//! the program started there connects to a socket for its order, and receives the environment and
//! the command line of the caller. Neither is written to disk or visible in a list of processes.

use crate::{git::scratch, process, process::programs};
use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// tmux answers at once or not at all.
const DEADLINE: Duration = Duration::from_secs(10);

/// Enough for several screens.
const MOST_PRINTED: usize = 4 << 20;

/// The tmux option of a session that names its owner.
const OWNER: &str = "@ralph_owner";

#[derive(Debug, Clone)]
pub struct Tmux {
    program: PathBuf,
}

/// The error for a missing tmux.
#[derive(Debug)]
pub struct TmuxMissing;

impl fmt::Display for TmuxMissing {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("could not find `tmux`; install it")
    }
}

impl std::error::Error for TmuxMissing {}

/// A command to run in a new tmux session.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// The session's name; [`is_name`] must accept it.
    pub name: &'a str,
    /// The owner: a session with another owner is never listed.
    pub owner: &'a str,
    /// The working folder.
    pub folder: &'a Path,
    /// The program that fetches the order, with its arguments; the socket is appended as the last
    /// one.
    pub taker: &'a [&'a OsStr],
    /// The command that the program then executes.
    pub command: &'a [OsString],
}

/// What goes over the socket.
#[derive(Debug, Serialize, Deserialize)]
struct TmuxOrder {
    command: Vec<Vec<u8>>,
    environment: BTreeMap<String, Vec<u8>>,
}

/// True for a name that tmux keeps as it is. It would change other names, or read them as a
/// pattern.
pub fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

impl Tmux {
    /// Finds `tmux` on `PATH`.
    pub fn find() -> Result<Tmux, TmuxMissing> {
        programs::find_on_path("tmux").map(|program| Tmux { program }).ok_or(TmuxMissing)
    }

    /// Lists the tmux sessions of an owner.
    pub fn list(&self, owner: &str) -> Result<Vec<String>> {
        let format = format!("#{{session_name}}\t#{{{OWNER}}}");
        let Some(listed) = self.ask(&["list-sessions", "-F", &format])? else {
            return Ok(Vec::new());
        };
        let rows = listed.lines().filter_map(|row| row.split_once('\t'));
        Ok(rows.filter(|(_, whose)| *whose == owner).map(|(name, _)| name.to_owned()).collect())
    }

    /// Starts a tmux session, and returns once the program in it has its order.
    ///
    /// # Errors
    /// If a session of this name exists, or the session does not come up.
    pub fn start(&self, job: &Job<'_>) -> Result<()> {
        let place = scratch::Scratch::new()?;
        let socket = place.path("order");
        let listener = UnixListener::bind(&socket)
            .with_context(|| format!("could not listen at `{}`", socket.display()))?;
        let mut command = Command::new(&self.program);
        command
            .args(["-u", "new-session", "-d", "-s", job.name, "-c"])
            .arg(job.folder)
            .args(job.taker);
        command.arg(&socket).args([
            ";",
            "set-option",
            "-t",
            &format!("={}:", job.name),
            OWNER,
            job.owner,
        ]);
        let done = self.run(&mut command)?;
        if let Err(words) = done {
            bail!("could not start the tmux session `{}`: {words}", job.name);
        }
        hand_over(&listener, job.command)
            .with_context(|| format!("the tmux session `{}` did not come up", job.name))
    }

    /// Captures what a tmux session shows now.
    ///
    /// # Errors
    /// If tmux does not answer, or the session has just ended.
    pub fn peek(&self, name: &str) -> Result<String> {
        let shown = self.ask(&["capture-pane", "-p", "-t", &format!("={name}:")])?;
        shown.with_context(|| format!("the tmux session `{name}` has just ended"))
    }

    /// Replaces this process by a tmux that shows the session; returns only on failure.
    pub fn attach(&self, name: &str) -> anyhow::Error {
        let inside = std::env::var_os("TMUX").is_some_and(|value| !value.is_empty());
        let word = if inside { "switch-client" } else { "attach-session" };
        let error =
            Command::new(&self.program).args(["-u", word, "-t", &format!("={name}")]).exec();
        anyhow::Error::from(error).context("could not start `tmux`")
    }

    /// Sends SIGTERM to the program in a tmux session, and kills the session if it outlives `grace`.
    pub fn end(&self, name: &str, grace: Duration) -> Result<()> {
        let target = format!("={name}:");
        let pid = self.ask(&["display-message", "-p", "-t", &target, "#{pane_pid}"])?;
        let pid = pid.and_then(|pid| pid.trim().parse().ok()).and_then(Pid::from_raw);
        if let Some(pid) = pid {
            let _ = rustix::process::kill_process(pid, Signal::TERM);
        }
        let until = Instant::now() + grace;
        while self.is_there(name)? {
            if Instant::now() >= until {
                self.ask(&["kill-session", "-t", &format!("={name}")])?;
                break;
            }
            // tmux does not notify anyone when a session ends, so poll.
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    fn is_there(&self, name: &str) -> Result<bool> {
        Ok(self.ask(&["has-session", "-t", &format!("={name}")])?.is_some())
    }

    /// Runs tmux and returns its output, or `None` if it fails.
    fn ask(&self, arguments: &[&str]) -> Result<Option<String>> {
        Ok(self.run(Command::new(&self.program).arg("-u").args(arguments))?.ok())
    }

    fn run(&self, command: &mut Command) -> Result<std::result::Result<String, String>> {
        let mut words = scratch::nameless_file()?;
        command.stdin(std::process::Stdio::null());
        command.stderr(words.try_clone().context("could not share a file")?);
        let running = process::start_as_given(command)?;
        let finished = running.finish(Instant::now() + DEADLINE, MOST_PRINTED)?;
        Ok(match finished.status.success() {
            true => Ok(String::from_utf8_lossy(&finished.stdout).into_owned()),
            false => Err(scratch::words_in(&mut words, 4096).trim().to_owned()),
        })
    }
}

fn hand_over(listener: &UnixListener, command: &[OsString]) -> Result<()> {
    let order = TmuxOrder {
        command: command.iter().map(|word| word.as_bytes().to_vec()).collect(),
        environment: std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_vec())))
            .collect(),
    };
    let mut stream = accept(listener)?;
    stream.set_write_timeout(Some(DEADLINE)).context("could not set a deadline")?;
    let order = serde_json::to_vec(&order).context("could not write the order")?;
    stream.write_all(&order).context("could not send the order")
}

/// Waits until the deadline for the program in the session to connect.
fn accept(listener: &UnixListener) -> Result<UnixStream> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let until = Instant::now() + DEADLINE;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).unwrap_or_default();
        match poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&left)) {
            Ok(0) => bail!("no process read the order"),
            Ok(_) => return Ok(listener.accept().context("could not send the order")?.0),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error).context("could not wait"),
        }
    }
}

/// Fetches the order at this socket and executes it; returns only on failure.
pub fn take_order(socket: &Path) -> anyhow::Error {
    let error = fetch(socket).map(|mut command| command.exec());
    error.map_or_else(
        |error| error,
        |error| anyhow::Error::from(error).context("could not start the ordered command"),
    )
}

fn fetch(socket: &Path) -> Result<Command> {
    let mut stream = UnixStream::connect(socket)
        .with_context(|| format!("could not read the order at `{}`", socket.display()))?;
    let mut bytes = Vec::new();
    match stream.set_read_timeout(Some(DEADLINE)).and_then(|()| stream.read_to_end(&mut bytes)) {
        Err(error) if error.kind() != ErrorKind::Interrupted => {
            return Err(error).context("could not read the order");
        }
        _ => {}
    }
    let order: TmuxOrder = serde_json::from_slice(&bytes).context("could not read the order")?;
    let mut words = order.command.into_iter().map(OsString::from_vec);
    let program = words.next().context("the order is empty")?;
    let mut command = Command::new(program);
    command.args(words).env_clear();
    // The terminal's variables come from tmux, which knows the terminal better.
    let of_terminal = |name: &str| ["TERM", "TMUX", "TMUX_PANE", "COLORTERM"].contains(&name);
    for (name, value) in order.environment {
        if !of_terminal(&name) {
            command.env(name, OsString::from_vec(value));
        }
    }
    command.envs(std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(of_terminal)));
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_tmux_would_change_is_none() {
        for name in ["refine-api", "a_b", "X9"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "a.b", "a:b", "a b", "a|b", "=a", "é", "a*"] {
            assert!(!is_name(name), "{name}");
        }
    }
}
