//! `ralph doctor`: one line per check, and what to do about each that is not well.
//!
//! It changes nothing. A check that could not be made is reported as such, never as well.

mod beads;
mod check;
mod client;
mod executables;
mod firing;
mod home;
mod registration;
mod settings;
pub(crate) mod states;
mod worker_base;
mod worktrees;

use super::exit::Exit;
use super::places::Places;
use super::tell::tell;
use anyhow::Result;
use check::{Check, Verdict};
use settings::Settings;
use states::Loops;

/// What a person may say about the examination.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Examines everything; the exit code says whether all is well.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let places = Places::from_environment()?;
    let checks = examine(&places);
    let well = checks.iter().all(|check| check.verdict != Verdict::Fail);
    if args.json {
        super::screen::print_json(&check::document(&checks, well))?;
    } else {
        checks.iter().for_each(|check| tell!("{check}"));
        tell!("{}", check::conclusion(&checks));
    }
    Ok(if well { Exit::Done } else { Exit::No })
}

fn examine(places: &Places) -> Vec<Check> {
    let settings = Settings::gather(places);
    let loops = Loops::gather(&places.ralph);
    let mut checks = executables::check(&places.executables);
    checks.extend(settings::check_readable(&settings));
    checks.extend(registration::check(&settings, places));
    checks.extend(firing::check(&settings, places));
    checks.push(settings::check_hooks_enabled(&settings));
    checks.push(settings::check_block_cap(&settings));
    checks.push(home::check(places.ralph.root()));
    checks.extend(states::check(&loops));
    checks.push(worktrees::check(&loops));
    checks.extend(worktrees::check_left(&places.current));
    checks.extend(worker_base::check(&places.current));
    checks.push(client::check(places));
    checks.extend(beads::check(&places.current));
    checks
}
