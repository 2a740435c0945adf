//! The process table in `/proc`.

use super::{CommandLine, ProcessRow};
use std::fs;
use std::path::{Path, PathBuf};

pub(super) fn is_mounted() -> bool {
    Path::new("/proc/self/stat").exists()
}

/// Resolved through the link: our own process id may belong to a namespace that `/proc` does not
/// show.
pub(super) fn own() -> Option<u32> {
    fs::read_link("/proc/self").ok()?.to_str()?.parse().ok()
}

pub(crate) fn rows() -> Vec<ProcessRow> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    // The file of a process that ends meanwhile disappears.
    entries.filter_map(|entry| row(entry.file_name().to_str()?.parse().ok()?)).collect()
}

pub(super) fn row(pid: u32) -> Option<ProcessRow> {
    parse(&fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// Parses `pid (name) state parent group session terminal …`; the name may contain anything,
/// spaces and parentheses included.
pub(super) fn parse(stat: &[u8]) -> Option<ProcessRow> {
    let stat = String::from_utf8_lossy(stat);
    let (pid, rest) = stat.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    Some(ProcessRow {
        pid: pid.parse().ok()?,
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        has_terminal: *fields.get(4)? != "0",
        started: fields.get(19)?.parse().ok()?,
        name: name.to_owned(),
        has_ended: matches!(*fields.first()?, "Z" | "X"),
    })
}

/// The owner of a process's folder differs for a process that may not be inspected.
pub(super) fn user(pid: u32) -> Option<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    line.split_whitespace().next()?.parse().ok()
}

pub(super) fn command_line(pid: u32) -> CommandLine {
    let read = |name: &str| {
        let bytes = fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    CommandLine {
        executable: executable(pid),
        arguments: read("cmdline"),
        environment: read("environ"),
    }
}

/// The path that a process's executable had when it was started.
fn executable(pid: u32) -> PathBuf {
    let path = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    // An update replaces executables while they run; Linux then appends this mark.
    PathBuf::from(path.to_string_lossy().trim_end_matches(" (deleted)"))
}
