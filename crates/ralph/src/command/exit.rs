//! Exit codes, in one place, and errors that carry one.

use crate::command::screen;
use std::fmt;
use std::io::Write;
use std::process::ExitCode;

/// How a command ended, for scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It was done, or the answer is yes.
    Done = 0,
    /// The answer is no.
    No = 1,
    /// The command line cannot be understood; nothing was tried.
    Usage = 2,
    /// A file that we rely on is broken, or not ours to change.
    BadState = 3,
    /// A needed program is missing or failed.
    MissingProgram = 4,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// An error that knows its exit code; the message ends with what to do.
#[derive(Debug)]
pub(crate) struct ExitError {
    /// What the caller is told.
    pub(crate) exit: Exit,
    /// What the person is told.
    pub(crate) message: String,
}

impl fmt::Display for ExitError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for ExitError {}

/// A refusal as an error.
pub(crate) fn refused(exit: Exit, message: impl Into<String>) -> anyhow::Error {
    ExitError { exit, message: message.into() }.into()
}

/// A document that cannot be read or trusted, as an error that says so to scripts too.
pub(crate) fn bad_state(error: anyhow::Error) -> anyhow::Error {
    refused(Exit::BadState, format!("{error:#}"))
}

/// Tells the person what went wrong, with its causes on one line.
pub(crate) fn report(error: &anyhow::Error) -> Exit {
    // Without a standard error there is nobody to tell.
    // A cause may quote a path, or what git said of a branch.
    let _ = writeln!(std::io::stderr(), "ralph: {}", screen::visible_lines(&format!("{error:#}")));
    of(error)
}

/// The exit code that an error stands for.
pub(crate) fn of(error: &anyhow::Error) -> Exit {
    error.downcast_ref::<ExitError>().map_or(Exit::No, |refused| refused.exit)
}
