//! The environment of this process, compared with the one that was recorded when the loop started.

use crate::client;
use ralph_core::evidence::environment::{Difference, Environment};
use ralph_core::state::{ClientProcess, LoopState};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// How the environment of a run differed from the recorded one, by names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Surroundings {
    /// Were given their recorded values.
    pub restored: Vec<String>,
    /// Were used as they are.
    pub differs: Vec<String>,
}

/// What this process has to do about its environment before it may run a criterion as proof.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvironmentStep {
    /// Nothing: it is the recorded one, but for these variables, which cannot be restored.
    Run(Vec<String>),
    /// Start again with the recorded values.
    Restore(Difference),
    /// Record this environment: there was none, or it is that of another client. These differ.
    Record(Vec<String>),
}

/// Records the environment of this process, which a client has started as a hook.
pub fn record() -> Environment {
    of(client::process())
}

/// Records the environment of this process as that of a driver, which its clients inherit.
pub fn record_for_driver() -> Environment {
    of(Some(client::this_process()))
}

fn of(client: Option<ClientProcess>) -> Environment {
    let all = all();
    Environment::record(pairs(&all), client)
}

/// Records the environment of a driver in a loop that it begins or goes on with, unless the client that
/// gave the recorded one is still there.
pub fn take(state: &mut LoopState) {
    if matches!(step(state), EnvironmentStep::Record(_)) {
        state.environment = Some(record_for_driver());
    }
}

/// What is to be done in the hook's environment.
///
/// The recorded values count while the client that gave them is alive, whatever client this
/// environment names: a name can be written into an environment, a process cannot.
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

/// The names of what differs here from what was recorded; none where nothing was.
pub fn differences(state: &LoopState) -> Vec<String> {
    state.environment.as_ref().map(|recorded| difference(recorded).names()).unwrap_or_default()
}

/// Starts this program again in this process, with the same arguments and the recorded values. Returns only
/// if it fails.
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
    // A name that is no text is no variable that any tool reads.
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
        .collect()
}

fn pairs(all: &[(String, OsString)]) -> impl Iterator<Item = (&str, &[u8])> {
    all.iter().map(|(name, value)| (name.as_str(), value.as_bytes()))
}
