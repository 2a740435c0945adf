//! Who gave a command or sent an event: a person, or the model of a loop's client.
//!
//! The model can write the environment, so it proves nothing in a person's favour. The kernel keeps
//! the ancestors of a process, and the model's shells are below the client. A process that has left
//! its ancestors (a daemon, a job of another server, a process in its own namespace) proves
//! nothing, and counts as the model's.

use crate::state::ClientProcess;

/// A process as the system shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    /// Start time: clock ticks since boot on Linux, seconds since 1970 elsewhere.
    pub started: u64,
    /// Id of its terminal session (`setsid`), not of Claude Code's session.
    pub session: u32,
    /// Whether it has a controlling terminal.
    pub has_terminal: bool,
    /// File name of its executable, or the name that the system shows if that cannot be read.
    pub name: String,
    /// Whether it belongs to another user.
    pub is_foreign: bool,
    /// Process id of the client in its environment; 0 if it has a client's variables without an id.
    pub client: Option<u32>,
    /// The client's session id in its environment.
    pub client_session: String,
    /// Whether it is a shell that got its commands as an argument.
    pub has_script: bool,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// A person, as far as the system shows.
    Person,
    /// The model: the process is below the client, or its environment names the client.
    Model,
    /// Unknown: nothing shows who it is.
    Unseen,
}

/// Servers that start processes on behalf of others. Such an ancestor does not show who asked.
const SERVERS: [&str; 20] = [
    "systemd",
    "init",
    "launchd",
    "cron",
    "crond",
    "anacron",
    "fcron",
    "atd",
    "dbus-daemon",
    "dbus-broker",
    "dbus-broker-launch",
    "busd",
    "tini",
    "dumb-init",
    "docker-init",
    "catatonit",
    "s6-svscan",
    "runsvdir",
    "inetd",
    "xinetd",
];

/// Terminal servers that any program may ask to run a command.
const MULTIPLEXERS: [&str; 5] = ["tmux", "screen", "zellij", "dtach", "abduco"];

/// Terminals with a window of their own.
const WINDOWS: [&str; 16] = [
    "xterm",
    "urxvt",
    "rxvt",
    "st",
    "kitty",
    "alacritty",
    "foot",
    "konsole",
    "gnome-terminal-server",
    "gnome-terminal-",
    "kgx",
    "ptyxis-agent",
    "xfce4-terminal",
    "wezterm-gui",
    "ghostty",
    "terminator",
];

const SHELLS: [&str; 9] = ["sh", "bash", "dash", "zsh", "ksh", "mksh", "busybox", "ash", "fish"];

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

fn is_server(process: &Process) -> bool {
    SERVERS.contains(&process.name.as_str())
}

fn is_multiplexer(process: &Process) -> bool {
    MULTIPLEXERS.iter().any(|name| process.name.split([':', ' ']).next() == Some(name))
}

/// Who gave a command, from the point of view of one live client. `session_id` is the loop's
/// session.
pub fn of_command(line: &ProcessLine, client: &ClientProcess, session_id: &str) -> Speaker {
    if line.position(client).is_some() || is_marked(line, client, session_id) {
        return Speaker::Model;
    }
    match is_of_a_person(line, client) {
        true => Speaker::Person,
        false => Speaker::Unseen,
    }
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
    line.processes.iter().any(|one| match one.client {
        Some(0) => !line.processes.iter().any(is_runtime) || names(one, session_id),
        Some(pid) => pid == client.pid || !line.has(pid) || names(one, session_id),
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

fn is_of_a_person(line: &ProcessLine, client: &ClientProcess) -> bool {
    // A `ralph` driver runs this command for a criterion, or adopted it as an orphan.
    if line.processes.iter().skip(1).any(|one| one.name == "ralph") {
        return false;
    }
    let terminal = has_a_shell_of_its_own(line);
    if let Some(above) = line.processes.iter().skip(1).find(|one| is_multiplexer(one))
        && (!terminal || above.client.is_some())
    {
        return false;
    }
    match line.top {
        Top::Outside | Top::Hidden => return true,
        Top::Broken => return false,
        Top::First => {}
    }
    // macOS gives whole seconds: of two equal times, either process may be the older.
    let before =
        |one: &&Process| client.started.parse::<u64>().is_ok_and(|started| one.started < started);
    // The client did not start a process that is older than itself.
    if line.processes.iter().skip(1).filter(|one| !is_server(one)).any(|one| before(&one)) {
        return true;
    }
    // A terminal that was opened after the client.
    let Some(leader) = leader(line).filter(|at| line.processes[*at].has_terminal) else {
        return false;
    };
    let Some(host) = line.processes.get(leader + 1) else {
        // The first process of a container, with a terminal; no orphan can join its session.
        return line.processes[leader].pid == 1;
    };
    host.is_foreign || (terminal && WINDOWS.contains(&host.name.as_str()))
}

/// Position of the leader of the first process's terminal session.
fn leader(line: &ProcessLine) -> Option<usize> {
    let session = line.processes.first()?.session;
    line.processes.iter().position(|one| one.pid == session)
}

/// True if the command runs in an interactive shell with a terminal, and not in a window that was
/// opened for this one command.
fn has_a_shell_of_its_own(line: &ProcessLine) -> bool {
    let Some(at) = leader(line).filter(|at| *at > 0) else { return false };
    let leader = &line.processes[at];
    leader.has_terminal && !leader.has_script
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
) -> bool {
    let Some(at) = line.position(client) else {
        return match below_another(line) {
            Some(other) => input == Input::Socket(other) && is_of_a_person(line, client),
            None => is_of_a_person(line, client),
        };
    };
    match input {
        Input::Socket(maker) => maker == client.pid,
        Input::Other if answers_by_socket => false,
        Input::Other => at == 1 || (at == 2 && SHELLS.contains(&line.processes[1].name.as_str())),
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

/// Why a command from an unknown speaker is refused.
pub fn refusal(command: &str) -> String {
    format!(
        "`ralph {command}` is for a person only while a loop is live, and Ralph cannot see who gave it: \
         it has no ancestor that was there before the loop's client. Give it in a terminal that was open \
         before the client was started, or type it in the session"
    )
}

#[cfg(test)]
mod tests;
