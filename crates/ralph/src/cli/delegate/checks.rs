//! `ralph delegate checks`: checks edited files, after the edit or at the end of a turn. Prints
//! what the model should read, or nothing.

use crate::check::{self, CheckOrder, Pace, beside};
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
    /// What the edits of this turn have left
    #[arg(long, requires = "state")]
    late: bool,
    /// Run what takes longer than the edits wait, beside the work
    #[arg(long, requires = "state", conflicts_with = "late")]
    beside: bool,
    /// One run of the runner beside the work
    #[arg(long, requires = "state", conflicts_with_all = ["late", "beside"])]
    once: bool,
    /// The subagent that edited the files
    #[arg(long, default_value = "")]
    agent: String,
    /// The edited files
    files: Vec<PathBuf>,
}

pub(super) fn run(args: &Args) -> Result<Exit> {
    let home = Home::from_env()?;
    let file = args.state.as_ref().map(LoopFile::at);
    let Some(choice) = choice(&home, file.as_ref(), &args.files)? else { return Ok(Exit::Done) };
    let budget = choice.budget(registered_timeout());
    if let Some(file) = file.as_ref().filter(|_| args.beside) {
        return beside::serve(file, budget).map(|()| Exit::Done);
    }
    given::end_with_input();
    let _ = command::adopt_orphans();
    let mut order = CheckOrder {
        home: &home,
        files: &args.files,
        choice: &choice,
        of_loop: file.as_ref().map(LoopFile::folder),
        pace: Pace::AfterEdit(budget),
        only: None,
    };
    let said = match &file {
        Some(file) if args.once => {
            once(&order, file, budget)?;
            Vec::new()
        }
        Some(file) if args.late => late(&order, file, budget)?,
        Some(file) => {
            // A state of another tool is in the project, where Ralph leaves nothing for a runner.
            let has_folder = file.folder().starts_with(home.loops());
            if let Some(wait) = choice.wait(budget).filter(|_| has_folder) {
                order.pace = Pace::WhileWaiting { budget, wait };
            }
            beside::after_edit(&order, file, &args.agent)?
        }
        None => answer::text(&check::run(&order)?.report).into_iter().collect(),
    };
    if !said.is_empty() {
        screen::print(&said.join("\n\n"))?;
    }
    Ok(Exit::Done)
}

fn once(order: &CheckOrder<'_>, file: &LoopFile, budget: Duration) -> Result<()> {
    let files = checks::beside(file.folder());
    let paths: Vec<PathBuf> = files.keys().cloned().collect();
    let only = beside::only(&files);
    let pace = Pace::Beside(budget);
    let order = CheckOrder { files: &paths, pace, only: only.as_ref(), ..*order };
    beside::once(&order, file.folder(), &files)
}

/// Waits for the runner beside the work, tells what it found, and runs the checks that are left.
fn late(order: &CheckOrder<'_>, file: &LoopFile, budget: Duration) -> Result<Vec<String>> {
    let folder = file.folder();
    // A runner that takes longer loses its files, and ends.
    let runner = checks::become_runner(folder, budget + beside::MARGIN);
    let mut said = beside::tell(order.home, folder, "");
    let files = checks::take_later(folder);
    drop(runner);
    let paths: Vec<PathBuf> = files.keys().cloned().collect();
    let only = beside::only(&files);
    let pace = Pace::Late(LATE);
    let order = CheckOrder { files: &paths, pace, only: only.as_ref(), ..*order };
    said.extend(answer::text(&check::run(&order)?.report));
    Ok(said)
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
