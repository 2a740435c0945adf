//! `ralph task …`: shows and changes the loop's tasks, with one locked update per change.

pub(super) mod change;
mod show;
pub(super) mod sync;

use crate::command::context_dir::{Here, note};
use crate::command::exit::{Exit, bad_state};
use crate::command::plan_import;
use crate::command::screen::{self, visible};
use crate::command::select_loop::{self, FoundLoop, LoopArgs, LoopFilter};
use anyhow::{Context, Result, anyhow};
use clap::ValueHint;
use ralph_core::state::LoopState;
use ralph_core::tasks::graph::{self, TaskError};
use ralph_core::tasks::plan;
use ralph_core::text::plural::counted;
use ralph_hooks::begin;
use ralph_io::store::lifecycle;
pub(super) use show::{Format, in_format};
use std::path::Path;
pub(super) use sync::store;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: TaskCommand,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum TaskCommand {
    /// List the unfinished tasks, or show one
    List(show::ListArgs),
    /// Add a task
    Add(change::Add),
    /// Show or set the dependencies of a task
    Deps(change::Deps),
    /// Draw the tasks and their dependencies
    Graph(show::GraphArgs),
    /// Update the tasks from a planner's list: one JSON object per line of standard input
    Sync(sync::Sync),
    /// Plan a loop from a file of criteria, tasks and facts
    Import(Import),
}

pub(crate) fn run(args: Args) -> Result<Exit> {
    let here = Here::gather()?;
    let here = &here;
    match args.command {
        TaskCommand::List(args) => show::list(here, &args),
        TaskCommand::Add(args) => change::add(here, args),
        TaskCommand::Deps(args) => change::deps(here, args),
        TaskCommand::Graph(args) => show::graph(here, &args),
        TaskCommand::Sync(args) => sync::sync(here, &args),
        TaskCommand::Import(args) => import(here, &args),
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
    let (what, position) = changed.map_err(|why| anyhow!(why.to_string()))?;
    if here.session.is_none() {
        let why = "the user changed the tasks";
        let entry = here.entry(position, &format!("task {command}"), "changed", why);
        let _ = lifecycle::note(&here.home, &file, &entry);
    }
    Ok(what)
}

// `ralph task lint`: what prevents a plan from being carried out, and what would make it go badly.

pub(super) struct LintResult {
    /// What prevents the plan from being carried out.
    pub(super) problems: Vec<String>,
    /// What would make it go badly.
    pub(super) advice: Vec<String>,
}

fn run_lint(here: &Here, which: &LoopArgs) -> Result<Exit> {
    let state = find(here, which)?.state;
    let looked = lint_of(&state, &here.root);
    let mut rows: Vec<String> = looked.problems.iter().map(|row| visible(row)).collect();
    rows.extend(looked.advice.iter().map(|row| format!("advice: {}", visible(row))));
    rows.push(format!(
        "{}, {}: {}, {}",
        some(state.acceptance_criteria.len(), "criterion", "criteria"),
        some(state.task_graph.len(), "task", "tasks"),
        some(looked.problems.len(), "problem", "problems"),
        some(looked.advice.len(), "piece of advice", "pieces of advice"),
    ));
    screen::print(&rows.join("\n"))?;
    Ok(if looked.problems.is_empty() { Exit::Done } else { Exit::No })
}

/// Checks the criteria and the tasks of a loop.
pub(super) fn lint_of(state: &LoopState, root: &Path) -> LintResult {
    let criteria = &state.acceptance_criteria;
    let mut problems: Vec<String> =
        plan::criteria_problems(criteria).iter().map(ToString::to_string).collect();
    problems.extend(begin::cannot_start(criteria, root));
    problems.extend(graph::lint(&state.task_graph).iter().map(ToString::to_string));
    let none = "there are no acceptance criteria, so nothing can show that the work is done; name \
                some with `/ralph \"task\" --ac 'DESCRIPTION=COMMAND'` or in a plan";
    let mut advice: Vec<String> =
        criteria.is_empty().then(|| none.to_owned()).into_iter().collect();
    advice.extend(graph::advice(&state.task_graph));
    LintResult { problems, advice }
}

/// Reports the result on standard error, beside another command's output.
pub(super) fn tell_lint(looked: &LintResult) {
    looked.problems.iter().for_each(|row| screen::tell(&visible(row)));
    looked.advice.iter().for_each(|row| screen::tell(&format!("advice: {}", visible(row))));
}

/// Like [`counted()`], with "no" for zero.
fn some(count: usize, one: &str, many: &str) -> String {
    match count {
        0 => format!("no {many}"),
        count => counted(count, one, many),
    }
}

// `ralph task import`: makes a planned loop from a plan; the user starts it by typing `/ralph`.

#[derive(Debug, clap::Args)]
pub(crate) struct Import {
    /// Markdown with checkboxes or a ```json block, `prd.json`, `fix_plan.md`, a JSON document or
    /// `.jsonl`; `-` reads standard input
    #[arg(value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    file: String,
}

const ADVICE: &str = "cancel it first (`ralph cancel`), or add to its tasks with `ralph task add`";

/// Reads the plan and plans the loop; any problem in it leaves everything unchanged.
pub(super) fn import(here: &Here, args: &Import) -> Result<Exit> {
    plan_import::nothing_is_live(here, ADVICE)?;
    let (mut state, notes) = plan_import::read(here, &args.file)?.into_loop(here)?;
    tell_lint(&lint_of(&state, &here.root));
    let file = lifecycle::create(&here.home, &mut state)?;
    let why = format!("from {}", if args.file == "-" { "standard input" } else { &args.file });
    note(here, &file, &state, "task import", "planned", &why);
    screen::print(&format!(
        "Ralph loop {} planned\n{}Type /ralph in Claude Code, in this project, to start it.",
        state.loop_id,
        plan_import::describe(&state, &notes, here)
    ))
}
