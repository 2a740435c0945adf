//! Compares the environment of this process with the one recorded at the start of the loop.

use crate::client;
use ralph_core::evidence::environment::Difference;
use ralph_core::state::{ClientProcess, Environment, LoopState};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// The variables in which a run's environment differed from the recorded one, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Surroundings {
    /// Variables that were reset to their recorded values.
    pub restored: Vec<String>,
    /// Variables that were used as they are.
    pub differs: Vec<String>,
}

/// What this process must do about its environment before it may run a criterion as proof.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvironmentStep {
    /// Run: the environment is the recorded one, except for these variables, which cannot be
    /// restored.
    Run(Vec<String>),
    /// Restart with the recorded values.
    Restore(Difference),
    /// Record this environment, because none is recorded or the recorded one is another client's.
    /// These variables differ.
    Record(Vec<String>),
}

/// Records the environment of this process, which a client started as a hook.
pub fn record() -> Environment {
    record_for(client::process())
}

/// Records the environment of this process, a driver; its clients inherit it.
pub fn record_for_driver() -> Environment {
    record_for(Some(client::this_process()))
}

fn record_for(client: Option<ClientProcess>) -> Environment {
    let all = all();
    let program = client::program().and_then(Path::to_str).unwrap_or_default().to_owned();
    Environment { program, ..Environment::record(pairs(&all), client) }
}

/// Records a driver's environment in the loop that it starts or continues, unless the client that
/// gave the recorded one is still alive.
pub fn take(state: &mut LoopState) {
    if matches!(step(state), EnvironmentStep::Record(_)) {
        state.environment = Some(record_for_driver());
    }
}

/// Decides what to do in the hook's environment.
///
/// The recorded values apply as long as the client that gave them is alive, whichever client this
/// environment names. Anyone can set a variable; nobody can fake a process.
pub fn step(state: &LoopState) -> EnvironmentStep {
    let Some(recorded) = &state.environment else { return EnvironmentStep::Record(Vec::new()) };
    let difference = difference(recorded);
    let is_same = match &recorded.client {
        None => true,
        Some(client) if client.started.is_empty() => {
            client::process().is_some_and(|now| now.pid == client.pid)
        }
        Some(client) => client::is_alive(client),
    };
    if !is_same {
        return EnvironmentStep::Record(difference.names());
    }
    match difference.restore.is_empty() {
        true => EnvironmentStep::Run(difference.lost),
        false => EnvironmentStep::Restore(difference),
    }
}

/// The names of the variables that differ from the recorded ones; empty if nothing was recorded.
pub fn differences(state: &LoopState) -> Vec<String> {
    state.environment.as_ref().map(|recorded| difference(recorded).names()).unwrap_or_default()
}

/// Executes this program again in this process, with the same arguments and the recorded values.
/// Returns only on failure.
pub fn start_again(program: &Path, difference: &Difference) -> std::io::Error {
    let mut command = Command::new(program);
    command.args(std::env::args_os().skip(1));
    command.args(["--restored", &difference.names().join(" ")]);
    for (name, value) in &difference.restore {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.exec()
}

fn difference(recorded: &Environment) -> Difference {
    let all = all();
    recorded.difference(pairs(&all))
}

fn all() -> Vec<(String, OsString)> {
    // No tool reads a variable whose name is not UTF-8.
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
        .collect()
}

fn pairs(all: &[(String, OsString)]) -> impl Iterator<Item = (&str, &[u8])> {
    all.iter().map(|(name, value)| (name.as_str(), value.as_bytes()))
}
