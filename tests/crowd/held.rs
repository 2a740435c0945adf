//! A process of the product that is stopped at the moment it has taken a lock.
//!
//! `strace` stops it: the signal is sent as the process asks for its n-th lock, and arrives as the
//! answer does. Nothing is left to chance, and no line of the product knows of it.

use crate::tally;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStderr, Command, Stdio};

/// True where processes can be stopped so.
pub(crate) fn is_possible() -> bool {
    let there = Command::new("strace").arg("-V").output().is_ok();
    if !there {
        eprintln!("skipped: strace is not installed, so nothing can be stopped at its lock");
    }
    there
}

/// The words to put before a command, so that it is stopped when it has its n-th lock.
pub(crate) fn stopped_at(n: usize) -> Vec<String> {
    let inject = format!("inject=flock:signal=STOP:when={n}");
    let words = ["strace", "-f", "-qq", "-e", "trace=flock", "-e", &inject];
    words.map(str::to_owned).to_vec()
}

/// A stopped process that holds a lock.
pub(crate) struct Held {
    strace: Child,
    told: BufReader<ChildStderr>,
    pid: Pid,
}

impl Held {
    /// Starts it and waits until it is stopped.
    #[track_caller]
    pub(crate) fn start(mut command: Command, payload: &str) -> Held {
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut strace = pipes.spawn().unwrap();
        drop(strace.stdin.take().unwrap().write_all(payload.as_bytes()));
        let mut told = BufReader::new(strace.stderr.take().unwrap());
        let line = line_with(&mut told, "stopped by SIGSTOP");
        let first = || first_child(strace.id());
        let pid = Pid::from_raw(traced(&line).unwrap_or_else(first)).unwrap();
        tally::holder();
        Held { strace, told, pid }
    }

    /// Lets it go on, and waits for its end. Returns what it printed on both channels, without what
    /// `strace` saw.
    pub(crate) fn go_on(self) -> (String, String) {
        self.end(Signal::CONT)
    }

    /// Lets it go on, if it is still there, and waits for its end. Where all threads had stopped
    /// before its parent was killed, the kernel has ended it: a stopped process group that loses the
    /// last parent of its POSIX session gets SIGHUP and SIGCONT.
    pub(crate) fn go_on_or_end(self) {
        let sent = kill_process(self.pid, Signal::CONT);
        assert!(matches!(sent, Ok(()) | Err(Errno::SRCH)), "{sent:?}");
        self.output();
    }

    /// Kills it.
    pub(crate) fn kill(self) {
        self.end(Signal::KILL);
    }

    /// Kills the process that has started the stopped one, which must have this name.
    #[track_caller]
    pub(crate) fn kill_the_parent(&self, name: &str) {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap();
        // `pid (name) state parent …`
        let parent = stat.rsplit(") ").next().unwrap().split(' ').nth(1).unwrap();
        let called = std::fs::read_to_string(format!("/proc/{parent}/comm")).unwrap();
        // The system keeps fifteen letters of a name.
        assert_eq!(called.trim(), &name[..name.len().min(15)]);
        kill_process(Pid::from_raw(parent.parse().unwrap()).unwrap(), Signal::KILL).unwrap();
    }

    fn end(self, signal: Signal) -> (String, String) {
        kill_process(self.pid, signal).unwrap();
        self.output()
    }

    fn output(mut self) -> (String, String) {
        let (mut out, mut err) = (String::new(), String::new());
        self.told.read_to_string(&mut err).unwrap();
        self.strace.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        self.strace.wait().unwrap();
        let own: Vec<&str> = err.lines().filter(|line| line.starts_with("ralph")).collect();
        (out, own.join("\n"))
    }
}

/// A test that fails must leave nothing stopped behind.
impl Drop for Held {
    fn drop(&mut self) {
        if matches!(self.strace.try_wait(), Ok(None)) {
            let _ = kill_process(self.pid, Signal::KILL);
            let _ = self.strace.wait();
        }
    }
}

#[track_caller]
fn line_with(told: &mut impl BufRead, words: &str) -> String {
    let mut seen = String::new();
    loop {
        let mut line = String::new();
        assert!(told.read_line(&mut line).unwrap() > 0, "it was not stopped: {seen}");
        if line.contains(words) {
            return line;
        }
        seen.push_str(&line);
    }
}

/// `[pid 123] --- stopped by SIGSTOP ---`
fn traced(line: &str) -> Option<i32> {
    line.strip_prefix("[pid")?.split(']').next()?.trim().parse().ok()
}

fn first_child(parent: u32) -> i32 {
    let children =
        std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap();
    children.split_whitespace().next().expect("strace has started it").parse().unwrap()
}
