//! Ends what a killed client of a sandboxed round has left behind.
//!
//! A client that SIGKILL ends leaves its `socat` (measured with 2.1.328). The `ralph` above it finds
//! that by descent; if SIGKILL has ended that too, only the environment and the working folder show
//! where the process comes from.

use super::ancestry::is_client_line;
use super::table::{self, CommandLine, ProcessTable};
use crate::client::SANDBOXED;
use ralph_core::protocol::registration::COMMAND_LINE;
use std::path::Path;

/// More ancestors than any process has.
const MOST: usize = 64;

/// Ends every process of a client in this folder that neither a client nor a `ralph` is above.
/// Returns their names.
pub fn end_in(folder: &Path) -> Vec<String> {
    let Some(table) = ProcessTable::read() else { return Vec::new() };
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let Some(user) = table.own().and_then(|own| table.user(own)) else { return Vec::new() };
    let mut rows = table.rows();
    rows.retain(|row| table.user(row.pid) == Some(user) && is_stray(&table, row.pid, &folder));
    rows.retain(|row| end(&table, row.pid, &folder));
    rows.into_iter().map(|row| row.name).collect()
}

fn is_stray(table: &ProcessTable, pid: u32, folder: &Path) -> bool {
    let is_here = table::working_folder(pid).is_some_and(|place| place.starts_with(folder));
    let is_marked = |line: &CommandLine| {
        let mut variables = line.environment.split('\0');
        variables.any(|entry| entry.split('=').next() == Some(SANDBOXED))
    };
    is_here && table.command_lines(&[pid]).iter().any(is_marked) && is_orphan(table, pid)
}

/// True if neither it nor a process above it is a client or a `ralph`.
fn is_orphan(table: &ProcessTable, pid: u32) -> bool {
    let is_ours =
        |line: &CommandLine| is_client_line(line) || line.executable.ends_with(COMMAND_LINE);
    let mut pid = pid;
    for _ in 0..MOST {
        if table.command_lines(&[pid]).iter().any(is_ours) {
            return false;
        }
        match table.row(pid).map(|row| row.parent) {
            Some(0) | None => return true,
            Some(parent) => pid = parent,
        }
    }
    false
}

/// Only `/proc` shows strays.
#[cfg(not(target_os = "linux"))]
fn end(_: &ProcessTable, _: u32, _: &Path) -> bool {
    false
}

/// The number may have been given to another process, so it is judged again once it is held.
#[cfg(target_os = "linux")]
fn end(table: &ProcessTable, pid: u32, folder: &Path) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
    /// How long a process may take to end after each signal.
    const PATIENCE: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let Some((pid, held)) =
        pid.and_then(|pid| Some((pid, pidfd_open(pid, PidfdFlags::empty()).ok()?)))
    else {
        return false;
    };
    if !is_stray(table, pid.as_raw_nonzero().get().unsigned_abs(), folder) {
        return false;
    }
    for signal in [Signal::TERM, Signal::KILL] {
        if pidfd_send_signal(&held, signal).is_err() {
            break;
        }
        let mut ends = [PollFd::new(&held, PollFlags::IN)];
        if poll(&mut ends, Some(&PATIENCE)).is_ok_and(|ready| ready > 0) {
            break;
        }
    }
    true
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use rustix::process::{Pid, Signal};
    use std::fs;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    /// The number of a `sleep` whose parent has ended.
    fn orphan(folder: &Path, marked: bool) -> u32 {
        let mut shell = Command::new("sh");
        shell.args(["-c", "setsid sleep 600 >/dev/null 2>&1 & echo $!"]).current_dir(folder);
        if marked {
            shell.env(SANDBOXED, "1");
        }
        let printed = shell.stdin(Stdio::null()).output().unwrap().stdout;
        let pid = String::from_utf8(printed).unwrap().trim().parse().unwrap();
        let until = Instant::now() + Duration::from_secs(60);
        // Until then it runs the program before.
        while !is_alive(pid) {
            assert!(Instant::now() < until, "it has not begun");
            std::thread::yield_now();
        }
        pid
    }

    fn is_alive(pid: u32) -> bool {
        fs::read_to_string(format!("/proc/{pid}/stat"))
            .is_ok_and(|stat| stat.contains("(sleep)") && !stat.contains(") Z "))
    }

    #[test]
    fn only_what_a_sandboxed_client_left_in_this_folder_is_ended() {
        let [here, elsewhere] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let stray = orphan(here.path(), true);
        let others = [orphan(here.path(), false), orphan(elsewhere.path(), true)];
        assert_eq!(end_in(here.path()), ["sleep"]);
        assert!(!is_alive(stray));
        assert!(others.iter().all(|pid| is_alive(*pid)));
        assert_eq!(end_in(here.path()), [""; 0]);
        for pid in others {
            let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
            rustix::process::kill_process(pid, Signal::KILL).unwrap();
        }
    }
}
