//! Who gave a command or sent an event: a person, or the model of a loop's client.
//!
//! The environment is the model's to write, so it proves nothing for a person. The ancestors of a process
//! are the kernel's: the model's shells are below the client. A process that has left its ancestors (a
//! daemon, a job of another server, a namespace of its own) shows nothing, and counts as the model's.

use crate::state::ClientProcess;

/// A process as the system shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// When it started, in clock ticks since boot.
    pub started: u64,
    /// The number of the session of terminals that it belongs to.
    pub session: u32,
    /// Whether it has a controlling terminal.
    pub has_terminal: bool,
    /// File name of its executable; where that cannot be read, the name that the system shows.
    pub name: String,
    /// Whether another user runs it.
    pub is_foreign: bool,
    /// The client that its environment names; 0 where it has variables of a client and no number.
    pub client: Option<u32>,
    /// The session of the client that its environment names.
    pub client_session: String,
    /// Whether it is a shell that was given its commands as an argument.
    pub has_script: bool,
}

/// Where the line of ancestors ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Top {
    /// At the first process.
    First,
    /// At a process whose parent is outside of this namespace, as `docker exec` starts it.
    Outside,
    /// At a process whose parent is hidden: another user's.
    Hidden,
    /// The line could not be followed.
    Broken,
}

/// A process and its ancestors, the process first. The first process of the system is not among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessLine {
    /// The process and its ancestors.
    pub processes: Vec<Process>,
    /// Where the line ends.
    pub top: Top,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// A person, as far as the system shows.
    Person,
    /// The model: the process is below the client, or its environment names it.
    Model,
    /// Nobody can be seen.
    Unseen,
}

/// Servers that start processes for anybody. An ancestor of this kind says nothing about who asked.
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

/// Servers of terminals that any program may ask to run a command.
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
    /// Where the client stands in the line; none if it is no ancestor.
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

/// Who gave a command, as one live client sees it. `session_id` is the session of the loop.
pub fn of_command(line: &ProcessLine, client: &ClientProcess, session_id: &str) -> Speaker {
    if line.position(client).is_some() || is_marked(line, client, session_id) {
        return Speaker::Model;
    }
    match is_of_a_person(line, client) {
        true => Speaker::Person,
        false => Speaker::Unseen,
    }
}

/// Whether the environment of a process in the line names a client, whichever it is.
pub fn is_below_any_client(line: &ProcessLine) -> bool {
    line.processes.iter().any(|one| one.client.is_some() || !one.client_session.is_empty())
}

/// Whether a process is a client, from the path of its executable and its arguments, which NUL separates.
pub fn is_client(executable: &str, arguments: &str) -> bool {
    let name = executable.rsplit('/').next().unwrap_or_default();
    if name == "claude" || executable.contains("/claude/versions/") {
        return true;
    }
    let is_script = |word: &str| word.contains("/claude-code/") || word.ends_with("/claude");
    RUNTIMES.iter().any(|runtime| name.starts_with(runtime))
        && arguments.split('\0').skip(1).take(4).any(is_script)
}

/// Whether the environment of a process in the line names this client, its session, or a client that is
/// not above it: a process that has left its client keeps the variables unless someone removes them.
fn is_marked(line: &ProcessLine, client: &ClientProcess, session_id: &str) -> bool {
    line.processes.iter().any(|one| match one.client {
        Some(0) => !line.processes.iter().any(is_runtime) || names(one, session_id),
        Some(pid) => pid == client.pid || !line.has(pid) || names(one, session_id),
        None => names(one, session_id),
    })
}

const RUNTIMES: [&str; 3] = ["node", "bun", "deno"];

/// Whether it may be a client: one of before 2.1.300 gave its shells no number.
fn is_runtime(process: &Process) -> bool {
    process.name.starts_with("claude") || RUNTIMES.iter().any(|name| process.name.starts_with(name))
}

fn names(process: &Process, session_id: &str) -> bool {
    !session_id.is_empty() && process.client_session == session_id
}

fn is_of_a_person(line: &ProcessLine, client: &ClientProcess) -> bool {
    // A command that a driver of ours runs for a criterion, or that came to it as an orphan.
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
    let before =
        |one: &&Process| client.started.parse::<u64>().is_ok_and(|started| one.started <= started);
    // What was there before the client is not its doing.
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

/// Position of the process that leads the session of the first one.
fn leader(line: &ProcessLine) -> Option<usize> {
    let session = line.processes.first()?.session;
    line.processes.iter().position(|one| one.pid == session)
}

/// Whether the command stands in a shell that reads what is typed, with a terminal: not the command of a
/// window that someone had opened for it.
fn has_a_shell_of_its_own(line: &ProcessLine) -> bool {
    let Some(at) = leader(line).filter(|at| *at > 0) else { return false };
    let leader = &line.processes[at];
    leader.has_terminal && !leader.has_script
}

/// How an event came to a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// Through a socket that this process made.
    Socket(u32),
    /// Through a pipe or a file.
    Other,
}

/// Whether an event comes from the client that a loop was last seen in. `answers_by_socket` is true for
/// the runtimes of the real client (measured with 2.1.328: each hook has a socket of the client as its
/// standard input, whichever way it was registered, and no command of the model has one).
///
/// An event of a person's process is believed as well: a person may do anything.
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

/// The client that the first process names, where that can be seen above it: one that has the same session
/// open, or whose model forges an event of another session.
fn below_another(line: &ProcessLine) -> Option<u32> {
    line.processes.first()?.client.filter(|pid| line.has(*pid))
}

/// Whether the client answers its hooks by a socket, from the path of its executable.
pub fn answers_by_socket(executable: &str) -> bool {
    let runtime = executable.rsplit('/').next().unwrap_or_default();
    executable.contains("claude") || RUNTIMES.iter().any(|one| runtime.starts_with(one))
}

/// Why a command of an unseen speaker is refused.
pub fn refusal(command: &str) -> String {
    format!(
        "`ralph {command}` is for a person only while a loop is live, and Ralph cannot see who gave it: \
         it has no ancestor that was there before the loop's client. Give it in a terminal that was open \
         before the client was started, or type it in the session"
    )
}

#[cfg(test)]
mod tests;
