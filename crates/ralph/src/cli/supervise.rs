//! `ralph supervise`: the process that stands between Ralph and one acceptance command.
//!
//! Not for people: it reads on standard input what to run and prints what came of it. When its
//! input ends it ends the command, so it must be started with a pipe.

use crate::command::exit::Exit;
use anyhow::Result;
use ralph_core::evidence::tests_run::Scanner;
use ralph_io::process::command;

/// A runner's summary is looked for in so many bytes of output, and in the end of it: reading every
/// line of a flood would slow down the command that makes it.
const MOST_READ: usize = 64 << 20;

pub(super) fn run() -> Result<Exit> {
    let request = command::receive()?;
    let mut scanner = Scanner::new(&request.command);
    let mut read = 0;
    let mut report = command::supervise(&request, &mut |output| {
        if read < MOST_READ {
            scanner.feed(output);
        }
        read += output.len();
    });
    if read >= MOST_READ {
        scanner.feed(b"\n");
        scanner.feed(report.tail.as_bytes());
    }
    report.tests = scanner.summarise();
    // Whoever asked may be gone, which is why the command was ended; then nobody has to be told.
    let _ = command::send(&report);
    Ok(Exit::Done)
}
