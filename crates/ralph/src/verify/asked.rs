//! Who asks for proof, and the environment that it is taken in.
//!
//! A receipt that proves is made for the stop hook or for a driver of ours, and for nobody else: the
//! process that asks is our parent, and its executable stands beside this one. What runs is started in
//! the environment that was recorded when the loop began, whatever the parent had.

use anyhow::{Context, Result, bail};
use ralph_core::evidence::receipt::By;
use ralph_io::process::programs;
use ralph_io::project::environment::{self, EnvironmentStep, Surroundings};
use ralph_io::store::loop_file::LoopFile;

/// The hook that asks.
const HOOK: &str = "ralph-stop-hook";

/// The neighbour that answers an event for a hook.
const NEIGHBOUR: &str = "ralph";

/// Who asks; none for anyone who may not.
pub(crate) fn by() -> Option<By> {
    let Some(parents) = programs::parents(2) else {
        // The system does not tell, as on macOS.
        return Some(By::Hook);
    };
    let is = |at: usize, name: &str| parents.get(at).is_some_and(|one| one.is_beside_us(name));
    match () {
        () if is(0, HOOK) || is(0, NEIGHBOUR) && is(1, HOOK) => Some(By::Hook),
        () if is(0, NEIGHBOUR) => Some(By::Driver),
        () => None,
    }
}

/// Sees to it that this process has the recorded environment, and says how it differed. Starts this
/// program again if it had another one: `restored` are the names that the first start has found.
///
/// # Errors
/// When the recorded values cannot be had.
pub(crate) fn prepare(file: &LoopFile, by: By, restored: Option<&str>) -> Result<Surroundings> {
    let state = file.read()?.context("the loop is gone")?.state;
    let restored: Option<Vec<String>> =
        restored.map(|names| names.split(' ').map(str::to_owned).collect());
    match environment::step(&state) {
        EnvironmentStep::Run(lost) => {
            let mut restored = restored.unwrap_or_default();
            restored.retain(|name| !name.is_empty() && !lost.contains(name));
            Ok(Surroundings { restored, differs: lost })
        }
        EnvironmentStep::Record(differs) => {
            let recorded = match by {
                By::Driver => environment::record_for_driver(),
                _ => environment::record(),
            };
            file.update(|state| state.environment = Some(recorded))?;
            Ok(Surroundings { restored: Vec::new(), differs })
        }
        EnvironmentStep::Restore(_) if restored.is_some() => {
            bail!("the environment that was recorded when the loop started cannot be restored")
        }
        EnvironmentStep::Restore(difference) => {
            Err(environment::start_again(&programs::running()?, &difference))
                .context("could not start again with the recorded environment")
        }
    }
}
