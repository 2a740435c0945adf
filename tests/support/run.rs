//! Runs a program to its end under a deadline and keeps all that it said.
//!
//! The program leads a process group of its own: at the deadline the group is ended, not just the program.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;

/// What a program said and how it ended.
#[derive(Clone, Debug)]
pub struct Run {
    pub stdout: String,
    pub stderr: String,
    /// `None` when a signal ended it.
    pub code: Option<i32>,
    /// Whether the deadline ended it.
    pub timed_out: bool,
}

/// Starts it. A file that was just written is busy until a process that another thread was
/// starting meanwhile has let go of it.
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
            // First politely: the client ends the hooks that it has started in sessions of their own.
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

    /// stdout as one JSON document.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("stdout is not JSON ({error}): {self:?}"))
    }

    /// stdout as one JSON document for each line.
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

/// Lines that are not JSON are a test's failure, except empty ones.
#[track_caller]
pub(super) fn json_lines(text: &str) -> Vec<Value> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("not JSON ({error}): {line}"))
        })
        .collect()
}

/// In a thread, because a program may fill its stdout before it has read its stdin. It may also not read it at all.
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
