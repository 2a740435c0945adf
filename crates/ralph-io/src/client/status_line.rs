//! Runs another program for its status line, as the client would: in a shell, with the client's
//! JSON on standard input.
//!
//! The program starts before anything else is read, so it runs while we work, and it has a
//! deadline. If the client no longer needs the line, it ends us, and we end the program.

use crate::process::wait_any;
use crate::{git::scratch, process};
use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process_group};
use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGTERM};
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The client asks again after each answer of the model, so a later line is of no use.
const DEADLINE: Duration = Duration::from_secs(3);

/// Enough for a few lines with their colours.
const LONGEST: usize = 16 << 10;

/// A status-line program that is running.
#[derive(Debug)]
pub struct RunningStatusLine {
    running: process::Running,
    until: Instant,
}

/// Starts the command.
pub fn ask(command: &str, input: &[u8]) -> Result<RunningStatusLine> {
    let until = Instant::now() + DEADLINE;
    // A file, not a pipe: a program that does not read its input must not block us.
    let given = scratch::input(input).context("could not pass on the client's JSON")?;
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]).stdin(given).stderr(Stdio::null());
    let ended = wait_any::stream(&[SIGTERM, SIGINT, SIGHUP])?;
    let running = process::start_as_given(&mut shell)?;
    let group = running.group();
    std::thread::spawn(move || go_along(ended, group));
    Ok(RunningStatusLine { running, until })
}

impl RunningStatusLine {
    /// Waits for what the program printed and removes trailing white space.
    ///
    /// # Errors
    /// If the program fails or exceeds its deadline. At the deadline it is killed with all that it
    /// started.
    pub fn line(self) -> Result<Vec<u8>> {
        let finished = self.running.finish(self.until, LONGEST)?;
        if !finished.status.success() {
            bail!("it failed: {}", finished.status);
        }
        let mut line = finished.stdout;
        while line.last().is_some_and(u8::is_ascii_whitespace) {
            line.pop();
        }
        Ok(line)
    }
}

/// Waits for a signal that ends this process, and kills the program's group first.
fn go_along(mut ended: std::os::unix::net::UnixStream, group: Option<Pid>) {
    let waits = ended.set_nonblocking(false).and_then(|()| ended.read_exact(&mut [0]));
    if waits.is_ok() {
        if let Some(group) = group {
            let _ = kill_process_group(group, Signal::KILL);
        }
        std::process::exit(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &str, expected: &str) {
        assert_eq!(
            String::from_utf8(ask(command, b"{}").unwrap().line().unwrap()).unwrap(),
            expected
        );
    }

    #[test]
    fn it_gets_the_same_input_and_its_line_comes_back_as_it_is() {
        check("cat", "{}");
        check("printf '\\033[1ma\\033[0m  b \\n\\n'", "\u{1b}[1ma\u{1b}[0m  b");
        check("true", "");
        check("exec 0<&-; echo 'it'\\''s'", "it's");
    }

    #[test]
    fn one_that_fails_has_no_line() {
        assert!(ask("echo x; exit 3", b"").unwrap().line().is_err());
        let many = ask("head -c 100000 /dev/zero | tr '\\0' x", b"").unwrap().line().unwrap();
        assert_eq!(many.len(), LONGEST);
    }

    #[test]
    fn one_that_does_not_answer_is_ended_with_what_it_started() {
        let began = Instant::now();
        assert!(ask("sleep 100 & sleep 100", b"").unwrap().line().is_err());
        assert!(began.elapsed() < Duration::from_secs(30));
    }
}
