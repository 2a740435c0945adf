//! `ralph supervise`: the process that stands between Ralph and one acceptance command.
//!
//! Not for people: it reads on standard input what to run and prints what came of it. When its
//! input ends it ends the command, so it must be started with a pipe.

use super::exit::Exit;
use anyhow::Result;
use ralph_core::tests_run::Scanner;
use ralph_io::command;

pub(super) fn run() -> Result<Exit> {
    let request = command::receive()?;
    let mut scanner = Scanner::new(&request.command);
    let mut report = command::supervise(&request, &mut |output| scanner.feed(output));
    report.tests = scanner.finish();
    // Whoever asked may be gone, which is why the command was ended; then nobody has to be told.
    let _ = command::send(&report);
    Ok(Exit::Done)
}
