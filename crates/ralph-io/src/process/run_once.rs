//! Starts a program once, as the client would, and reports its output and how long it took.
//!
//! The wait ends with the program, not when its output closes: a grandchild that keeps the pipe
//! open must not make a quick program look slow.

use crate::process::programs;
use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// More than a hook may print; the rest is read and dropped.
const MAX_OUTPUT_BYTES: u64 = 1 << 20;

/// How long output may still arrive after the program has ended.
const LAST_OUTPUT: Duration = Duration::from_millis(500);

/// The program to start.
#[derive(Debug, Clone)]
pub struct Program<'a> {
    /// A path, or a name to find on `PATH`.
    pub command: &'a str,
    pub args: Vec<&'a str>,
    /// The working folder.
    pub folder: &'a Path,
    pub stdin: &'a str,
    /// Variables set in addition to our environment, or instead of it.
    pub env: Vec<(&'a str, &'a OsStr)>,
    /// When its process group is killed.
    pub deadline: Duration,
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramEnd {
    /// It exited with this code.
    Exited(i32),
    /// It was killed by this signal.
    Signalled(i32),
    /// We killed it at the deadline.
    Overdue,
}

/// The result of a program's run.
#[derive(Debug, Clone)]
pub struct ProbeResult {
    pub ended: ProgramEnd,
    pub stdout: String,
    pub stderr: String,
    /// The time from the start to the end of the process.
    pub took: Duration,
}

enum News {
    Stdout(String),
    Stderr(String),
    Exit(std::io::Result<ExitStatus>),
}

/// Runs the program in our environment until it ends, or until the deadline.
pub fn run(program: &Program<'_>) -> Result<ProbeResult> {
    watch(&mut Command::new(found(program)?), program)
}

/// Runs the program with only its own variables: it learns nothing about the machine that the
/// caller did not choose.
pub fn run_apart(program: &Program<'_>) -> Result<ProbeResult> {
    watch(Command::new(found(program)?).env_clear(), program)
}

fn found(program: &Program<'_>) -> Result<PathBuf> {
    let name = Path::new(program.command);
    // As it would be found from the folder in which it runs.
    let name = match name.parent().is_some_and(|folder| folder != Path::new("")) {
        true => program.folder.join(name),
        false => name.to_owned(),
    };
    let found = programs::find_named(&name);
    found.with_context(|| format!("could not start `{}`: it was not found", program.command))
}

fn watch(command: &mut Command, program: &Program<'_>) -> Result<ProbeResult> {
    let started = Instant::now();
    let mut child = command
        .args(&program.args)
        .current_dir(program.folder)
        .envs(program.env.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .with_context(|| format!("could not start `{}`", program.command))?;
    let group = Pid::from_child(&child);
    let (news, arrived) = channel();
    if let Some(mut stdin) = child.stdin.take() {
        let text = program.stdin.to_owned();
        // A program may end without reading its input, so a write error is ignored.
        thread::spawn(move || stdin.write_all(text.as_bytes()));
    }
    if let Some(stdout) = child.stdout.take() {
        collect(stdout, news.clone(), News::Stdout);
    }
    if let Some(stderr) = child.stderr.take() {
        collect(stderr, news.clone(), News::Stderr);
    }
    thread::spawn(move || news.send(News::Exit(child.wait())));

    let mut outcome = ProbeResult {
        ended: ProgramEnd::Overdue,
        stdout: String::new(),
        stderr: String::new(),
        took: program.deadline,
    };
    let mut until = started + program.deadline;
    while let Ok(item) = arrived.recv_timeout(until.saturating_duration_since(Instant::now())) {
        match item {
            News::Stdout(text) => outcome.stdout = text,
            News::Stderr(text) => outcome.stderr = text,
            News::Exit(status) => {
                outcome.took = started.elapsed();
                outcome.ended = ended(status.context("could not wait for it")?);
                until = Instant::now() + LAST_OUTPUT;
            }
        }
    }
    // Nothing that the program started may outlive the probe; usually the group is already empty.
    let _ = kill_process_group(group, Signal::KILL);
    Ok(outcome)
}

fn ended(status: ExitStatus) -> ProgramEnd {
    match (status.code(), status.signal()) {
        (Some(code), _) => ProgramEnd::Exited(code),
        (None, signal) => ProgramEnd::Signalled(signal.unwrap_or_default()),
    }
}

fn collect(pipe: impl Read + Send + 'static, news: Sender<News>, wrap: fn(String) -> News) {
    thread::spawn(move || {
        let mut pipe = pipe;
        let mut bytes = Vec::new();
        let _ = pipe.by_ref().take(MAX_OUTPUT_BYTES).read_to_end(&mut bytes);
        let _ = std::io::copy(&mut pipe, &mut std::io::sink());
        news.send(wrap(String::from_utf8_lossy(&bytes).into_owned()))
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, deadline: Duration) -> ProbeResult {
        let program = Program {
            command: "/bin/sh",
            args: vec!["-c", script],
            folder: Path::new("/"),
            stdin: "hello\n",
            env: vec![("GREETING", OsStr::new("hi"))],
            deadline,
        };
        run(&program).unwrap()
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn it_reads_its_input_and_its_output_comes_back() {
        let outcome = shell("cat; echo $GREETING; echo aside >&2; exit 3", LONG);
        assert_eq!(outcome.stdout, "hello\nhi\n");
        assert_eq!(outcome.stderr, "aside\n");
        assert_eq!(outcome.ended, ProgramEnd::Exited(3));
    }

    #[test]
    fn apart_it_sees_nothing_of_our_environment() {
        let program = Program {
            command: "/usr/bin/env",
            args: Vec::new(),
            folder: Path::new("/"),
            stdin: "",
            env: vec![("GREETING", OsStr::new("hi"))],
            deadline: LONG,
        };
        assert_eq!(run_apart(&program).unwrap().stdout, "GREETING=hi\n");
        assert!(run(&program).unwrap().stdout.contains("\nPATH="));
    }

    #[test]
    fn at_the_deadline_the_whole_group_is_ended() {
        let outcome = shell("sleep 300 & wait", Duration::from_millis(200));
        assert_eq!(outcome.ended, ProgramEnd::Overdue);
    }

    #[test]
    fn a_grandchild_that_holds_the_output_open_does_not_delay_the_answer() {
        let outcome = shell("sleep 300 & exit 0", LONG);
        assert_eq!(outcome.ended, ProgramEnd::Exited(0));
        assert!(outcome.took < LONG / 2);
    }

    #[test]
    fn a_program_that_ends_without_reading_is_well() {
        let big = "x".repeat(5_000_000);
        let program = Program {
            command: "/bin/sh",
            args: vec!["-c", "exit 0"],
            folder: Path::new("/"),
            stdin: &big,
            env: Vec::new(),
            deadline: LONG,
        };
        assert_eq!(run(&program).unwrap().ended, ProgramEnd::Exited(0));
    }

    #[test]
    fn a_signal_is_told_from_an_exit() {
        assert_eq!(shell("kill -9 $$", LONG).ended, ProgramEnd::Signalled(9));
    }
}
