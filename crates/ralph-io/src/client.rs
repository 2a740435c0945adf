//! Claude Code as its processes and files show it: the environment of a hook, its settings, its
//! transcripts, its status line, a hook's standard input.

pub mod client_settings;
pub mod given;
pub mod status_line;
pub mod stdin;
pub mod transcript;

use ralph_core::state::ClientProcess;
use std::path::{Path, PathBuf};

/// The session named by the environment. Measured to equal the payload's `session_id`; it lets an
/// executable find out that nothing is live before it reads standard input.
pub fn session_id() -> Option<String> {
    variable("CLAUDE_CODE_SESSION_ID")
}

/// The project that the session was started in; it stays when the conversation's shell moves.
pub fn project_dir() -> Option<PathBuf> {
    variable("CLAUDE_PROJECT_DIR").map(PathBuf::from)
}

/// The folder of the plugin whose hook runs; not set for hooks of settings.
pub fn plugin_root() -> Option<String> {
    variable("CLAUDE_PLUGIN_ROOT")
}

/// Name and version of the client, for example `claude-code_2-1-328_harness`.
pub fn ai_agent() -> String {
    variable("AI_AGENT").unwrap_or_default()
}

/// True for a plan round of a headless driver, which marks the client that it starts.
pub fn is_plan_round() -> bool {
    variable("RALPH_ROUND").as_deref() == Some("plan")
}

/// The agent of consensus planning that a headless driver has started this whole session as.
pub fn planning_agent() -> Option<String> {
    variable("RALPH_ROUND").filter(|round| round.starts_with("ralplan-"))
}

/// The call of an orchestrated session that a driver has started this whole session of the client for: the key of
/// the call as JSON, and the session's name as `session_id`.
pub fn session_call() -> Option<String> {
    variable("RALPH_SESSION_CALL")
}

/// True for a session without a terminal, in which nobody can answer.
pub fn is_unattended() -> bool {
    variable("CLAUDE_CODE_SESSION_ATTENDED").as_deref() == Some("0")
}

/// The folder of the client's configuration.
pub fn config_dir() -> Option<PathBuf> {
    variable("CLAUDE_CONFIG_DIR")
        .map(PathBuf::from)
        .or_else(|| variable("HOME").map(|home| PathBuf::from(home).join(".claude")))
}

/// Where the client keeps the transcript of a session that was started in this folder: below a name in
/// which all but letters and digits are dashes. It need not be there.
pub fn transcript(folder: &Path, session_id: &str) -> Option<PathBuf> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric();
    let name: String = folder
        .to_string_lossy()
        .chars()
        .map(|letter| if is_plain(letter) { letter } else { '-' })
        .collect();
    // An id that could lead elsewhere is none.
    let is_id = session_id.chars().all(|letter| is_plain(letter) || letter == '-');
    let file = format!("{session_id}.jsonl");
    (is_id && !session_id.is_empty())
        .then_some(config_dir()?.join("projects").join(name).join(file))
}

/// The client process that started this hook.
pub fn process() -> Option<ClientProcess> {
    let pid = variable("CLAUDE_PID")?.parse().ok()?;
    Some(ClientProcess { pid, started: start_time(pid) })
}

/// This process, as one that holds clients.
pub fn this_process() -> ClientProcess {
    let pid = std::process::id();
    ClientProcess { pid, started: start_time(pid) }
}

/// True if that very process still runs; a reused process id is another process.
pub fn is_alive(client: &ClientProcess) -> bool {
    let started = start_time(client.pid);
    !started.is_empty() && started == client.started
}

/// The start time of a process in clock ticks since boot; empty where it cannot be had.
fn start_time(pid: u32) -> String {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return String::new();
    };
    // The second field is the command in parentheses and may hold anything, parentheses included.
    let after_command = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    after_command.split_whitespace().nth(19).unwrap_or_default().to_owned()
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
