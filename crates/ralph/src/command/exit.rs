//! All exit codes, and errors that carry one.

use crate::command::screen;
use ralph_core::modes::refine::state::Damaged;
use std::fmt;
use std::path::Path;
use std::process::ExitCode;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The command has succeeded, or the answer is yes.
    Done = 0,
    /// The answer is no.
    No = 1,
    /// The command line cannot be parsed; nothing was tried.
    Usage = 2,
    /// A file that Ralph needs is broken, or must not be changed.
    BadState = 3,
    /// A required program is missing, or failed.
    MissingProgram = 4,
    /// The user ended a run with Ctrl-C, as shells report an interrupted command.
    Interrupted = 130,
}

/// The causes of each exit code, the same in all commands.
pub const CAUSES: [(u8, &str); 6] = [
    (Exit::Done as u8, "done; the answer is yes"),
    (
        Exit::No as u8,
        "the answer is no; no such loop, task, checkpoint, orchestration or refinement; refused, and nothing changed",
    ),
    (
        Exit::Usage as u8,
        "the command line is wrong: a command, an option, a value, a file that does not exist",
    ),
    (
        Exit::BadState as u8,
        "a file that Ralph needs is damaged, from a newer Ralph, or must not be changed",
    ),
    (
        Exit::MissingProgram as u8,
        "a required program is missing or failed: `claude`, `git`, `tmux`, a hook",
    ),
    (Exit::Interrupted as u8, "you ended a run with Ctrl-C"),
];

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// An error with another exit code than [`Exit::No`]. Its message ends with what to do.
#[derive(Debug)]
pub(crate) struct ExitError {
    pub(crate) exit: Exit,
    /// The text for the user.
    pub(crate) message: String,
}

impl fmt::Display for ExitError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for ExitError {}

/// An error that refuses a command.
pub(crate) fn refused(exit: Exit, message: impl Into<String>) -> anyhow::Error {
    ExitError { exit, message: message.into() }.into()
}

/// An error in the command line.
pub(crate) fn usage(message: impl Into<String>) -> anyhow::Error {
    refused(Exit::Usage, message)
}

/// The error for a document that cannot be read or trusted, with its own exit code for scripts.
pub(crate) fn bad_state(error: anyhow::Error) -> anyhow::Error {
    refused(Exit::BadState, format!("{error:#}"))
}

/// Refuses a file of the command line that does not exist.
pub(crate) fn must_exist(file: &Path) -> anyhow::Result<()> {
    match file.symlink_metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(refused(Exit::Usage, format!("no such file: `{}`", file.display())))
        }
        _ => Ok(()),
    }
}

/// Prints an error with its causes on one line. Returns its exit code.
pub(crate) fn report(error: &anyhow::Error) -> Exit {
    // Ignore a failed write: there is nowhere else to report it. The text is sanitized because a
    // cause may quote a path, or git's words about a branch.
    screen::error(&screen::visible_lines(&format!("{error:#}")));
    from_error(error)
}

/// The exit code of an error. The answer is no, unless the error says otherwise.
pub(crate) fn from_error(error: &anyhow::Error) -> Exit {
    match error.downcast_ref::<ExitError>() {
        Some(refused) => refused.exit,
        None if error.is::<Damaged>() => Exit::BadState,
        None => Exit::No,
    }
}
