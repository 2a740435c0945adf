//! Finds what a command leaves running in the client's sandbox, when its shell ends.

use super::table::{ProcessRow, ProcessTable};
use std::time::{Duration, Instant};

/// How long a process may take to end by itself, for example one that the command has just killed.
const PATIENCE: Duration = Duration::from_millis(500);

/// The interval between two looks.
const AGAIN: Duration = Duration::from_millis(10);

/// The names of the processes that the shell which started this one leaves running, each once, without
/// those that ran before its command.
pub fn names(before: &[u32]) -> Vec<String> {
    let began = Instant::now();
    loop {
        let names = now(before);
        if names.is_empty() || began.elapsed() >= PATIENCE {
            return names;
        }
        std::thread::sleep(AGAIN);
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
