//! Finds what is left running in the client's sandbox, by a command or by a client that was killed.

use super::ancestry::is_client_line;
use super::table::{self, CommandLine, ProcessRow, ProcessTable};
use crate::client::SANDBOXED;
use crate::process::waits::{LEFT_AGAIN, LEFT_PATIENCE};
use ralph_core::protocol::registration::COMMAND_LINE;
use std::path::Path;
use std::time::Instant;

/// The names of the processes that the shell which started this one leaves running, each once, without
/// those that ran before its command.
pub fn names(before: &[u32]) -> Vec<String> {
    let began = Instant::now();
    loop {
        let names = now(before);
        if names.is_empty() || began.elapsed() >= LEFT_PATIENCE {
            return names;
        }
        std::thread::sleep(LEFT_AGAIN);
    }
}

fn now(before: &[u32]) -> Vec<String> {
    let Some(table) = ProcessTable::read() else { return Vec::new() };
    let own = table.own().unwrap_or_default();
    let rows = table.rows();
    let left = left_by_shell(&rows, own).filter(|row| !before.contains(&row.pid));
    let mut names: Vec<String> = left.map(|row| row.name.clone()).collect();
    names.sort();
    names.dedup();
    names
}

/// The children of the shell above the process `own`, and the orphans, which belong to the process
/// above the shell: the first one of the command's own process numbers.
fn left_by_shell(rows: &[ProcessRow], own: u32) -> impl Iterator<Item = &ProcessRow> {
    let parent = |pid: u32| rows.iter().find(|row| row.pid == pid).map(|row| row.parent);
    let shell = parent(own);
    let first = shell.and_then(parent);
    rows.iter()
        .filter(move |row| shell == Some(row.parent) || first == Some(row.parent))
        .filter(move |row| row.pid != own && Some(row.pid) != shell && !row.has_ended)
}

// Ends what a killed client of a sandboxed round has left behind.
//
// A client that SIGKILL ends leaves its `socat` (measured with 2.1.328). The `ralph` above it finds
// that by descent; if SIGKILL has ended that too, only the environment and the working folder show
// where the process comes from.

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
    const LEFT_PATIENCE: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };
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
        if poll(&mut ends, Some(&LEFT_PATIENCE)).is_ok_and(|ready| ready > 0) {
            break;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(pid: u32, parent: u32, name: &str) -> ProcessRow {
        ProcessRow {
            pid,
            parent,
            group: pid,
            session: pid,
            has_terminal: false,
            started: 1,
            name: name.to_owned(),
            has_ended: name == "ended",
        }
    }

    /// What the client's sandbox holds, as measured: its helpers, the first process of the command's
    /// numbers, the command's shell, and `ralph`.
    const SANDBOX: [(u32, u32, &str); 8] = [
        (1, 0, "bwrap"),
        (2, 1, "bash"),
        (3, 2, "bash"),
        (4, 3, "socat"),
        (7, 2, "3"),
        (8, 7, "3"),
        (9, 8, "bash"),
        (30, 9, "ralph"),
    ];

    #[test]
    fn children_of_the_shell_and_orphans_are_left_and_nothing_of_the_sandbox_is() {
        let left = |more: &[(u32, u32, &str)]| -> Vec<u32> {
            let all = SANDBOX.iter().chain(more);
            let rows: Vec<_> = all.map(|(pid, parent, name)| row(*pid, *parent, name)).collect();
            left_by_shell(&rows, 30).map(|row| row.pid).collect()
        };
        assert_eq!(left(&[]), [0; 0]);
        assert_eq!(left(&[(12, 9, "ended"), (13, 8, "ended")]), [0; 0]);
        assert_eq!(left(&[(12, 9, "child"), (13, 8, "orphan"), (14, 13, "below")]), [12, 13]);
        assert_eq!(left_by_shell(&[], 30).count(), 0);
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod strays_tests {
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
