//! Reads this process's ancestors from `/proc`, and finds who created its standard input.
//!
//! Used by commands that only the user may give while a loop is live, and by a hook of a live loop
//! whose standard input is not the client's. Only Linux shows the ancestors; elsewhere the
//! environment decides alone.

use crate::client;
use ralph_core::guard::speaker::{self, Input, Process, ProcessLine, Speaker, Top};
use ralph_core::protocol::registration::COMMAND_LINE;
use ralph_core::state::ClientProcess;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// More ancestors than any terminal has.
const MOST: usize = 64;

/// The inode number that the kernel gives the initial PID namespace.
const OF_ALL_PROCESSES: u64 = 0xEFFF_FFFC;

/// Decides who gave this command, for a loop whose client is `of`: the person if that client has
/// ended, or on a system without `/proc`; unseen inside a sandbox that may hide the client.
pub fn speaker(of: &ClientProcess, session_id: &str) -> Speaker {
    if !has_proc() {
        return without_proc();
    }
    if client::is_alive(of) {
        return speaker::of_command(&line(), of, session_id);
    }
    match sees_everything() {
        true => Speaker::Person,
        // The client's own sandbox; its first process may have a terminal.
        false if client::sandbox::is_inside() => Speaker::Unseen,
        // A sandbox has its own process ids, and its first process is younger than the client that
        // it confines.
        false => match is_younger_than(of) && !is_entered() {
            true => Speaker::Unseen,
            false => Speaker::Person,
        },
    }
}

/// Decides who gave this command when the loop's state, which names its client, cannot be read. Any
/// client may be the one.
pub fn speaker_among_clients() -> Speaker {
    if !has_proc() {
        return without_proc();
    }
    let line = line();
    if speaker::is_below_any_client(&line)
        || line.processes.iter().skip(1).any(|one| is_client(one.pid))
    {
        return Speaker::Model;
    }
    // The oldest client: a process older than all clients was started by none of them.
    if let Some(oldest) = clients().into_iter().min_by_key(|(_, started)| *started) {
        let of = ClientProcess { pid: oldest.0, started: oldest.1.to_string() };
        return speaker::of_command(&line, &of, "");
    }
    match sees_everything() || is_entered() && !client::sandbox::is_inside() {
        true => Speaker::Person,
        false => Speaker::Unseen,
    }
}

/// On Linux, only a sandbox hides `/proc`; other systems have none.
fn without_proc() -> Speaker {
    if cfg!(target_os = "linux") { Speaker::Unseen } else { Speaker::Person }
}

/// True if a client of this user works in this folder or below it.
pub fn a_client_works_in(folder: &Path) -> bool {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    clients().into_iter().any(|(pid, _)| {
        fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(&folder))
    })
}

/// The environment that a client gave to the shell in which this command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientShell(Vec<u8>);

impl ClientShell {
    /// That of the nearest ancestor that has a client's variables. `None` if there is none, or if Ralph
    /// itself started this command there: a criterion's commands are not the model's.
    pub fn above() -> Option<ClientShell> {
        for one in line().processes.iter().skip(1) {
            let environment = fs::read(format!("/proc/{}/environ", one.pid)).unwrap_or_default();
            let is_ralph = executable(one.pid).file_name().is_some_and(|name| name == COMMAND_LINE);
            // What a round leaves behind belongs to `ralph round`, which has the round's variables.
            if value(&environment, client::SANDBOXED).is_some()
                || !is_ralph && is_marked(&environment)
            {
                return Some(ClientShell(environment));
            }
            if is_ralph {
                return None;
            }
        }
        None
    }

    pub fn variable(&self, name: &str) -> Option<String> {
        value(&self.0, name)
    }
}

/// The process ids and start times of the clients that this user runs.
fn clients() -> Vec<(u32, u64)> {
    let uid = fs::read_link("/proc/self").ok().and_then(|own| uid_of(own.to_str()?.parse().ok()?));
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| is_client(*pid) && uid_of(*pid) == uid)
        .filter_map(|pid| Some((pid, read_stat(pid)?.started)))
        .collect()
}

/// True if a process is a client, judged by its executable, or by the script that its runtime was
/// given.
fn is_client(pid: u32) -> bool {
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let arguments = String::from_utf8_lossy(&arguments);
    speaker::is_client(&executable(pid).to_string_lossy(), &arguments)
}

/// True if this hook's event comes from the client in which the loop was last seen, and also where
/// that is unknown. `drives` means that the recorded process is a driver, whose child is the
/// client.
pub fn is_from(of: &ClientProcess, drives: bool) -> bool {
    if !has_proc() || of.pid == 0 {
        return true;
    }
    let maker = maker_of_input();
    if maker == Some(of.pid) && !drives {
        return true;
    }
    if !client::is_alive(of) {
        return true;
    }
    let line = line();
    // The model can set the variable that `drives` comes from, but not its client's executable.
    let drives = drives && executable(of.pid).ends_with(COMMAND_LINE);
    let of = match drives {
        true => child_of(&line, of).unwrap_or_else(|| of.clone()),
        false => of.clone(),
    };
    let input = match maker {
        Some(pid) => Input::Socket(pid),
        None => Input::Other,
    };
    let by_socket = speaker::answers_by_socket(&executable(of.pid).to_string_lossy());
    speaker::is_from_client(&line, &of, input, by_socket)
}

/// The client that this driver started: the first process below it that is not Ralph's own.
fn child_of(line: &ProcessLine, driver: &ClientProcess) -> Option<ClientProcess> {
    let at = line.processes.iter().position(|one| one.pid == driver.pid)?;
    let mut below = line.processes[..at].iter().rev();
    let child = below.find(|one| !executable(one.pid).ends_with(COMMAND_LINE))?;
    Some(ClientProcess { pid: child.pid, started: child.started.to_string() })
}

/// The path that a process's executable had when it was started.
fn executable(pid: u32) -> PathBuf {
    let path = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    // An update replaces executables while they run; Linux then appends this mark.
    PathBuf::from(path.to_string_lossy().trim_end_matches(" (deleted)"))
}

fn has_proc() -> bool {
    Path::new("/proc/self/stat").exists()
}

/// True in the initial PID namespace, which contains every process of the machine.
fn sees_everything() -> bool {
    fs::metadata("/proc/self/ns/pid").is_ok_and(|namespace| namespace.ino() == OF_ALL_PROCESSES)
}

fn is_younger_than(client: &ClientProcess) -> bool {
    let first = read_stat(1).map(|first| first.started);
    match (first, client.started.parse::<u64>()) {
        (Some(first), Ok(client)) => first > client,
        _ => true,
    }
}

/// True if this process was brought into its namespace from outside, or if the first process of the
/// namespace has a terminal: a container that someone has opened.
fn is_entered() -> bool {
    line().top == Top::Outside || read_stat(1).is_some_and(|first| first.has_terminal)
}

/// The process that created standard input, if that is a socket.
#[cfg(not(target_os = "linux"))]
fn maker_of_input() -> Option<u32> {
    None
}

/// The process that created standard input, if that is a socket.
#[cfg(target_os = "linux")]
fn maker_of_input() -> Option<u32> {
    let maker = rustix::net::sockopt::socket_peercred(std::io::stdin()).ok()?;
    u32::try_from(maker.pid.as_raw_nonzero().get()).ok()
}

/// This process and its ancestors.
fn line() -> ProcessLine {
    let mut processes: Vec<Process> = Vec::new();
    // Resolved through the link: our own process id may belong to a namespace that `/proc` does not
    // show.
    let own = fs::read_link("/proc/self").ok();
    let own = own.and_then(|own| own.to_str()?.parse().ok());
    let Some(mut pid) = own else { return ProcessLine { processes, top: Top::Broken } };
    let uid = uid_of(pid);
    loop {
        let Some(stat) = read_stat(pid) else {
            let top = match processes.is_empty() || pid == 1 {
                true => Top::Broken,
                false => Top::Hidden,
            };
            return ProcessLine { processes, top };
        };
        let parent = stat.parent;
        processes.push(about(pid, stat, uid));
        match parent {
            0 if pid != 1 => return ProcessLine { processes, top: Top::Outside },
            0 => return ProcessLine { processes, top: Top::First },
            _ if processes.len() >= MOST => return ProcessLine { processes, top: Top::Broken },
            parent => pid = parent,
        }
    }
}

fn about(pid: u32, stat: Stat, own_uid: Option<u32>) -> Process {
    let executable = executable(pid);
    let file = executable.file_name().map(|name| name.to_string_lossy().into_owned());
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let variable = |name: &str| value(&environment, name);
    let number = variable("CLAUDE_PID").and_then(|value| value.parse().ok()).unwrap_or(0);
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    Process {
        pid,
        started: stat.started,
        session: stat.session,
        has_terminal: stat.has_terminal,
        // The first process is named for its role, whatever its executable.
        name: if pid == 1 { "init".to_owned() } else { file.unwrap_or(stat.name) },
        is_foreign: uid_of(pid) != own_uid,
        client: is_marked(&environment).then_some(number),
        client_session: variable("CLAUDE_CODE_SESSION_ID").unwrap_or_default(),
        has_script: has_script(&arguments),
    }
}

/// True for an environment with a client's variables.
fn is_marked(environment: &[u8]) -> bool {
    let names = ["CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PID"];
    names.iter().any(|name| value(environment, name).is_some_and(|value| !value.is_empty()))
}

/// True if a shell's arguments contain its commands: `-c`, alone or among other letters, or a
/// script.
fn has_script(arguments: &[u8]) -> bool {
    let mut words = arguments.split(|byte| *byte == 0).skip(1).filter(|word| !word.is_empty());
    words.any(|word| !word.starts_with(b"-") || (!word.starts_with(b"--") && word.contains(&b'c')))
}

fn value(environment: &[u8], name: &str) -> Option<String> {
    let entry = environment
        .split(|byte| *byte == 0)
        .find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
    Some(String::from_utf8_lossy(entry).into_owned())
}

/// The fields of `/proc/PID/stat` that we use.
struct Stat {
    name: String,
    parent: u32,
    session: u32,
    has_terminal: bool,
    started: u64,
}

fn read_stat(pid: u32) -> Option<Stat> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    // The second field is the command in parentheses; it may contain anything, parentheses
    // included.
    let (before, after) = text.rsplit_once(')')?;
    let fields: Vec<&str> = after.split_whitespace().collect();
    Some(Stat {
        name: before.split_once('(')?.1.to_owned(),
        parent: fields.get(1)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        has_terminal: *fields.get(4)? != "0",
        started: fields.get(19)?.parse().ok()?,
    })
}

/// The real user of a process. The owner of its `/proc` folder differs for a process that may not
/// be inspected.
fn uid_of(pid: u32) -> Option<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_begins_with_this_process_and_ends_at_the_first() {
        let line = line();
        assert_eq!(line.processes[0].pid, std::process::id());
        assert!(line.processes.len() > 1, "{line:?}");
        assert!(matches!(line.top, Top::First | Top::Outside | Top::Hidden), "{line:?}");
        assert!(line.processes.windows(2).all(|pair| pair[0].started >= pair[1].started));
    }

    #[test]
    fn what_this_process_is_itself_speaks_for_the_client() {
        let us = client::this_process();
        assert_eq!(speaker(&us, "s"), Speaker::Model);
        let dead = ClientProcess { pid: us.pid, started: "1".to_owned() };
        assert_eq!(speaker(&dead, "s"), Speaker::Person);
        assert!(is_from(&dead, false));
    }

    #[test]
    fn a_script_among_the_arguments_of_a_shell_is_seen() {
        for (words, expected) in [
            ("bash", false),
            ("-bash", false),
            ("bash\0-l\0-i", false),
            ("sh\0-c\0ralph cancel", true),
            ("bash\0-lc\0x", true),
            ("bash\0script.sh", true),
            ("bash\0--norc", false),
        ] {
            assert_eq!(has_script(words.as_bytes()), expected, "{words:?}");
        }
    }
}
