//! `ralph delegate checks`: checks edited files, after the edit or at the end of a turn. Prints
//! what the model should read, or nothing.

use crate::check::{self, CheckOrder, Pace};
use crate::command::exit::Exit;
use crate::command::screen;
use crate::setup::install::merge;
use crate::setup::places::InstallPaths;
use anyhow::{Context, Result};
use ralph_core::project::check::answer;
use ralph_core::project::check::choice::CheckSettings;
use ralph_core::project::settings::Settings;
use ralph_io::store::checks::{self, Surroundings};
use ralph_io::store::home::Home;
use ralph_io::store::loop_file::LoopFile;
use ralph_io::{client::given, process::command, project::settings, project::user_files};
use serde_json::Value;
use std::path::{Path, PathBuf};
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
    let places = InstallPaths::from_environment().ok()?;
    let project = ralph_io::client::project_dir().unwrap_or(places.current);
    let files = [
        places.config.join("settings.json"),
        project.join(".claude/settings.json"),
        project.join(".claude/settings.local.json"),
    ];
    files.iter().filter_map(|path| timeout_in(path)).min()
}

fn timeout_in(path: &Path) -> Option<Duration> {
    let settings: Value = serde_json::from_str(&user_files::find(path).ok()?.text?).ok()?;
    let groups = settings["hooks"]["PostToolUse"].as_array()?.iter();
    let entries = groups.flat_map(|group| group["hooks"].as_array().into_iter().flatten());
    let ours = entries.filter(|entry| merge::is_ours(entry));
    ours.filter_map(|entry| Duration::try_from_secs_f64(entry["timeout"].as_f64()?).ok()).min()
}
