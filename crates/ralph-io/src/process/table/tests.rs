//! Both forms answer the same questions about the same processes.

use super::*;
use std::process::{Child, Command, Stdio};

/// More processes than this machine runs.
const NO_PROCESS: u32 = 4_000_000;

/// Both forms of the table, where this system has both.
fn tables() -> Vec<ProcessTable> {
    let ps = ps::rows().map(ProcessTable::Ps).expect("`ps` is part of the system");
    match proc::is_mounted() {
        true => vec![ProcessTable::Proc, ps],
        false => vec![ps],
    }
}

/// A process that waits for its end; ended with the test.
struct Waiting(Child);

impl Waiting {
    fn start() -> Waiting {
        let mut cat = Command::new("cat");
        cat.env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        cat.env("CLAUDE_PID", "4711").arg("-").stdin(Stdio::piped()).stdout(Stdio::null());
        Waiting(cat.spawn().unwrap())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_process_is_below_its_parent_with_its_name_user_group_and_session() {
    let child = Waiting::start();
    let us = std::process::id();
    for table in tables() {
        let row = table.row(child.0.id()).unwrap();
        let ours = table.row(us).unwrap();
        assert_eq!((row.parent, row.name.as_str(), row.has_ended), (us, "cat", false), "{table:?}");
        assert_eq!((row.group, row.session), (ours.group, ours.session));
        assert_eq!(row.has_terminal, ours.has_terminal);
        assert!(row.started >= ours.started);
        assert_eq!(table.own(), Some(us));
        let user = rustix::process::getuid().as_raw();
        assert_eq!((table.user(us), table.user(child.0.id())), (Some(user), Some(user)));
        assert_eq!(table.rows().iter().filter(|row| row.pid == us).count(), 1);
    }
}

#[test]
fn the_children_of_this_process_are_those_that_it_started() {
    let child = Waiting::start();
    for table in tables() {
        let rows = table.rows().into_iter();
        let named: Vec<u32> =
            rows.filter(|row| row.parent == std::process::id()).map(|row| row.pid).collect();
        assert!(named.contains(&child.0.id()), "{named:?}");
    }
}

#[test]
fn a_child_that_has_ended_and_was_not_waited_for_has_ended() {
    let mut child = Command::new("true").spawn().unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    let options = rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT;
    rustix::process::waitid(rustix::process::WaitId::Pid(pid), options).unwrap();
    for table in tables() {
        assert!(table.row(child.id()).unwrap().has_ended, "{table:?}");
    }
    child.wait().unwrap();
    for table in tables() {
        assert_eq!(table.row(child.id()), None);
    }
}

#[test]
fn the_command_line_and_the_environment_are_told_apart() {
    let child = Waiting::start();
    for table in tables() {
        let pids = [child.0.id(), NO_PROCESS];
        let [line, none] = &table.command_lines(&pids)[..] else { panic!() };
        assert!(line.executable.ends_with("cat"), "{line:?}");
        assert_eq!(line.arguments.trim_end_matches('\0'), "cat\0-");
        let mut variables = line.environment.split('\0');
        assert!(variables.any(|one| one == "CLAUDE_PID=4711"), "{line:?}");
        assert_eq!(none, &CommandLine::default());
    }
}

#[test]
fn the_processes_with_a_variable_are_found() {
    let entry = format!("RALPH_TEST_MARK={}", std::process::id());
    let (name, value) = entry.split_once('=').unwrap();
    let mut cat = Command::new("cat");
    let cat = cat.env(name, value).stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
    let marked = Waiting(cat.unwrap());
    let other = Waiting::start();
    let found = ps::with_variable(&entry);
    assert!(found.contains(&marked.0.id()) && !found.contains(&other.0.id()), "{found:?}");
    assert_eq!(ps::with_variable(&format!("{entry}0")), [] as [u32; 0]);
}

#[test]
fn a_start_time_is_that_of_the_row_and_stays() {
    let child = Waiting::start();
    let pid = child.0.id();
    let [first, second] = [ps::start_time(pid), ps::start_time(pid)];
    assert!(first.is_some());
    assert_eq!(first, second);
    for table in tables() {
        let expected = match table {
            ProcessTable::Proc => proc::row(pid).map(|row| row.started),
            ProcessTable::Ps(_) => first,
        };
        assert_eq!(table.row(pid).map(|row| row.started), expected);
    }
    drop(child);
    assert_eq!(ps::start_time(pid), None);
    assert_eq!(proc::row(pid), None);
}

#[test]
fn the_executable_and_the_working_folder_of_a_process_are_found() {
    let child = Waiting::start();
    let pid = child.0.id();
    let here = std::env::current_dir().unwrap();
    for found in [ps::open_file(pid, "cwd"), working_folder(pid)] {
        assert_eq!(found.as_ref(), Some(&here));
    }
    let cat = crate::process::programs::find_on_path("cat").unwrap().canonicalize().unwrap();
    for found in [ps::open_file(pid, "txt"), executable(pid)] {
        assert_eq!(found.unwrap().canonicalize().unwrap(), cat);
    }
    assert_eq!(ps::open_file(NO_PROCESS, "cwd"), None);
}

#[test]
fn a_name_with_brackets_and_spaces_is_read_whole() {
    let stat = b"42 (a) Z (b) S 7 8 9 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 777 0";
    let row = proc::parse(stat).unwrap();
    assert_eq!((row.pid, row.name.as_str(), row.parent), (42, "a) Z (b", 7));
    assert_eq!((row.group, row.session, row.started), (8, 9, 777));
    assert!(!row.has_ended && !row.has_terminal);
    assert_eq!(proc::parse(b""), None);
}
