//! `ralph task …`: shows and changes the loop's tasks, with one locked update per change.

mod change;
mod import;
mod lint;
mod show;
pub(super) mod sync;

pub(super) use show::{Format, in_format};
pub(super) use sync::store;

use crate::command::context_dir::Here;
use crate::command::exit::{Exit, bad_state, refused};
use crate::command::journal::note_at;
use crate::command::select_loop::{self, FoundLoop, LoopArgs, LoopFilter};
use anyhow::{Context, Result};
use ralph_core::state::LoopState;
use ralph_core::tasks::graph::TaskError;
use serde_json::Value;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: TaskCommand,
}

impl Args {
    /// The command as it is typed, without its arguments.
    pub(super) fn name(&self) -> &'static str {
        match self.command {
            TaskCommand::List(_) => "task list",
            TaskCommand::Show(_) => "task show",
            TaskCommand::Ready(_) => "task ready",
            TaskCommand::Add(_) => "task add",
            TaskCommand::Claim(_) => "task claim",
            TaskCommand::Renew(_) => "task renew",
            TaskCommand::Done(_) => "task done",
            TaskCommand::Fail(_) => "task fail",
            TaskCommand::Release(_) => "task release",
            TaskCommand::Block(_) => "task block",
            TaskCommand::Deps(_) => "task deps",
            TaskCommand::Waves(_) => "task waves",
            TaskCommand::Graph(_) => "task graph",
            TaskCommand::Lint(_) => "task lint",
            TaskCommand::Sync(_) => "task sync",
            TaskCommand::Import(_) => "task import",
        }
    }
}

/// What to do with the tasks.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum TaskCommand {
    /// List the unfinished tasks
    List(show::ListArgs),
    /// Show a task in full
    Show(show::ShowArgs),
    /// List the tasks that are ready
    Ready(show::Ready),
    /// Add a task
    Add(change::Add),
    /// Claim a task
    Claim(change::Claim),
    /// Extend the claim of a task
    Renew(change::Renew),
    /// Mark a task as done
    Done(change::DoneArgs),
    /// Mark a task as failed
    Fail(change::ReasonArgs),
    /// Make a claimed, failed or blocked task pending again
    Release(change::TaskArgs),
    /// Block a task that waits for something outside the loop
    Block(change::ReasonArgs),
    /// Show or set the dependencies of a task
    Deps(change::Deps),
    /// Show the tasks in waves
    Waves(show::Waves),
    /// Draw the tasks and their dependencies
    Graph(show::GraphArgs),
    /// Check the criteria and the tasks for errors and risks
    Lint(lint::Lint),
    /// Update the tasks from a planner's list: one JSON object per line of standard input
    Sync(sync::Sync),
    /// Plan a loop from a file of criteria, tasks and facts
    Import(import::Args),
}

pub(crate) fn run(args: Args) -> Result<Exit> {
    let here = Here::gather()?;
    let here = &here;
    match args.command {
        TaskCommand::List(args) => show::list(here, &args),
        TaskCommand::Show(args) => show::one(here, &args),
        TaskCommand::Ready(args) => show::ready(here, &args),
        TaskCommand::Add(args) => change::add(here, args),
        TaskCommand::Claim(args) => change::claim(here, &args),
        TaskCommand::Renew(args) => change::renew(here, &args),
        TaskCommand::Done(args) => change::done(here, args),
        TaskCommand::Fail(args) => change::fail(here, &args),
        TaskCommand::Release(args) => change::release(here, &args),
        TaskCommand::Block(args) => change::block(here, &args),
        TaskCommand::Deps(args) => change::deps(here, args),
        TaskCommand::Waves(args) => show::waves(here, &args),
        TaskCommand::Graph(args) => show::drawing(here, &args),
        TaskCommand::Lint(args) => lint::run(here, &args),
        TaskCommand::Sync(args) => sync::sync(here, &args),
        TaskCommand::Import(args) => import::run(here, &args),
    }
}

fn find(here: &Here, which: &LoopArgs) -> Result<FoundLoop> {
    select_loop::one(here, which, LoopFilter::WithTasks)
}

/// Changes the tasks of a loop in one update, and records it in the journal if a person did it.
fn update<T>(
    here: &Here,
    which: &LoopArgs,
    command: &str,
    change: impl FnOnce(&mut LoopState) -> Result<T, TaskError>,
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
