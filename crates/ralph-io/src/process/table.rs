//! The process table: which processes run, below whom, and since when.
//!
//! Linux shows it in `/proc`; elsewhere `ps` prints it.

pub(super) mod proc;
mod ps;

use crate::process::portable;
use std::path::PathBuf;

/// One process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProcessRow {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    pub(crate) group: u32,
    /// Its POSIX session.
    pub(crate) session: u32,
    pub(crate) has_terminal: bool,
    /// Start time: clock ticks since boot on Linux, seconds since 1970 elsewhere.
    pub(crate) started: u64,
    /// The file name of the executable, cut after some 15 characters.
    pub(crate) name: String,
    /// A zombie: it has ended, and its parent has not waited for it.
    pub(crate) has_ended: bool,
}

/// The command line of a process, and what is visible of its environment.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct CommandLine {
    /// The path of the executable. Without `/proc`, the process's own word for it.
    pub(crate) executable: PathBuf,
    /// The arguments, each ended by NUL.
    pub(crate) arguments: String,
    /// The variables, each ended by NUL. macOS shows none of its own programs.
    pub(crate) environment: String,
}

/// A readable process table.
#[derive(Debug)]
pub(crate) enum ProcessTable {
    /// Every question is answered by a file.
    Proc,
    /// The rows that `ps` printed, with the real user of each process.
    Ps(Vec<(ProcessRow, u32)>),
}

impl ProcessTable {
    /// `None` if the system shows no processes, as in some sandboxes.
    pub(crate) fn read() -> Option<ProcessTable> {
        match portable::is_used() {
            true => ps::rows().map(ProcessTable::Ps),
            false => proc::is_mounted().then_some(ProcessTable::Proc),
        }
    }

    pub(crate) fn rows(&self) -> Vec<ProcessRow> {
        match self {
            ProcessTable::Proc => proc::rows(),
            ProcessTable::Ps(rows) => rows.iter().map(|(row, _)| row.clone()).collect(),
        }
    }

    pub(crate) fn row(&self, pid: u32) -> Option<ProcessRow> {
        match self {
            ProcessTable::Proc => proc::row(pid),
            ProcessTable::Ps(rows) => {
                rows.iter().find(|(row, _)| row.pid == pid).map(|(row, _)| row.clone())
            }
        }
    }

    /// This process's id as the table has it.
    pub(crate) fn own(&self) -> Option<u32> {
        match self {
            ProcessTable::Proc => proc::own(),
            ProcessTable::Ps(_) => Some(std::process::id()),
        }
    }

    /// The real user of a process.
    pub(crate) fn user(&self, pid: u32) -> Option<u32> {
        match self {
            ProcessTable::Proc => proc::user(pid),
            ProcessTable::Ps(rows) => {
                rows.iter().find(|(row, _)| row.pid == pid).map(|(_, user)| *user)
            }
        }
    }

    /// The command lines of these processes, in their order.
    pub(crate) fn command_lines(&self, pids: &[u32]) -> Vec<CommandLine> {
        match self {
            // Asked as well, so that a release for Linux contains nothing of `ps`.
            ProcessTable::Ps(_) if portable::is_used() => ps::command_lines(pids),
            _ => pids.iter().map(|pid| proc::command_line(*pid)).collect(),
        }
    }

    /// True if the paths of executables are the kernel's, and not the processes' own words.
    pub(crate) fn is_exact(&self) -> bool {
        matches!(self, ProcessTable::Proc)
    }
}

/// A process's start time, as in [`ProcessRow`]; `None` if it does not run.
pub(crate) fn start_time(pid: u32) -> Option<u64> {
    match portable::is_used() {
        true => ps::start_time(pid),
        false => proc::row(pid).map(|row| row.started),
    }
}

/// The processes of this user whose environment visibly has this `NAME=value`. Asked where the system
/// adopts no orphans.
pub(crate) fn with_variable(entry: &str) -> Vec<u32> {
    match portable::is_used() {
        true => ps::with_variable(entry),
        false => Vec::new(),
    }
}

/// The working folder of a process of this user.
pub(crate) fn working_folder(pid: u32) -> Option<PathBuf> {
    match portable::is_used() {
        true => ps::open_file(pid, "cwd"),
        false => std::fs::read_link(format!("/proc/{pid}/cwd")).ok(),
    }
}

/// The path under which the executable of a process of this user is found now.
pub(crate) fn executable(pid: u32) -> Option<PathBuf> {
    match portable::is_used() {
        true => ps::open_file(pid, "txt"),
        false => std::fs::read_link(format!("/proc/{pid}/exe")).ok(),
    }
}

/// The process id and name in a `stat` of `/proc`, for the fuzz targets.
#[cfg(fuzzing)]
pub(crate) fn process_of(stat: &[u8]) -> Option<(u32, String)> {
    proc::parse(stat).map(|row| (row.pid, row.name))
}

#[cfg(test)]
mod tests;
