//! The client's sandbox: whether it can start here, and whether this process runs inside of it.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod macos;

#[cfg(target_os = "linux")]
use linux as platform;
#[cfg(not(target_os = "linux"))]
use macos as platform;

use crate::process::run_once::{self, ProgramEnd};
use ralph_core::protocol::sandbox::unavailable::Unavailable;
use ralph_core::text::truncate::bounded;
use std::path::Path;
use std::time::Duration;

/// More than any machine needs to start an empty sandbox.
const DEADLINE: Duration = Duration::from_secs(10);

/// Starts an empty sandbox once, in the way in which the client starts its own.
///
/// # Errors
/// If a program is missing, or the system lets it start nothing.
pub fn check() -> Result<(), Unavailable> {
    platform::check()
}

/// True if this process runs in the client's sandbox, as far as the platform shows that.
pub fn is_inside() -> bool {
    platform::is_inside()
}

/// Runs a program once that starts nothing but `true`.
fn try_out(program: &'static str, path: &Path, args: &[&str]) -> Result<(), Unavailable> {
    let refused = |why: &str| {
        let line = why.lines().next().unwrap_or_default().trim();
        Err(Unavailable::Refused { program, why: bounded(line, 200) })
    };
    let outcome = run_once::run(&run_once::Program {
        command: &path.to_string_lossy(),
        args: args.to_vec(),
        folder: Path::new("/"),
        stdin: "",
        env: Vec::new(),
        deadline: DEADLINE,
    });
    match outcome {
        Ok(outcome) if outcome.ended == ProgramEnd::Exited(0) => Ok(()),
        Ok(outcome) if outcome.ended == ProgramEnd::Overdue => refused("it did not end"),
        Ok(outcome) => refused(&outcome.stderr),
        Err(error) => refused(&format!("{error:#}")),
    }
}
