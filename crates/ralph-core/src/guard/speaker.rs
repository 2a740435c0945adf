//! Who gave a command or sent an event: a person, or the model of a loop's client.
//!
//! The model can write the environment, so it proves nothing in a person's favour. The kernel keeps
//! the ancestors of a process, and the model's shells are below the client. A process that has left
//! its ancestors is adopted by init or by a subreaper. What is then below the adopter is younger than
//! the client, as a terminal program is that was opened later: Ralph cannot tell the two apart.

use crate::protocol::registration::COMMAND_LINE;
use crate::state::ClientProcess;

/// A process as the system shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    /// Start time: clock ticks since boot on Linux, seconds since 1970 elsewhere.
    pub started: u64,
    /// File name of its executable, or the name that the system shows if that cannot be read.
    pub name: String,
    /// Process id of the client in its environment; 0 if it has a client's variables without an id.
    pub client: Option<u32>,
    /// The client's session id in its environment.
    pub client_session: String,
}

/// Where the chain of ancestors ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Top {
    /// At the first process of the system.
    First,
    /// At a process whose parent is outside this namespace, as started by `docker exec`.
    Outside,
    /// At a process whose parent belongs to another user and is hidden.
    Hidden,
    /// The chain could not be followed.
    Broken,
}

/// A process and its ancestors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessLine {
    /// The process first; the first process of the system is left out.
    pub processes: Vec<Process>,
    pub top: Top,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Speaker {
    /// A person, as far as the system shows.
    Person,
    /// The model: the process is below the client, or its environment names the client.
    Model,
    /// A terminal that was opened after the client, or something that the model has detached: the names
    /// of the processes, the oldest first.
    Unplaced(String),
    /// Unknown: the client may be hidden.
    Unseen,
}

/// How many processes an unplaced one is named by.
const NAMED: usize = 4;

impl ProcessLine {
    /// The client's position in the chain; `None` if it is not an ancestor.
    fn position(&self, client: &ClientProcess) -> Option<usize> {
        self.processes.iter().position(|one| is(one, client))
    }

    fn has(&self, pid: u32) -> bool {
        self.processes.iter().any(|one| one.pid == pid)
    }
}

fn is(process: &Process, client: &ClientProcess) -> bool {
    process.pid == client.pid && process.started.to_string() == client.started
}

/// Who gave a command, from the point of view of one live client. `session_id` is the loop's
/// session. `adopter` finds the process that adopts the orphans of this one.
pub fn of_command(
    line: &ProcessLine,
    client: &ClientProcess,
    session_id: &str,
    adopter: impl FnOnce() -> Option<u32>,
) -> Speaker {
    if line.position(client).is_some() || is_marked(line, client, session_id) {
        return Speaker::Model;
    }
    unplaced(line, client, adopter).map_or(Speaker::Person, Speaker::Unplaced)
}

/// True if the environment of a process in the chain names any client.
pub fn is_below_any_client(line: &ProcessLine) -> bool {
    line.processes.iter().any(|one| one.client.is_some() || !one.client_session.is_empty())
}

/// True if a process is a client, judged by its executable's path and its NUL-separated arguments.
pub fn is_client(executable: &str, arguments: &str) -> bool {
    let name = executable.rsplit('/').next().unwrap_or_default();
    // The npm package of 2.1.328 names its program `claude.exe` on Linux as well.
    if matches!(name, "claude" | "claude.exe") || executable.contains("/claude/versions/") {
        return true;
    }
    let is_script = |word: &str| word.contains("/claude-code/") || word.ends_with("/claude");
    RUNTIMES.iter().any(|runtime| name.starts_with(runtime))
        && arguments.split('\0').skip(1).take(4).any(is_script)
}

/// True if the environment of a process in the chain names this client, its session, or a client
/// that is not an ancestor: a process that has left its client keeps the variables unless something
/// removes them.
fn is_marked(line: &ProcessLine, client: &ClientProcess, session_id: &str) -> bool {
    let is_above = |pid: u32| line.processes.iter().any(|one| one.pid == pid && is_runtime(one));
    line.processes.iter().any(|one| match one.client {
        Some(0) => !line.processes.iter().any(is_runtime) || names(one, session_id),
        Some(pid) => pid == client.pid || !is_above(pid) || names(one, session_id),
        None => names(one, session_id),
    })
}

const RUNTIMES: [&str; 3] = ["node", "bun", "deno"];

/// True if the process may be a client. Clients before 2.1.300 passed no process id to their
/// shells.
fn is_runtime(process: &Process) -> bool {
    process.name.starts_with("claude") || RUNTIMES.iter().any(|name| process.name.starts_with(name))
}

fn names(process: &Process, session_id: &str) -> bool {
    !session_id.is_empty() && process.client_session == session_id
}

/// The names of a process and its ancestors if the client may have started it; `None` if the last
/// ancestor before the adopter of orphans is older than the client.
fn unplaced(
    line: &ProcessLine,
    client: &ClientProcess,
    adopter: impl FnOnce() -> Option<u32>,
) -> Option<String> {
    if matches!(line.top, Top::Outside | Top::Hidden) {
        return None;
    }
    let adopter = adopter().and_then(|pid| line.processes.iter().position(|one| one.pid == pid));
    let below = &line.processes[..adopter.unwrap_or(line.processes.len())];
    // macOS gives whole seconds: of two equal times, either process may be the older.
    let is_older =
        |one: &Process| client.started.parse::<u64>().is_ok_and(|started| one.started < started);
    // A driver runs this command for a criterion. It adopts orphans, but not on macOS.
    let is_driven = below.iter().skip(1).any(|one| one.name == COMMAND_LINE);
    if adopter.is_some() && !is_driven && below.last().is_some_and(is_older) {
        return None;
    }
    let names: Vec<&str> = below.iter().skip(1).rev().map(|one| one.name.as_str()).collect();
    let names = names[..names.len().min(NAMED)].join(", ");
    Some(if names.is_empty() { "an orphan".to_owned() } else { names })
}

/// How an event reached a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// A socket that this process created.
    Socket(u32),
    /// A pipe or a file.
    Other,
}

/// True if an event comes from the client in which the loop was last seen. `answers_by_socket` is
/// true for the runtimes of the real client. (Measured with 2.1.328: the standard input of every
/// hook is a socket of the client, however the hook was registered, and no command of the model has
/// one.)
///
/// An event from a person's process is accepted as well, because a person may do anything.
pub fn is_from_client(
    line: &ProcessLine,
    client: &ClientProcess,
    input: Input,
    answers_by_socket: bool,
    adopter: impl FnOnce() -> Option<u32>,
) -> bool {
    let Some(at) = line.position(client) else {
        let is_sent = below_another(line).is_none_or(|other| input == Input::Socket(other));
        return is_sent && unplaced(line, client, adopter).is_none();
    };
    match input {
        Input::Socket(maker) => maker == client.pid,
        Input::Other if answers_by_socket => false,
        // Below the client itself, or below the shell in which it starts the hook.
        Input::Other => at <= 2,
    }
}

/// The client that the first process names, if it is an ancestor: either it has the same session
/// open, or its model forges an event of another session.
fn below_another(line: &ProcessLine) -> Option<u32> {
    line.processes.first()?.client.filter(|pid| line.has(*pid))
}

/// True if the client passes events to its hooks through a socket, judged by its executable's path.
pub fn answers_by_socket(executable: &str) -> bool {
    let runtime = executable.rsplit('/').next().unwrap_or_default();
    executable.contains("claude") || RUNTIMES.iter().any(|one| runtime.starts_with(one))
}

/// Why a command is refused where the client may be hidden.
pub fn hidden(command: &str) -> String {
    format!(
        "`ralph {command}` is for the user only while a loop is live, and Ralph cannot see who gave it: \
         this namespace may hide the loop's client; give it outside of it, or type it in the session"
    )
}

/// Why a command that lets more happen is refused to a process that cannot be placed. `typed` is what
/// the user types in a session instead, if there is such a line.
pub fn unplaceable(command: &str, typed: &str, names: &str) -> String {
    let instead = match typed {
        "" => "give it in a terminal that is older, or when the loop has ended".to_owned(),
        typed => format!("type `{typed}` in a session of this project"),
    };
    format!(
        "`ralph {command}` is for the user only while a loop is live, and this process ({names}) is younger \
         than the loop's client, so that the model may have detached it; {instead}. `ralph cancel`, \
         `pause`, `watch` and `status` work here"
    )
}

/// Why a typed line is not obeyed that a process below a client has sent.
pub const NOT_FROM_THIS_CLIENT: &str =
    "this line does not come from the client, so it is not the user's; nothing was done";

/// Why a typed line is not obeyed that comes from a session which a loop's client may have started.
pub fn not_from_client(loop_id: &str) -> String {
    format!(
        "this session is younger than the client of loop {loop_id}, so that the model may have started it; \
         type it in the session of that loop"
    )
}

#[cfg(test)]
mod tests;
