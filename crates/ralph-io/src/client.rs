//! Claude Code as seen from its hooks: their environment and standard input, its settings, its
//! transcripts and its status line.

pub mod client_settings;
pub mod given;
pub mod plugins;
pub mod sandbox;
pub mod status_line;
pub mod transcript;

use crate::process::{ancestry, programs, table};
use ralph_core::protocol::client_version::{ClientFeature, ClientVersion};
use ralph_core::protocol::wall;
use ralph_core::state::ClientProcess;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The session id in the environment, measured to equal the payload's `session_id`. With it, an
/// executable finds out that no loop is live before it reads standard input.
pub fn session_id() -> Option<String> {
    variable("CLAUDE_CODE_SESSION_ID")
}

/// The project that the session was started in. It does not change when the session's shell changes
/// folder.
pub fn project_dir() -> Option<PathBuf> {
    variable("CLAUDE_PROJECT_DIR").map(PathBuf::from)
}

/// The folder of the plugin whose hook runs; not set for a hook from a settings file.
pub fn plugin_root() -> Option<String> {
    variable("CLAUDE_PLUGIN_ROOT")
}

/// The client's name and version, for example `claude-code_2-1-328_harness`.
pub fn ai_agent() -> String {
    variable("AI_AGENT").unwrap_or_default()
}

/// The client that headless rounds start: the one named in `RALPH_CLAUDE`, else `claude` on `PATH`, as
/// this process found it first. The path is absolute: it may be started in another folder.
pub fn program() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOUND.get_or_init(|| programs::find_named(Path::new(&program_name()))).as_deref()
}

/// The name or path of that client.
pub fn program_name() -> String {
    variable("RALPH_CLAUDE").unwrap_or_else(|| "claude".to_owned())
}

/// The version of the client that started this process; `None` if `AI_AGENT` does not tell it.
pub fn version() -> Option<ClientVersion> {
    ClientVersion::of_agent(&ai_agent())
}

/// The kind of round that a headless driver started this client for.
pub fn round() -> Option<String> {
    variable("RALPH_ROUND")
}

/// Set for a client that a headless driver starts in the client's sandbox.
pub const SANDBOXED: &str = "RALPH_SANDBOXED";

/// True below such a client. The model cannot change this for a line that runs outside of the
/// sandbox: a line with an assignment stays inside.
pub fn is_sandboxed_round() -> bool {
    variable(SANDBOXED).is_some()
}

/// True in a plan round: a headless driver marks the client that it starts for one.
pub fn is_plan_round() -> bool {
    round().as_deref() == Some("plan")
}

/// The consensus-planning agent, if a headless driver started this whole session to be one.
pub fn planning_agent() -> Option<String> {
    round().filter(|round| round.starts_with("ralplan-"))
}

/// The orchestration call that a driver started this Claude Code session for: the call's key as
/// JSON, with the orchestration's name as `session_id`.
pub fn session_call() -> Option<String> {
    variable("RALPH_SESSION_CALL")
}

/// Adds lines of shell that the client runs ahead of each command of this session, unless they are
/// there. Only a SessionStart hook has the file for them.
pub fn run_ahead_of_commands(lines: &str) -> std::io::Result<()> {
    let Some(file) = variable("CLAUDE_ENV_FILE") else { return Ok(()) };
    if std::fs::read_to_string(&file).is_ok_and(|text| text.contains(lines)) {
        return Ok(());
    }
    OpenOptions::new().create(true).append(true).open(file)?.write_all(lines.as_bytes())
}

/// As [`run_ahead_of_commands`], ahead of everything else in the file; lines of which `is_former` is true
/// are removed.
pub fn run_first(line: &str, is_former: impl Fn(&str) -> bool) -> std::io::Result<()> {
    let Some(file) = variable("CLAUDE_ENV_FILE") else { return Ok(()) };
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    if text.starts_with(line) {
        return Ok(());
    }
    let kept = text.split_inclusive('\n').filter(|kept| !is_former(kept));
    std::fs::write(file, std::iter::once(line).chain(kept).collect::<String>())
}

/// The files of shell that the client runs ahead of each command of a session, each with its number.
pub fn ahead_of_commands(session_id: &str) -> Vec<(u32, String)> {
    let Some(folder) = config_dir().map(|config| config.join("session-env").join(session_id))
    else {
        return Vec::new();
    };
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let read = |entry: std::fs::DirEntry| {
        let name = entry.file_name();
        let number = name.to_str()?.rsplit_once('-')?.1.strip_suffix(".sh")?.parse().ok()?;
        Some((number, std::fs::read_to_string(entry.path()).unwrap_or_else(|_| "?".to_owned())))
    };
    files.filter_map(read).collect()
}

/// The shells that a client's tool calls have started and that still run, each with its process id and its
/// line.
pub fn running_shells(client: &ClientProcess) -> Vec<(u32, String)> {
    let Some(table) = table::ProcessTable::read() else { return Vec::new() };
    let rows = table.rows();
    let parent = |pid: u32| rows.iter().find(|row| row.pid == pid).map(|row| row.parent);
    let is_below = |pid: u32| {
        std::iter::successors(Some(pid), |pid| parent(*pid)).take(64).any(|pid| pid == client.pid)
    };
    let pids: Vec<u32> =
        rows.iter().map(|row| row.pid).filter(|pid| *pid != client.pid && is_below(*pid)).collect();
    let lines = table.command_lines(&pids).into_iter().map(|line| line.arguments);
    let shells = pids.into_iter().zip(lines).filter_map(|(pid, arguments)| {
        let line = arguments.split('\0').find(|argument| wall::folder_file(argument).is_some())?;
        Some((pid, line.to_owned()))
    });
    shells.collect()
}

/// Removes lines that run ahead of the commands of any session. A file that cannot be changed stays.
pub fn remove_ahead_of_commands(is_ours: impl Fn(&str) -> bool) {
    let Some(all) = config_dir().map(|config| config.join("session-env")) else { return };
    let entries = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    for file in entries(&all).flat_map(|session| entries(&session.path())).map(|entry| entry.path())
    {
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        let kept: String = text.split_inclusive('\n').filter(|line| !is_ours(line)).collect();
        let _ = match kept.len() == text.len() {
            true => Ok(()),
            false if kept.is_empty() => std::fs::remove_file(&file),
            false => std::fs::write(&file, kept),
        };
    }
}

/// True for a session without a terminal, where nobody can answer a question.
pub fn is_unattended() -> bool {
    variable("CLAUDE_CODE_SESSION_ATTENDED").as_deref() == Some("0")
}

/// The client's configuration folder.
pub fn config_dir() -> Option<PathBuf> {
    variable("CLAUDE_CONFIG_DIR")
        .map(PathBuf::from)
        .or_else(|| variable("HOME").map(|home| PathBuf::from(home).join(".claude")))
}

/// Where the client keeps the transcript of a session started in this folder. The client names the
/// project's folder after the path, with a dash for each character other than an ASCII letter or
/// digit. The file may not exist.
pub fn transcript(folder: &Path, session_id: &str) -> Option<PathBuf> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric();
    let name: String = folder
        .to_string_lossy()
        .chars()
        .map(|letter| if is_plain(letter) { letter } else { '-' })
        .collect();
    // Reject a session id that could lead outside the folder.
    let is_id = session_id.chars().all(|letter| is_plain(letter) || letter == '-');
    let file = format!("{session_id}.jsonl");
    (is_id && !session_id.is_empty())
        .then_some(config_dir()?.join("projects").join(name).join(file))
}

/// The client process that started this hook.
pub fn process() -> Option<ClientProcess> {
    match variable("CLAUDE_PID") {
        Some(pid) => Some(process_by_id(pid.parse().ok()?)),
        None if version()?.has(ClientFeature::NamesItself) => None,
        None => ancestry::client_above(),
    }
}

/// This process, recorded as if it were a client: for a driver that holds clients.
pub fn this_process() -> ClientProcess {
    process_by_id(std::process::id())
}

/// The process with this id, recorded as if it were a client.
pub fn process_by_id(pid: u32) -> ClientProcess {
    ClientProcess { pid, started: start_time(pid) }
}

/// True if that same process still runs, or may run where this process cannot see it. The start time
/// tells it from a later process with the same id.
pub fn is_alive(client: &ClientProcess) -> bool {
    let started = start_time(client.pid);
    !started.is_empty() && started == client.started || ancestry::clients_are_hidden()
}

/// A process's start time; empty if unknown.
fn start_time(pid: u32) -> String {
    table::start_time(pid).map(|started| started.to_string()).unwrap_or_default()
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_told_from_another_with_the_same_id() {
        let pid = std::process::id();
        let us = ClientProcess { pid, started: start_time(pid) };
        assert!(is_alive(&us));
        assert!(!is_alive(&ClientProcess { started: "1".to_owned(), ..us.clone() }));
        assert!(!is_alive(&ClientProcess { started: String::new(), ..us }));
    }
}
