//! Asks the installed client for its version, once in a process.

use super::exit::{Exit, refused};
use anyhow::{Result, anyhow};
use ralph_core::protocol::client_version::{ClientFeature, ClientVersion};
use ralph_io::client;
use ralph_io::process::{self, Program, ProgramEnd};
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

/// A cold start on a busy machine takes seconds.
const DEADLINE: Duration = Duration::from_secs(20);

/// The answer of `claude --version`.
#[derive(Debug, Clone)]
pub(crate) struct InstalledClient {
    /// The name or path of the client: `RALPH_CLAUDE`, else `claude`.
    pub(crate) command: String,
    /// What it printed, in one line.
    pub(crate) printed: String,
    /// `None` if what it printed contains no version.
    pub(crate) version: Option<ClientVersion>,
}

/// Asks the client that `RALPH_CLAUDE` names, else `claude`.
///
/// # Errors
/// When it does not start, or fails.
pub(crate) fn installed() -> Result<InstalledClient> {
    static ANSWER: OnceLock<Result<InstalledClient, String>> = OnceLock::new();
    let answer = ANSWER.get_or_init(|| ask().map_err(|error| format!("{error:#}")));
    answer.clone().map_err(|error| anyhow!(error))
}

fn ask() -> Result<InstalledClient> {
    let command = client::program_name();
    let program = Program {
        command: client::program().and_then(Path::to_str).unwrap_or(&command),
        args: vec!["--version"],
        folder: Path::new("/"),
        stdin: "",
        env: Vec::new(),
        deadline: DEADLINE,
    };
    let outcome = process::run_once(&program)?;
    if outcome.ended != ProgramEnd::Exited(0) {
        let how = match outcome.ended {
            ProgramEnd::Exited(code) => format!("ended with exit code {code}"),
            ProgramEnd::Signalled(signal) => format!("was ended by signal {signal}"),
            ProgramEnd::Overdue => "did not end in time".to_owned(),
        };
        let told = outcome.stderr.trim().lines().last().map(|line| format!(": {line}"));
        return Err(anyhow!("`{command} --version` {how}{}", told.unwrap_or_default()));
    }
    let printed = outcome.stdout.trim().lines().next().unwrap_or_default().to_owned();
    let version = ClientVersion::printed(&printed);
    Ok(InstalledClient { command, printed, version })
}

/// Why the installed client is too old for one of these; `None` if it is not, or does not tell its
/// version: the hooks in it report that.
pub(crate) fn too_old(features: &[ClientFeature]) -> Option<String> {
    let version = installed().ok()?.version?;
    features.iter().find_map(|feature| feature.refusal(version))
}

/// Refuses a start for which the installed client is too old.
///
/// # Errors
/// When the client is too old.
pub(crate) fn check(features: &[ClientFeature]) -> Result<()> {
    too_old(features).map_or(Ok(()), |why| {
        Err(refused(Exit::MissingProgram, format!("{why}; nothing was started")))
    })
}
