//! Finds this process's ancestors, and who created its standard input.
//!
//! Used by commands that only the user may give while a loop is live, and by a hook of a live loop
//! whose standard input is not the client's. macOS does not show who created a socket, and shows an
//! executable by the name that the process gave itself.

use crate::client;
use crate::process;
use crate::process::table::{self, CommandLine, ProcessRow, ProcessTable};
use ralph_core::guard::speaker::{self, Input, Process, ProcessLine, Speaker, Top};
use ralph_core::protocol::registration::{COMMAND_LINE, USER_PROMPT};
use ralph_core::state::ClientProcess;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// More ancestors than any terminal has.
const MOST: usize = 64;

/// The inode number that the kernel gives the initial PID namespace.
const OF_ALL_PROCESSES: u64 = 0xEFFF_FFFC;

/// The same of the initial time namespace. In another one all start times differ.
const OF_TRUE_TIME: u64 = 0xEFFF_FFFA;

/// Decides who gave this command, for a loop whose client is `of`: the person if that client has
/// ended; unseen inside a sandbox that may hide the client, or shows no processes at all.
pub fn speaker(of: &ClientProcess, session_id: &str) -> Speaker {
    speaker_in(ProcessTable::read(), of, session_id)
}

fn speaker_in(table: Option<ProcessTable>, of: &ClientProcess, session_id: &str) -> Speaker {
    let Some(table) = table else { return Speaker::Unseen };
    if is_alive(&table, of) {
        return speaker::of_command(&line(&table), of, session_id, adopter);
    }
    match may_hide(&table, of) {
        true => Speaker::Unseen,
        false => Speaker::Person,
    }
}

/// True if a client that this process does not see may be alive. A sandbox has its own process ids, and
/// its first process is younger than the client that it confines. A terminal in it proves nothing:
/// any program can make one.
fn may_hide(table: &ProcessTable, client: &ClientProcess) -> bool {
    let is_young = || client::sandbox::is_inside() || is_younger_than(table, client);
    has_its_own_time() || !sees_everything() && is_young()
}

/// True if a client that this process does not see may be alive, since the client's sandbox hides it.
pub fn clients_are_hidden() -> bool {
    let is_below_client = || {
        let table = ProcessTable::read()?;
        let (rows, _) = rows_to_the_top(&table);
        Some(rows.iter().skip(1).any(|row| is_client(&table, row.pid)))
    };
    // A client may itself run below bubblewrap.
    has_its_own_time() || client::sandbox::is_inside() && is_below_client() != Some(true)
}

/// Decides who gave this command when the loop's state, which names its client, cannot be read. Any
/// client may be the one.
pub fn speaker_among_clients() -> Speaker {
    let Some(table) = ProcessTable::read() else { return Speaker::Unseen };
    let line = line(&table);
    let clients = clients(&table);
    if is_below(&table, &line) {
        return Speaker::Model;
    }
    // The oldest client: a process older than all clients was started by none of them.
    if let Some(oldest) = clients.into_iter().min_by_key(|client| client.started) {
        let of = ClientProcess { pid: oldest.pid, started: oldest.started.to_string() };
        return speaker::of_command(&line, &of, "", adopter);
    }
    match sees_everything() || is_entered(&table) && !client::sandbox::is_inside() {
        true => Speaker::Person,
        false => Speaker::Unseen,
    }
}

/// True if this command runs below a client, as far as the system shows its ancestors.
pub fn is_below_client() -> bool {
    ProcessTable::read().is_none_or(|table| is_below(&table, &line(&table)))
}

fn is_below(table: &ProcessTable, line: &ProcessLine) -> bool {
    speaker::is_below_any_client(line)
        || line.processes.iter().skip(1).any(|one| is_client(table, one.pid))
}

/// True if a client of this user works in this folder or below it.
pub fn a_client_works_in(folder: &Path) -> bool {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let clients = ProcessTable::read().map(|table| clients(&table)).unwrap_or_default();
    clients.into_iter().any(|client| {
        table::working_folder(client.pid).is_some_and(|place| place.starts_with(&folder))
    })
}

/// The environment that a client gave to the shell in which this command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientShell(String);

impl ClientShell {
    /// That of the nearest ancestor that has a client's variables. `None` if there is none, or if Ralph
    /// itself started this command there: a criterion's commands are not the model's.
    pub fn above() -> Option<ClientShell> {
        let table = ProcessTable::read()?;
        let (rows, _) = rows_to_the_top(&table);
        let pids: Vec<u32> = rows.iter().skip(1).map(|row| row.pid).collect();
        for CommandLine { executable, environment, .. } in table.command_lines(&pids) {
            let is_ralph = executable.file_name().is_some_and(|name| name == COMMAND_LINE);
            // What a round leaves behind belongs to `ralph round`, which has the round's variables.
            if value(&environment, client::SANDBOXED).is_some()
                || !is_ralph && is_marked(|name| value(&environment, name))
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

/// True if the hook that answers what the user types has started this process.
pub fn is_of_the_prompt() -> bool {
    let parent = std::os::unix::process::parent_id();
    let hook = std::env::current_exe().map(|own| own.with_file_name(USER_PROMPT));
    table::executable(parent).is_some_and(|parent| hook.is_ok_and(|hook| hook == parent))
}

/// The nearest ancestor that is a client.
pub fn client_above() -> Option<ClientProcess> {
    let table = ProcessTable::read()?;
    let (rows, _) = rows_to_the_top(&table);
    let pids: Vec<u32> = rows.iter().map(|row| row.pid).collect();
    let above = rows.into_iter().zip(table.command_lines(&pids)).skip(1);
    let (row, _) = above.into_iter().find(|(_, line)| is_client_line(line))?;
    Some(ClientProcess { pid: row.pid, started: row.started.to_string() })
}

fn is_alive(table: &ProcessTable, of: &ClientProcess) -> bool {
    table.row(of.pid).is_some_and(|row| row.started.to_string() == of.started)
}

/// The clients that this user runs.
fn clients(table: &ProcessTable) -> Vec<ProcessRow> {
    let user = table.own().and_then(|own| table.user(own));
    let mut rows = table.rows();
    rows.retain(|row| table.user(row.pid) == user);
    let pids: Vec<u32> = rows.iter().map(|row| row.pid).collect();
    let lines = table.command_lines(&pids);
    let both = rows.into_iter().zip(lines);
    both.filter(|(_, line)| is_client_line(line)).map(|(row, _)| row).collect()
}

fn is_client(table: &ProcessTable, pid: u32) -> bool {
    table.command_lines(&[pid]).iter().any(is_client_line)
}

/// True if a process is a client, judged by its executable, or by the script that its runtime was
/// given.
pub(super) fn is_client_line(line: &CommandLine) -> bool {
    speaker::is_client(&line.executable.to_string_lossy(), &line.arguments)
}

/// True if this hook's event comes from the client in which the loop was last seen, and also where
/// that is unknown. `drives` means that the recorded process is a driver, whose child is the
/// client.
pub fn is_from(of: &ClientProcess, drives: bool) -> bool {
    if of.pid == 0 {
        return true;
    }
    let maker = maker_of_input();
    if maker == Some(of.pid) && !drives {
        return true;
    }
    let Some(table) = ProcessTable::read() else { return true };
    let executable = |pid: u32| table.command_lines(&[pid]).remove(0).executable;
    if !is_alive(&table, of) {
        let may_be_client =
            |pid: u32| speaker::answers_by_socket(&executable(pid).to_string_lossy());
        // A later client is above its hooks.
        let is_below =
            || rows_to_the_top(&table).0.iter().skip(1).any(|row| may_be_client(row.pid));
        return !may_hide(&table, of) || !has_its_own_time() && is_below();
    }
    let line = line_for_event(&table, of);
    // The model can set the variable that `drives` comes from, but not its client's executable.
    let drives = drives && executable(of.pid).ends_with(COMMAND_LINE);
    let of = match drives {
        true => child_of(&line, of, executable).unwrap_or_else(|| of.clone()),
        false => of.clone(),
    };
    let input = match maker {
        Some(pid) => Input::Socket(pid),
        None => Input::Other,
    };
    let by_socket =
        table.is_exact() && speaker::answers_by_socket(&executable(of.pid).to_string_lossy());
    speaker::is_from_client(&line, &of, input, by_socket, adopter)
}

/// The process that adopts this one's orphans: init, or the nearest ancestor that asked for them, which
/// no table shows. So one orphan is made and looked at; it ends with the pipe that it reads.
fn adopter() -> Option<u32> {
    let orphan = || -> anyhow::Result<Option<u32>> {
        let (input, held) = std::io::pipe()?;
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "exec 3<&0; (exec <&3 >&- 2>&-; read x) & echo $!"]).stdin(input);
        let shell = process::start_as_given(shell.stderr(std::process::Stdio::null()))?;
        let done = shell.finish(Instant::now() + Duration::from_secs(2), 64)?;
        let pid: u32 = String::from_utf8(done.stdout)?.trim().parse()?;
        let row = ProcessTable::read().and_then(|table| table.row(pid));
        drop(held);
        Ok(row.map(|row| row.parent))
    };
    orphan().ok().flatten()
}

/// Without command lines where they take two more runs of `ps`, and the client is an ancestor.
fn line_for_event(table: &ProcessTable, of: &ClientProcess) -> ProcessLine {
    if !table.is_exact() {
        let (rows, top) = rows_to_the_top(table);
        let bare = described(table, rows, |pids| vec![CommandLine::default(); pids.len()], top);
        if bare.processes.iter().any(|one| one.pid == of.pid) {
            return bare;
        }
    }
    line(table)
}

/// The client that this driver started: the first process below it that is not Ralph's own.
fn child_of(
    line: &ProcessLine,
    driver: &ClientProcess,
    executable: impl Fn(u32) -> std::path::PathBuf,
) -> Option<ClientProcess> {
    let at = line.processes.iter().position(|one| one.pid == driver.pid)?;
    let mut below = line.processes[..at].iter().rev();
    let child = below.find(|one| !executable(one.pid).ends_with(COMMAND_LINE))?;
    Some(ClientProcess { pid: child.pid, started: child.started.to_string() })
}

/// True in the initial PID namespace, which contains every process of the machine. Only Linux has
/// others.
fn sees_everything() -> bool {
    cfg!(not(target_os = "linux"))
        || fs::metadata("/proc/self/ns/pid").is_ok_and(|space| space.ino() == OF_ALL_PROCESSES)
}

fn has_its_own_time() -> bool {
    cfg!(target_os = "linux")
        && fs::metadata("/proc/self/ns/time").is_ok_and(|space| space.ino() != OF_TRUE_TIME)
}

fn is_younger_than(table: &ProcessTable, client: &ClientProcess) -> bool {
    let first = table.row(1).map(|first| first.started);
    match (first, client.started.parse::<u64>()) {
        (Some(first), Ok(client)) => first > client,
        _ => true,
    }
}

/// True if this process was brought into its namespace from outside, or if the first process of the
/// namespace has a terminal: a container that someone has opened.
fn is_entered(table: &ProcessTable) -> bool {
    line(table).top == Top::Outside || table.row(1).is_some_and(|first| first.has_terminal)
}

/// The process that created standard input, if that is a socket.
#[cfg(not(target_os = "linux"))]
fn maker_of_input() -> Option<u32> {
    None
}

/// The process that created standard input, if that is a socket.
#[cfg(target_os = "linux")]
fn maker_of_input() -> Option<u32> {
    if crate::process::portable::is_used() {
        return None;
    }
    let maker = rustix::net::sockopt::socket_peercred(std::io::stdin()).ok()?;
    u32::try_from(maker.pid.as_raw_nonzero().get()).ok()
}

/// This process and its ancestors.
fn line(table: &ProcessTable) -> ProcessLine {
    let (rows, top) = rows_to_the_top(table);
    described(table, rows, |pids| table.command_lines(pids), top)
}

fn described(
    table: &ProcessTable,
    rows: Vec<ProcessRow>,
    command_lines: impl Fn(&[u32]) -> Vec<CommandLine>,
    top: Top,
) -> ProcessLine {
    let pids: Vec<u32> = rows.iter().map(|row| row.pid).collect();
    let lines = command_lines(&pids);
    let processes = rows.into_iter().zip(lines).map(|(row, line)| about(table, &row, &line));
    ProcessLine { processes: processes.collect(), top }
}

fn rows_to_the_top(table: &ProcessTable) -> (Vec<ProcessRow>, Top) {
    let mut rows: Vec<ProcessRow> = Vec::new();
    let Some(mut pid) = table.own() else { return (rows, Top::Broken) };
    loop {
        let Some(row) = table.row(pid) else {
            let top = match rows.is_empty() || pid == 1 {
                true => Top::Broken,
                false => Top::Hidden,
            };
            return (rows, top);
        };
        let parent = row.parent;
        rows.push(row);
        match parent {
            0 if pid != 1 => return (rows, Top::Outside),
            0 => return (rows, Top::First),
            _ if rows.len() >= MOST => return (rows, Top::Broken),
            parent => pid = parent,
        }
    }
}

/// The first process is named for its role, whatever its executable.
fn name(table: &ProcessTable, row: &ProcessRow, line: &CommandLine) -> String {
    match line.executable.file_name() {
        _ if row.pid == 1 => "init".to_owned(),
        Some(file) if table.is_exact() => file.to_string_lossy().into_owned(),
        _ => row.name.clone(),
    }
}

fn about(table: &ProcessTable, row: &ProcessRow, line: &CommandLine) -> Process {
    // Of ourselves, the system may show nothing.
    let variable = |name: &str| match row.pid == std::process::id() {
        true => std::env::var(name).ok(),
        false => value(&line.environment, name),
    };
    let number = variable("CLAUDE_PID").and_then(|value| value.parse().ok()).unwrap_or(0);
    Process {
        pid: row.pid,
        started: row.started,
        name: name(table, row, line),
        client: is_marked(variable).then_some(number),
        client_session: variable("CLAUDE_CODE_SESSION_ID").unwrap_or_default(),
    }
}

/// True for an environment with a client's variables.
fn is_marked(variable: impl Fn(&str) -> Option<String>) -> bool {
    ["CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PID"]
        .iter()
        .any(|name| variable(name).is_some_and(|value| !value.is_empty()))
}

fn value(environment: &str, name: &str) -> Option<String> {
    let entry =
        environment.split('\0').find_map(|entry| entry.strip_prefix(name)?.strip_prefix('='))?;
    Some(entry.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Set in the process that such a test starts.
    const BELOW: &str = "RALPH_TEST_BELOW";

    #[test]
    fn the_nearest_client_above_is_found() {
        if std::env::var_os(BELOW).is_some() {
            let above = client_above().unwrap();
            assert!(is_alive(&ProcessTable::read().unwrap(), &above));
            return println!("found {}", above.pid);
        }
        let folder = tempfile::tempdir().unwrap();
        let client = folder.path().join("claude");
        // By another process: a file that is still open for writing cannot be started.
        assert!(Command::new("cp").arg("/bin/sh").arg(&client).status().unwrap().success());
        let mut shell = Command::new(&client);
        shell.args(["-c", "echo client $$; \"$@\"; exit $?", "sh"]);
        shell.arg(std::env::current_exe().unwrap()).args(["--nocapture", "--exact"]);
        let name = "process::ancestry::tests::the_nearest_client_above_is_found";
        let output = shell.arg(name).env(BELOW, "1").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let of = |word: &str| text.lines().find_map(|line| line.strip_prefix(word));
        assert!(of("client ").is_some() && of("client ") == of("found "), "{text}");
    }

    #[test]
    fn the_line_begins_with_this_process_and_ends_at_the_first() {
        let line = line(&ProcessTable::read().unwrap());
        assert_eq!(line.processes[0].pid, std::process::id());
        assert!(line.processes.len() > 1, "{line:?}");
        assert!(matches!(line.top, Top::First | Top::Outside | Top::Hidden), "{line:?}");
        assert!(line.processes.windows(2).all(|pair| pair[0].started >= pair[1].started));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_adopter_of_orphans_is_init_or_the_nearest_ancestor_that_asked_for_them() {
        if std::env::var_os(BELOW).is_some() {
            let own = rustix::process::getpid();
            let (rows, top) = rows_to_the_top(&ProcessTable::read().unwrap());
            let before = adopter().unwrap();
            assert!(top == Top::Outside || rows.iter().any(|row| row.pid == before), "{before}");
            rustix::process::set_child_subreaper(Some(own)).unwrap();
            return assert_eq!(adopter(), Some(std::process::id()));
        }
        let name = "process::ancestry::tests::the_adopter_of_orphans_is_init_or_the_nearest_ancestor_that_asked_for_them";
        let mut below = Command::new(std::env::current_exe().unwrap());
        let ended = below.args([name, "--exact"]).env(BELOW, "1").output().unwrap();
        let text = String::from_utf8(ended.stdout).unwrap();
        assert!(ended.status.success() && text.contains("1 passed"), "{text}");
    }

    #[test]
    fn without_a_process_table_nobody_counts_as_a_person() {
        let us = client::this_process();
        let dead = ClientProcess { pid: us.pid, started: "1".to_owned() };
        assert_eq!(speaker_in(None, &us, "s"), Speaker::Unseen);
        assert_eq!(speaker_in(None, &dead, "s"), Speaker::Unseen);
    }

    #[test]
    fn what_this_process_is_itself_speaks_for_the_client() {
        let us = client::this_process();
        assert_eq!(speaker(&us, "s"), Speaker::Model);
        let dead = ClientProcess { pid: us.pid, started: "1".to_owned() };
        assert_eq!(speaker(&dead, "s"), Speaker::Person);
        assert!(is_from(&dead, false));
    }
}
