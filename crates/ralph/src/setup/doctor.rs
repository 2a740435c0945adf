//! `ralph doctor`: prints one line per check, with what to do about each problem.
//!
//! Changes nothing without `--fix`, and then only Ralph's own files and entries. A check that could
//! not run is reported as such, never as passed.

mod check;
mod client;
mod elsewhere;
mod executables;
mod firing;
mod fix;
mod home;
mod mods;
mod orphans;
pub(crate) mod path;
mod plugin;
mod registration;
pub(crate) mod settings;
mod shared;
pub(crate) mod states;
mod versions;
mod wall;
mod worktrees;

use crate::command::exit::Exit;
use crate::command::screen::{self, Colour};
use crate::setup::places::InstallPaths;
use crate::setup::tell::tell;
use anyhow::Result;
use check::{Check, CheckVerdict};
use plugin::Plugin;
use states::Loops;

/// Options of `ralph doctor`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// First fix what is Ralph's own and safe to fix, and print each fix
    #[arg(long, conflicts_with = "json")]
    fix: bool,
}

impl Args {
    pub(crate) fn writes(&self) -> bool {
        self.fix
    }
}

/// Runs all checks. The exit code says whether all of them passed.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let places = InstallPaths::from_environment()?;
    let mut checks = examine(&places);
    if args.fix && fix(&checks, &places) {
        checks = examine(&places);
    }
    let well = checks.iter().all(|check| check.verdict != CheckVerdict::Fail);
    if args.json {
        screen::print_json(&check::document(&checks, well))?;
    } else {
        checks.iter().for_each(show);
        tell!("{}", check::conclusion(&checks));
    }
    Ok(if well { Exit::Done } else { Exit::No })
}

/// Prints a check: its verdict in colour, and the rest below itself at the terminal's width.
fn show(check: &Check) {
    let colour = match check.verdict {
        CheckVerdict::Well => Colour::Green,
        CheckVerdict::Warn => Colour::Yellow,
        CheckVerdict::Fail => Colour::Red,
    };
    let (word, indent) = (check.verdict.word(), CheckVerdict::WIDTH + 2);
    let padding = " ".repeat(indent - word.len());
    let text = screen::wrapped(&check.text(), indent, indent);
    tell!("{}{padding}{text}", screen::coloured(word, colour));
}

/// Runs the fixes one after the other, since one fix may make the next unnecessary. Each is
/// reported at once.
fn fix(checks: &[Check], places: &InstallPaths) -> bool {
    let mut tried = false;
    for check in checks {
        let Some(fix) = &check.fix else { continue };
        tried = true;
        match fix.carry_out(places) {
            Ok(done) => tell!("fixed {}: {done}", check.name),
            Err(error) => tell!("not fixed {}: {error:#}", check.name),
        }
    }
    tried
}

fn examine(places: &InstallPaths) -> Vec<Check> {
    let settings = settings::gather(places);
    let plugin = Plugin::find(&settings, places);
    let loops = Loops::gather(&places.ralph);
    let hooks = executables::gather(places);
    let mut checks = executables::check(&hooks, places);
    checks.extend(settings::check_readable(&settings));
    checks.extend(registration::check(&settings, plugin.as_ref(), places));
    checks.extend(versions::check(&hooks, plugin.as_ref(), places));
    checks.extend(firing::check(&settings, plugin.as_ref(), &hooks, places));
    checks.push(settings::check_hooks_enabled(&settings));
    checks.push(settings::check_block_cap(&settings));
    checks.extend(settings::check_sandbox(&settings, places));
    checks.extend(settings::check_bounds());
    checks.extend(settings::check_own(places));
    checks.extend(path::check(&settings, places));
    checks.push(home::check(places.ralph.root()));
    checks.push(elsewhere::check(&places.current));
    checks.push(wall::check(places));
    checks.push(mods::check(&places.current));
    checks.extend(states::check(&loops));
    checks.extend(orphans::check(&loops, places));
    checks.push(worktrees::check(&loops));
    checks.extend(worktrees::check_left(places));
    checks.extend(worktrees::check_base(&places.current));
    checks.extend(shared::check(&loops, places));
    checks.push(client::check());
    checks.extend(client::check_beads(&places.current));
    checks
}
