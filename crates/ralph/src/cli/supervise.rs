//! `ralph supervise`: the process between Ralph and one acceptance command.
//!
//! Not for people: it reads a request on standard input, runs the command and prints the report.
//! When standard input ends it ends the command, so start it with a pipe.

use crate::command::exit::Exit;
use anyhow::Result;
use ralph_core::evidence::tests_run::Scanner;
use ralph_io::process::{bounds, command, elsewhere};
use std::ffi::OsString;
use std::path::PathBuf;

/// Bytes of output searched for a test runner's summary, besides the end of the output. Parsing
/// every line of a flood would slow down the command that writes it.
const MOST_READ: usize = 64 << 20;

/// Which of the processes this is.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The first process within the bounds of a loop
    #[arg(long, hide = true)]
    inside: bool,
    /// The process before a command that runs on other files, with its order
    #[arg(long, hide = true, requires = "program", conflicts_with = "inside")]
    elsewhere: Option<PathBuf>,
    /// What that process starts
    #[arg(last = true, hide = true, requires = "elsewhere")]
    program: Vec<OsString>,
}

pub(super) fn run(args: &Args) -> Result<Exit> {
    if args.inside {
        std::process::exit(bounds::run_inside()?);
    }
    if let Some(order) = &args.elsewhere {
        std::process::exit(elsewhere::run_inside(order, &args.program)?);
    }
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
    // The caller may be gone, which is why the command was ended; then the report has no reader.
    let _ = command::send(&report);
    Ok(Exit::Done)
}
