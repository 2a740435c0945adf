//! Runs a program to its end under a deadline and keeps all of its output.
//!
//! The program leads a process group of its own; the deadline ends the group, not just the program.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;

#[derive(Clone, Debug)]
pub struct Run {
    pub stdout: String,
    pub stderr: String,
    /// `None` if a signal ended it.
    pub code: Option<i32>,
    /// Whether the deadline ended it.
    pub timed_out: bool,
}

/// Starts the command. A file that was just written stays busy while a process that another thread
/// was starting at that moment holds it open.
fn spawn(command: &mut Command, deadline: Instant) -> Child {
    loop {
        match command.spawn() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {
                assert!(Instant::now() < deadline, "{command:?} stays busy");
                thread::yield_now();
            }
            started => {
                return started.unwrap_or_else(|e| panic!("could not start {command:?}: {e}"));
            }
        }
    }
}

impl Run {
    /// Runs `command` with `stdin`, and ends its whole group at the deadline.
    pub fn of(mut command: Command, stdin: &str, patience: Duration) -> Run {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let mut child = spawn(&mut command, Instant::now() + patience);
        let group = Pid::from_child(&child);
        let feeding = feed(&mut child, stdin);
        let stdout = collect(child.stdout.take().expect("stdout is piped"));
        let stderr = collect(child.stderr.take().expect("stderr is piped"));
        let (ended, end) = mpsc::channel();
        let waiting = thread::spawn(move || ended.send(child.wait()));
        let in_time = end.recv_timeout(patience).ok();
        let timed_out = in_time.is_none();
        let status = in_time.unwrap_or_else(|| {
            // SIGTERM first, so that the client ends the hooks, which it started in POSIX sessions
            // of their own.
            let _ = kill_process_group(group, Signal::TERM);
            end.recv_timeout(Duration::from_secs(5)).unwrap_or_else(|_| {
                let _ = kill_process_group(group, Signal::KILL);
                end.recv().expect("the waiting thread answers")
            })
        });
        drop((waiting.join(), feeding.join()));
        let code = status.expect("a child can be waited for").code();
        Run {
            stdout: stdout.join().expect("stdout is read"),
            stderr: stderr.join().expect("stderr is read"),
            code,
            timed_out,
        }
    }

    /// Standard output as one JSON document.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("stdout is not JSON ({error}): {self:?}"))
    }

    /// Standard output as one JSON document for each line.
    #[track_caller]
    pub fn json_lines(&self) -> Vec<Value> {
        json_lines(&self.stdout)
    }

    /// Fails the test unless the program ended with this code.
    #[track_caller]
    pub fn exits(self, code: i32) -> Run {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }
}

/// Parses each line; empty lines are skipped, and a line that is not JSON fails the test.
#[track_caller]
pub(super) fn json_lines(text: &str) -> Vec<Value> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("not JSON ({error}): {line}"))
        })
        .collect()
}

/// Writes in a thread, because a program may fill its stdout before it has read its stdin, or may
/// never read it.
fn feed(child: &mut Child, stdin: &str) -> JoinHandle<()> {
    let mut pipe = child.stdin.take().expect("stdin is piped");
    let bytes = stdin.as_bytes().to_vec();
    thread::spawn(move || drop(pipe.write_all(&bytes)))
}

fn collect(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        drop(pipe.read_to_end(&mut bytes));
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
