//! `ralph task …`: looks at the loop's tasks and changes them, one locked update for each change; or
//! does the same with the tasks that a project keeps in `bd`.

mod bd;
mod change;
mod import;
mod lint;
mod show;
pub(super) mod sync;

pub(super) use show::{Format, in_format};

use super::exit::{Exit, bad_state, refused};
use super::here::Here;
use super::note::note_at;
use super::which::{self, Found, Wanted, Which};
use anyhow::{Context, Result};
use ralph_core::state::LoopState;
use ralph_core::tasks::graph::Refused;
use serde_json::Value;

/// Whose tasks, and what to do with them.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
    /// Who keeps the tasks: the loop's own state, or `bd` (beads)
    #[arg(long, global = true, value_enum, value_name = "TRACKER", default_value_t = Tracker::Ralph)]
    tracker: Tracker,
}

/// Who keeps the tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Tracker {
    Ralph,
    Bd,
}

impl Args {
    /// True for the one command that only a person gives.
    pub(super) fn is_import(&self) -> bool {
        matches!(self.command, Command::Import(_))
    }
}

/// What to do with the tasks.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// List the tasks that are not done
    List(show::List),
    /// Show one task with all that is known of it
    Show(show::One),
    /// List the tasks that can be worked on now
    Ready(show::Ready),
    /// Add a task
    Add(change::Add),
    /// Take the next task that is ready, or this one
    Claim(change::Claim),
    /// Hold a claimed task for longer
    Renew(change::Renew),
    /// Say that a task is done
    Done(change::Done),
    /// Give a task up
    Fail(change::Fail),
    /// Make a claimed, failed or blocked task pending again
    Release(change::Release),
    /// Set a task aside that waits for something outside
    Block(change::Block),
    /// Show or set what a task depends on
    Deps(change::Deps),
    /// Show the rounds in which the tasks could be worked on
    Waves(show::Waves),
    /// Draw the tasks and what depends on what
    Graph(show::Drawing),
    /// Say what is wrong with the criteria and the tasks, and what would go badly
    Lint(lint::Lint),
    /// Bring the tasks to what a planner wrote: one JSON object on each line of standard input
    Sync(sync::Sync),
    /// Plan a loop: criteria, tasks and what is known of the project
    Import(import::Args),
}

/// Does it.
pub(crate) fn run(args: Args) -> Result<Exit> {
    let here = Here::gather()?;
    match args.tracker {
        Tracker::Ralph => of_loop(&here, args.command),
        Tracker::Bd => bd::run(&here, args.command),
    }
}

fn of_loop(here: &Here, command: Command) -> Result<Exit> {
    match command {
        Command::List(args) => show::list(here, &args),
        Command::Show(args) => show::one(here, &args),
        Command::Ready(args) => show::ready(here, &args),
        Command::Add(args) => change::add(here, args),
        Command::Claim(args) => change::claim(here, &args),
        Command::Renew(args) => change::renew(here, &args),
        Command::Done(args) => change::done(here, args),
        Command::Fail(args) => change::fail(here, &args),
        Command::Release(args) => change::release(here, &args),
        Command::Block(args) => change::block(here, &args),
        Command::Deps(args) => change::deps(here, args),
        Command::Waves(args) => show::waves(here, &args),
        Command::Graph(args) => show::drawing(here, &args),
        Command::Lint(args) => lint::run(here, &args),
        Command::Sync(args) => sync::sync(here, &args),
        Command::Import(args) => import::run(here, &args),
    }
}

fn find(here: &Here, which: &Which) -> Result<Found> {
    which::one(here, which, Wanted::WithTasks)
}

/// Changes the tasks of a loop in one step, and notes it if a person did it.
fn update<T>(
    here: &Here,
    which: &Which,
    command: &str,
    change: impl FnOnce(&mut LoopState) -> Result<T, Refused>,
) -> Result<T> {
    let found = find(here, which)?;
    let file = found.file.clone();
    let changed = found.update(|state| change(state).map(|what| (what, state.position())));
    let changed = changed.map_err(bad_state)?.context("the loop is gone")?;
    let (what, position) = changed.map_err(|why| refused(Exit::No, why.to_string()))?;
    if here.session.is_none() {
        let command = format!("task {command}");
        let why = ("a person changed the tasks", Value::Null);
        note_at(here, &file, position, (&command, "changed"), why);
    }
    Ok(what)
}
