//! The process that asks for proof, and the environment in which the proof is taken.
//!
//! A receipt counts as proof only if the stop hook or one of Ralph's drivers asks for it: the
//! asking process is the parent, and its executable is beside this one. The commands run in the
//! environment that was recorded when the loop started, whatever the parent's environment is.

use anyhow::{Context, Result, bail};
use ralph_core::state::CriterionRunner;
use ralph_io::process::programs;
use ralph_io::project::environment::{self, EnvironmentStep, Surroundings};
use ralph_io::store::loop_file::LoopFile;

/// The hook that asks.
const HOOK: &str = "ralph-stop-hook";

/// The executable of the drivers.
const DRIVER: &str = "ralph";

/// Who asks; `None` if the parent is neither the stop hook nor a driver.
pub(crate) fn by() -> Option<CriterionRunner> {
    match programs::parent() {
        Some(parent) if parent.is_beside_us(HOOK) => Some(CriterionRunner::Hook),
        Some(parent) if parent.is_beside_us(DRIVER) => Some(CriterionRunner::Driver),
        Some(_) | None => None,
    }
}

/// Ensures that this process has the recorded environment, and returns how it differed. Starts this
/// program again if the environment differs; `restored` holds the names that the first start found.
///
/// # Errors
/// When the recorded values cannot be restored.
pub(crate) fn prepare(
    file: &LoopFile,
    by: CriterionRunner,
    restored: Option<&str>,
) -> Result<Surroundings> {
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
                CriterionRunner::Driver => environment::record_for_driver(),
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
