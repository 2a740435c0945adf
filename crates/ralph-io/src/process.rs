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
pub(crate) mod waits;
pub mod wall;
pub mod watch;

use crate::process::waits::{FAR, LAST_OUTPUT, STILL_WANTED};
use anyhow::{Context, Result, bail};
use ralph_core::text::secrets;
use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsStr;
use std::io::{ErrorKind, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};
use wait_any::{InterruptRequest, Interrupts};
use watch::{Watch, poll_until};

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
    start_as_given(command.stdin(Stdio::null()).stderr(Stdio::null()))
}

/// Starts a program and keeps its standard input open until it has ended. To the program, the end of
/// its input means that we have died, for whatever reason.
pub fn start_held(program: &Path, arguments: &[&str]) -> Result<Running> {
    let mut command = Command::new(program);
    start_as_given(command.args(arguments).stdin(Stdio::piped()).stderr(Stdio::null()))
}

/// Starts a program with this process's own standard input; what it says of errors is part of its output.
pub fn start_with_own_input(program: &Path, arguments: &[&str]) -> Result<Running> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "exec \"$0\" \"$@\" 2>&1"]).arg(program).args(arguments);
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
    pub fn finish(self, deadline: Instant, cap: usize) -> Result<Finished> {
        let finished = self.finish_while(deadline, cap, wait_readable)?;
        finished.context("the program was ended")
    }

    /// As [`Running::finish`], until the user asks to end at once. Then it returns `None`, and the program
    /// and what reads its pipes to the end are on their way out.
    pub fn finish_unless_ended(
        self,
        deadline: Instant,
        cap: usize,
        interrupts: &Interrupts,
    ) -> Result<Option<Finished>> {
        self.finish_while(deadline, cap, |output, until| {
            let is_wanted = interrupts.asked() < InterruptRequest::End;
            Ok(is_wanted.then(|| interrupts.wait(&[output], until) == [true]))
        })
    }

    /// Waits for the child as long as it is wanted, and drops its output. `is_wanted` is asked after each
    /// change that the watch sees, and every second. Returns `None` if the child was ended.
    pub fn finish_while_wanted(
        self,
        watch: &Watch,
        mut is_wanted: impl FnMut() -> bool,
    ) -> Result<Option<ExitStatus>> {
        let mut ask_at = Instant::now() + STILL_WANTED;
        let finished = self.finish_while(Instant::now() + FAR, 0, |output, _| {
            let mut ends = vec![PollFd::from_borrowed_fd(output, PollFlags::IN)];
            ends.extend(watch.as_fd().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
            poll_until(&mut ends, watch.look_before(ask_at))?;
            let is_ready: Vec<bool> = ends.iter().map(|end| !end.revents().is_empty()).collect();
            if watch.take_change(is_ready.get(1) == Some(&true))? {
                ask_at = Instant::now();
            }
            if !is_ready[0] && Instant::now() >= ask_at {
                if !is_wanted() {
                    return Ok(None);
                }
                ask_at = Instant::now() + STILL_WANTED;
            }
            Ok(Some(is_ready[0]))
        });
        Ok(finished?.map(|ended| ended.status))
    }

    /// `wait` waits until the output is readable, which it returns, or something else has happened; with
    /// `None` the child is not wanted any more.
    fn finish_while(
        mut self,
        deadline: Instant,
        cap: usize,
        wait: impl FnMut(BorrowedFd<'_>, Instant) -> Result<Option<bool>>,
    ) -> Result<Option<Finished>> {
        let mut pipe = self.child.stdout.take().context("standard output is not a pipe")?;
        let read = read_to_end(&mut pipe, deadline, cap, wait);
        let read = read.with_context(|| format!("`{}` did not finish in time", self.name))?;
        let Some((stdout, capped)) = read else { return Ok(None) };
        let status =
            self.child.wait().with_context(|| format!("could not wait for `{}`", self.name))?;
        self.finished = true;
        Ok(Some(Finished { status, stdout, capped }))
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

/// Reads until the end of the pipe, or until `wait` returns `None`. Returns what was read up to the cap, and
/// whether anything was dropped.
///
/// # Errors
/// If the deadline passes first.
pub(crate) fn read_to_end(
    pipe: &mut ChildStdout,
    deadline: Instant,
    cap: usize,
    mut wait: impl FnMut(BorrowedFd<'_>, Instant) -> Result<Option<bool>>,
) -> Result<Option<(Vec<u8>, bool)>> {
    let (mut piece, mut kept, mut capped) = (vec![0; PIECE], Vec::new(), false);
    loop {
        match wait(pipe.as_fd(), deadline)? {
            None => return Ok(None),
            Some(false) if Instant::now() >= deadline => bail!("the deadline passed"),
            Some(false) => continue,
            Some(true) => {}
        }
        match pipe.read(&mut piece)? {
            0 => return Ok(Some((kept, capped))),
            read => {
                let fits = read.min(cap.saturating_sub(kept.len()));
                kept.extend_from_slice(&piece[..fits]);
                capped |= fits < read;
            }
        }
    }
}

/// How much is read at once.
pub(crate) const PIECE: usize = 64 * 1024;

/// A pipe whose reads never block.
pub(crate) fn pipe() -> Result<(PipeReader, PipeWriter)> {
    let (reader, writer) = std::io::pipe().context("could not make a pipe")?;
    rustix::io::ioctl_fionbio(&reader, true).context("could not make a pipe")?;
    Ok((reader, writer))
}

/// Reads some bytes; `None` if there are none now, or the pipe has ended, which takes it away.
pub(crate) fn read_some(pipe: &mut Option<PipeReader>, bytes: &mut [u8]) -> Option<usize> {
    loop {
        match pipe.as_mut()?.read(bytes) {
            Ok(0) => *pipe = None,
            Ok(read) => return Some(read),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
            Err(_) => *pipe = None,
        }
    }
}

/// Waits for the output alone, as [`read_to_end`] asks for it.
pub(crate) fn wait_readable(pipe: BorrowedFd<'_>, until: Instant) -> Result<Option<bool>> {
    poll_until(&mut [PollFd::from_borrowed_fd(pipe, PollFlags::IN)], until).map(Some)
}

/// Starts a program that outlives this process, and does not wait for it. It inherits none of the
/// client's secrets; one that `redacts` gets them as JSON on its standard input.
///
/// # Errors
/// If it cannot be started.
pub fn start_apart<A: AsRef<OsStr>>(program: &Path, arguments: &[A], redacts: bool) -> Result<()> {
    let mut command = Command::new(program);
    command.args(arguments);
    let taken = take_secrets(&mut command);
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

/// Takes the client's secrets out of a command's environment, and returns them: what it starts could read
/// the environment of its parent.
pub(crate) fn take_secrets(command: &mut Command) -> Vec<(String, String)> {
    let variables = std::env::vars_os();
    let ours = variables.filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    let secrets = ours.filter(|(name, _)| secrets::is_clients_secret(name));
    let taken = secrets.map(|(name, value)| {
        command.env_remove(&name);
        (name, value.to_string_lossy().into_owned())
    });
    taken.collect()
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
            let running = start_held(Path::new("/bin/sh"), &arguments).unwrap();
            running.finish_while_wanted(&watch, || wanted).unwrap()
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
