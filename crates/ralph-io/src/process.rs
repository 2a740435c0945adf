//! Runs child processes under a deadline, each in its own process group.
//!
//! At the deadline the whole group is killed, not only the child. Output beyond a cap is read and
//! dropped, so the child never blocks on a full pipe.

pub mod ancestry;
pub mod bounds;
pub mod clock;
pub mod command;
pub mod elsewhere;
pub mod headless;
pub mod left_running;
pub mod portable;
pub mod process_pool;
pub mod programs;
pub mod random;
#[cfg(test)]
pub(crate) mod sandbox;
pub(crate) mod table;
pub mod wait_any;
pub mod wall;
pub mod watch;

use anyhow::{Context, Result};
use ralph_core::text::secrets;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};
use wait_any::{InterruptRequest, Interrupts};
use watch::Watch;

/// How often a caller is asked whether its program is still wanted.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// A running child whose standard output will be read.
#[derive(Debug)]
pub struct Running {
    child: Child,
    name: String,
    finished: bool,
}

/// The result of a child that has ended.
#[derive(Debug)]
pub struct Finished {
    pub status: ExitStatus,
    /// What it wrote to standard output, up to the cap.
    pub stdout: Vec<u8>,
    /// True if it wrote more than the cap.
    pub capped: bool,
}

/// Starts a command with empty standard input; its standard error is dropped.
pub fn start(command: &mut Command) -> Result<Running> {
    start_with_input(command.stdin(Stdio::null()))
}

fn start_with_input(command: &mut Command) -> Result<Running> {
    start_as_given(command.stderr(Stdio::null()))
}

/// Starts a command whose standard input and standard error the caller has set.
pub(crate) fn start_as_given(command: &mut Command) -> Result<Running> {
    let name = command.get_program().to_string_lossy().into_owned();
    let child = command
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .with_context(|| format!("could not start `{name}`"))?;
    Ok(Running { child, name, finished: false })
}

impl Running {
    /// The process group that the child leads.
    pub(crate) fn group(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Reads the output to its end and waits for the child.
    ///
    /// # Errors
    /// If the deadline passes first; the whole group is then killed.
    pub fn finish(mut self, deadline: Instant, cap: usize) -> Result<Finished> {
        let mut stdout = self.child.stdout.take().context("standard output is not a pipe")?;
        let mut kept = Vec::new();
        let capped = drain(&mut stdout, &mut kept, deadline, cap)
            .with_context(|| format!("`{}` did not finish in time", self.name))?;
        self.finished_with(kept, capped)
    }

    fn finished_with(mut self, stdout: Vec<u8>, capped: bool) -> Result<Finished> {
        let status =
            self.child.wait().with_context(|| format!("could not wait for `{}`", self.name))?;
        self.finished = true;
        Ok(Finished { status, stdout, capped })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.finished {
            if let Some(group) = self.group() {
                let _ = kill_process_group(group, Signal::KILL);
            }
            let _ = self.child.wait();
        }
    }
}

/// Reads until the end of the pipe; returns whether anything was dropped.
fn drain(
    pipe: &mut ChildStdout,
    kept: &mut Vec<u8>,
    deadline: Instant,
    cap: usize,
) -> Result<bool> {
    let mut piece = vec![0; 64 * 1024];
    let mut capped = false;
    loop {
        wait_readable(pipe, deadline)?;
        match pipe.read(&mut piece)? {
            0 => return Ok(capped),
            read => {
                let fits = read.min(cap.saturating_sub(kept.len()));
                kept.extend_from_slice(&piece[..fits]);
                capped |= fits < read;
            }
        }
    }
}

fn wait_readable(pipe: &ChildStdout, deadline: Instant) -> Result<()> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).unwrap_or(Timespec { tv_sec: 3600, tv_nsec: 0 });
        match poll(&mut [PollFd::new(pipe, PollFlags::IN)], Some(&left)) {
            Ok(0) => anyhow::bail!("the deadline passed"),
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Runs a program and keeps its standard input open until it has ended. To the program, the end of
/// its input means that we have died, for whatever reason.
pub fn outlive(
    program: &Path,
    arguments: &[&str],
    deadline: Duration,
    cap: usize,
) -> Result<Finished> {
    let began = Instant::now();
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped());
    start_with_input(&mut command)?.finish(began + deadline, cap)
}

/// Runs a program with this process's own standard input; what it says of errors is part of its output.
pub fn with_own_input(
    program: &Path,
    arguments: &[&str],
    deadline: Duration,
    cap: usize,
) -> Result<Finished> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "exec \"$0\" \"$@\" 2>&1"]).arg(program).args(arguments);
    start_with_input(command.stdin(Stdio::inherit()))?.finish(Instant::now() + deadline, cap)
}

/// As [`outlive`], until the user asks to end at once. Then it returns `None`, and the program and what
/// reads its pipes to the end are on their way out.
pub fn outlive_unless_ended(
    program: &Path,
    arguments: &[&str],
    deadline: Duration,
    cap: usize,
    interrupts: &Interrupts,
) -> Result<Option<Finished>> {
    let deadline = Instant::now() + deadline;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped());
    let mut running = start_with_input(&mut command)?;
    let mut stdout = running.child.stdout.take().context("standard output is not a pipe")?;
    let (mut piece, mut kept, mut capped) = (vec![0; 64 * 1024], Vec::new(), false);
    while interrupts.asked() < InterruptRequest::End {
        let is_readable = interrupts.wait(&[stdout.as_fd()], deadline);
        if is_readable == [true] {
            let read = stdout.read(&mut piece)?;
            if read == 0 {
                return running.finished_with(kept, capped).map(Some);
            }
            let fits = read.min(cap.saturating_sub(kept.len()));
            kept.extend_from_slice(&piece[..fits]);
            capped |= fits < read;
        } else if Instant::now() >= deadline {
            anyhow::bail!("`{}` did not finish in time", running.name);
        }
    }
    Ok(None)
}

/// As [`outlive`], as long as it is wanted. `is_wanted` is asked after each change that the watch
/// sees, and every second. Returns `None` if the program was ended.
pub fn outlive_while(
    program: &Path,
    arguments: &[&str],
    watch: &Watch,
    mut is_wanted: impl FnMut() -> bool,
) -> Result<Option<ExitStatus>> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped());
    let mut running = start_with_input(&mut command)?;
    let mut stdout = running.child.stdout.take().context("standard output is not a pipe")?;
    let mut piece = [0; 4096];
    let mut ask_at = Instant::now() + ASK_AGAIN;
    loop {
        let mut ends = vec![PollFd::new(&stdout, PollFlags::IN)];
        ends.extend(watch.as_fd().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        let left = watch.look_before(ask_at).saturating_duration_since(Instant::now());
        match poll(&mut ends, Some(&Timespec::try_from(left)?)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let is_ready: Vec<bool> = ends.iter().map(|end| !end.revents().is_empty()).collect();
        let has_changed = watch.take_change(is_ready.get(1) == Some(&true))?;
        if is_ready[0] && stdout.read(&mut piece)? == 0 {
            return running.finished_with(Vec::new(), false).map(|ended| Some(ended.status));
        }
        if has_changed || Instant::now() >= ask_at {
            if !is_wanted() {
                return Ok(None);
            }
            ask_at = Instant::now() + ASK_AGAIN;
        }
    }
}

/// Starts a program that outlives this process, and does not wait for it. It inherits none of the
/// client's secrets; one that `redacts` gets them as JSON on its standard input.
///
/// # Errors
/// If it cannot be started.
pub fn start_apart<A: AsRef<OsStr>>(program: &Path, arguments: &[A], redacts: bool) -> Result<()> {
    let mut command = Command::new(program);
    command.args(arguments);
    // What it starts could read the environment of its parent.
    let mut taken = Vec::new();
    for (name, value) in std::env::vars_os() {
        if let Some(name) = name.to_str().filter(|name| secrets::is_clients_secret(name)) {
            command.env_remove(name);
            taken.push((name.to_owned(), value.to_string_lossy().into_owned()));
        }
    }
    // The client waits until every copy of a hook's output is closed.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.stdin(if redacts { Stdio::piped() } else { Stdio::null() });
    let child = command.spawn();
    let child = child.with_context(|| format!("could not start `{}`", program.display()))?;
    if let Some(mut stdin) = child.stdin {
        // One that ends before it has read them has told nobody anything.
        let _ = stdin.write_all(&serde_json::to_vec(&taken)?);
    }
    Ok(())
}

/// Runs a command to its end and returns its output.
pub fn output(command: &mut Command, deadline: Duration, cap: usize) -> Result<Finished> {
    start(command)?.finish(Instant::now() + deadline, cap)
}

/// Leaves the terminal and the process group of the process that started this one: a signal to
/// either no longer reaches it.
pub fn lead_own_session() {
    // An error means that we already lead a POSIX session.
    let _ = rustix::process::setsid();
}

// Starts a program once, as the client would, and reports its output and how long it took.
//
// The wait ends with the program, not when its output closes: a grandchild that keeps the pipe
// open must not make a quick program look slow.

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
pub fn run_once(program: &Program<'_>) -> Result<ProbeResult> {
    watch(&mut Command::new(found(program)?), program)
}

/// Runs the program with only its own variables: it learns nothing about the machine that the
/// caller did not choose.
pub fn run_once_apart(program: &Program<'_>) -> Result<ProbeResult> {
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

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn output_beyond_the_cap_is_dropped_and_the_child_still_ends() {
        let long = "head -c 1000000 /dev/zero; exit 3";
        let finished = output(&mut sh(long), Duration::from_secs(20), 10).unwrap();
        assert_eq!((finished.stdout.len(), finished.capped), (10, true));
        assert_eq!(finished.status.code(), Some(3));
    }

    #[test]
    fn a_program_that_is_not_wanted_after_a_change_is_ended_and_another_ends_by_itself() {
        let folder = tempfile::tempdir().unwrap();
        let watch = Watch::begin(&[folder.path()]).unwrap();
        let script =
            format!("touch '{0}/a'; mv '{0}/a' '{0}/b'; sleep 100", folder.path().display());
        let run = |script: &str, wanted: bool| {
            let arguments = ["-c", script];
            outlive_while(Path::new("/bin/sh"), &arguments, &watch, || wanted).unwrap()
        };
        let began = Instant::now();
        assert_eq!(run(&script, false), None);
        assert!(began.elapsed() < Duration::from_secs(50));
        assert_eq!(run("sleep 1.2; exit 3", true).and_then(|status| status.code()), Some(3));
    }

    #[test]
    fn at_the_deadline_the_whole_group_is_ended() {
        let began = Instant::now();
        let error = output(&mut sh("sleep 100 & sleep 100"), Duration::from_millis(50), 10);
        assert!(format!("{:#}", error.unwrap_err()).contains("did not finish in time"));
        assert!(began.elapsed() < Duration::from_secs(20));
    }
}

#[cfg(test)]
mod run_once_tests {
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
        run_once(&program).unwrap()
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
        assert_eq!(run_once_apart(&program).unwrap().stdout, "GREETING=hi\n");
        assert!(run_once(&program).unwrap().stdout.contains("\nPATH="));
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
        assert_eq!(run_once(&program).unwrap().ended, ProgramEnd::Exited(0));
    }

    #[test]
    fn a_signal_is_told_from_an_exit() {
        assert_eq!(shell("kill -9 $$", LONG).ended, ProgramEnd::Signalled(9));
    }
}
