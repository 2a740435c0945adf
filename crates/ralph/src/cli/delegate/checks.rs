//! `ralph delegate checks`: checks edited files, after the edit or at the end of a turn. Prints
//! what the model should read, or nothing.

use crate::check::{self, CheckOrder, Pace};
use crate::command::exit::Exit;
use crate::command::screen;
use crate::setup::doctor::settings::hooks_in;
use anyhow::{Context, Result};
use ralph_core::project::check::answer;
use ralph_core::project::check::choice::CheckSettings;
use ralph_core::project::settings::Settings;
use ralph_core::protocol::registration::Origin;
use ralph_io::client::client_settings::ClientSettings;
use ralph_io::store::checks::{self, Surroundings};
use ralph_io::store::home::Home;
use ralph_io::store::loop_file::LoopFile;
use ralph_io::{client, client::given, process::command, project::settings};
use std::path::PathBuf;
use std::time::Duration;

/// Time limit, at the end of a turn, for the checks that were too slow for the edits.
const LATE: Duration = Duration::from_secs(240);

/// What is to be looked at.
#[derive(clap::Args)]
pub(in crate::cli) struct Args {
    /// The state file of the loop
    #[arg(long)]
    state: Option<PathBuf>,
    /// What was too slow for the edits of this turn
    #[arg(long, requires = "state")]
    late: bool,
    /// The edited files
    files: Vec<PathBuf>,
}

pub(super) fn run(args: &Args) -> Result<Exit> {
    given::end_with_input();
    let _ = command::adopt_orphans();
    let home = Home::from_env()?;
    let file = args.state.as_ref().map(LoopFile::at);
    let Some(choice) = choice(&home, file.as_ref(), &args.files)? else { return Ok(Exit::Done) };
    let of_loop = file.as_ref().map(LoopFile::folder);
    let late = args.late.then(|| of_loop.map(checks::take_later)).flatten();
    let order = CheckOrder {
        home: &home,
        files: late.as_deref().unwrap_or(&args.files),
        choice: &choice,
        of_loop,
        pace: match args.late {
            true => Pace::Late(LATE),
            false => Pace::AfterEdit(choice.budget(registered_timeout())),
        },
    };
    let outcome = check::run(&order)?;
    if let Some(of_loop) = of_loop.filter(|_| !outcome.report.later.is_empty()) {
        // Best effort: the model is told anyway that these files were not checked.
        let _ = checks::add_later(of_loop, order.files);
    }
    if let Some(said) = answer::text(&outcome.report) {
        screen::print(&said)?;
    }
    Ok(Exit::Done)
}

/// The settings frozen into the loop. Without a loop, the project's current settings, if they ask
/// for checks in every session.
fn choice(
    home: &Home,
    file: Option<&LoopFile>,
    files: &[PathBuf],
) -> Result<Option<CheckSettings>> {
    if let Some(file) = file {
        let state = file.read()?.context("the loop is gone")?.state;
        return Ok(Some(Settings::of(&state).checks()));
    }
    let Some(first) = files.first().and_then(|file| file.canonicalize().ok()) else {
        return Ok(None);
    };
    let choice = settings::read(home, &Surroundings::root_of(&first)).0.checks();
    Ok(choice.always.unwrap_or(false).then_some(choice))
}

/// The hook's timeout where it is registered in settings files; the shortest if there are several.
fn registered_timeout() -> Option<Duration> {
    let project = client::project_dir().or_else(|| std::env::current_dir().ok())?;
    let settings = ClientSettings::of(&project);
    let hooks = settings.readable().flat_map(|(_, value)| hooks_in(value, Origin::Settings));
    let ours = hooks.filter(|hook| hook.event == "PostToolUse");
    ours.filter_map(|hook| hook.timeout_ms).min().map(Duration::from_millis)
}
