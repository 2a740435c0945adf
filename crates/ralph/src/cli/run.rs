//! `ralph run`: work without a person, in rounds of fresh clients, until the criteria hold.

use super::parallel;
use super::start::{LoopLimits, can_start};
use crate::command::context_dir::{Here, note};
use crate::command::exit::{Exit, refused, usage};
use crate::command::select_loop::{self, FoundLoop, LoopFilter};
use crate::command::select_shared::SharedArgs;
use crate::command::{number, plan_import, screen};
use crate::runs::build::{self, ReadyRun, RunOptions};
use crate::runs::shared::{self, SharedOptions};
use anyhow::{Context, Result};
use ralph_core::modes::arguments::{ArgumentError, LoopRequest, Options};
use ralph_core::state::{LimitFlag, LoopState, Mode};
use ralph_hooks::begin::{self, StartOutcome};
use ralph_io::client::given;
use ralph_io::git::shared::SharedPlace;
use ralph_io::store::lifecycle;
use std::path::{Path, PathBuf};

/// Exit codes of `ralph run`, shown in its help.
pub(super) const EXIT_CODES: &str = "Exit codes: 0 the loop is complete; 1 it ended otherwise, is paused, or tasks are \
    unfinished; 4 a program is missing or failed; 130 you interrupted it.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct Args {
    /// What to do; `-` reads standard input [default: continue this project's loop]
    task: Option<String>,
    /// Read the task from a file
    #[arg(short = 'f', long, value_name = "FILE", conflicts_with = "task")]
    file: Option<PathBuf>,
    /// Carry out a plan: Markdown with checkboxes, `prd.json`, `fix_plan.md`, or one of `/ralplan`;
    /// Ralph ticks what is done
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, conflicts_with_all = ["task", "file"])]
    plan: Option<String>,
    /// Carry out the tasks that are planned; change none of the loop's limits
    #[arg(long, conflicts_with_all = NEW_LOOP)]
    planned: bool,
    /// Carry out the planned tasks with several clients at once, each in a worktree of its own
    #[arg(long, conflicts_with_all = NEW_LOOP, conflicts_with_all = ["planned", "rounds", "branch", "commit", "json"])]
    parallel: bool,
    #[command(flatten)]
    shared: SharedArgs,
    /// Maximum number of workers at once in parallel, or of a shared loop [default: the loop's limit]
    #[arg(long, value_name = "N", value_parser = number::limit::<u32>(LimitFlag::MaxWorkers))]
    workers: Option<u32>,
    #[command(flatten)]
    limits: LoopLimits,
    /// Limit of the cost in US dollars, where the client reports it
    #[arg(long, value_name = "USD", value_parser = number::max_cost)]
    max_cost: Option<f64>,
    #[command(flatten)]
    how: RunOptions,
}

/// What only a loop can take that begins, or continues with other limits.
const NEW_LOOP: [&str; 11] = [
    "task",
    "file",
    "plan",
    "shared",
    "max_iterations",
    "max_minutes",
    "max_tokens",
    "stall_limit",
    "criteria",
    "tests_may_change",
    "max_cost",
];

const NOTHING: &str = "this project has no loop to continue; type `ralph run \"what to do\"`, or plan tasks first with `ralph plan`";

impl Args {
    fn options(&self) -> Options {
        Options { max_cost: self.max_cost, ..self.limits.options() }
    }

    /// The task; `None` to continue a loop.
    fn task(&self) -> Result<Option<String>> {
        let task = match (&self.file, self.task.as_deref()) {
            (Some(file), _) => Some(read(file)?),
            (None, Some("-")) => Some(given::stdin()?),
            (None, task) => task.map(str::to_owned),
        };
        let task = task.map(|task| task.trim_end().to_owned());
        if task.as_ref().is_some_and(|task| task.trim().is_empty()) {
            return Err(usage(ArgumentError::EmptyTask.to_string()));
        }
        Ok(task)
    }
}

pub(crate) fn run(args: &Args) -> Result<Exit> {
    let here = Here::gather()?;
    if args.parallel {
        return parallel::work_through(&here, &args.how, args.workers);
    }
    if args.workers.is_some() && args.shared.shared.is_none() {
        return Err(usage("`--workers` goes with `--parallel` or `--shared`"));
    }
    if args.planned {
        return carry_out_planned(args, &here);
    }
    if let Some(id) = &args.shared.shared {
        let place = match args.shared.place(&here) {
            Err(error) => shared::known_place(&here, id, args.shared.remote()).ok_or(error)?,
            found => found?.context("a shared loop has a place")?,
        };
        return take_part(args, &here, place);
    }
    if let Some(plan) = &args.plan {
        return carry_out(args, &here, plan);
    }
    match args.task()? {
        Some(task) => start(args, &here, task),
        None => go_on(args, &here),
    }
}

/// Takes part in a shared loop.
fn take_part(args: &Args, here: &Here, place: SharedPlace) -> Result<Exit> {
    if args.task.is_some() || args.file.is_some() || args.plan.is_some() {
        return Err(usage("a shared loop has its plan; give --shared, or a task or a plan"));
    }
    let limits = args.options();
    if let Some(option) = args.how.not_for_shared(&limits) {
        return Err(usage(format!("{option} does not go with --shared")));
    }
    let rounds = args.how.rounds();
    let how = SharedOptions { client: &args.how.client, workers: args.workers, rounds, limits };
    shared::run(here, place, &how)
}

/// Starts a loop for this task, and runs its rounds.
fn start(args: &Args, here: &Here, task: String) -> Result<Exit> {
    if args.how.which.is_named() {
        return Err(usage(
            "a task starts a new loop, and --loop and --session name an old one; give one of them",
        ));
    }
    let options = args.options();
    can_start(&options.criteria, here)?;
    let request = LoopRequest { task: Some(task), options, parallel: None };
    let asked = here.asks(Mode::default(), &request, "");
    if args.how.client.dry_run {
        return build::show_first(here, None, &begin::preview(&asked)?, &args.how, "run");
    }
    let ready = ReadyRun::check(here, "run", &args.how, None)?;
    let (state, told) = match begin::begin(&asked)? {
        StartOutcome::Planned(state, told) => (state, told),
        StartOutcome::Refused(why) => return Err(refused(Exit::No, why)),
        other => anyhow::bail!("could not plan the loop: {other:?}"),
    };
    let problems = state.errors.iter().map(|error| &error.message).chain(&told);
    problems.for_each(|line| screen::tell(&screen::visible(line)));
    ready.work_on(&FoundLoop::by_id(here, &state.loop_id)?, |_| {})
}

/// Makes a loop of a plan, shows what it will do, and runs its rounds.
fn carry_out(args: &Args, here: &Here, plan: &str) -> Result<Exit> {
    if args.how.which.is_named() {
        return Err(usage(
            "a plan starts a new loop, and --loop and --session name an old one; give one of them",
        ));
    }
    plan_import::nothing_is_live(
        here,
        "type `ralph run` to continue it, or `ralph cancel` to end it",
    )?;
    let options = args.options();
    can_start(&options.criteria, here)?;
    let imported = plan_import::read(here, plan)?;
    let (mut state, notes) = imported.with(&options.criteria).into_loop(here)?;
    Options { criteria: Vec::new(), ..options }.fill(&mut state);
    state.errors.iter().for_each(|error| screen::tell(&screen::visible(&error.message)));
    screen::tell(&format!(
        "the plan `{}`:\n{}",
        screen::visible(plan),
        plan_import::describe(&state, &notes, here).trim_end()
    ));
    if args.how.client.dry_run {
        return build::show_first(here, None, &state, &args.how, "run");
    }
    let ready = ReadyRun::check(here, "run", &args.how, Some(&state))?;
    let file = lifecycle::create(&here.home, &mut state)?;
    note(here, &file, &state, "run", "planned", &format!("from {plan}"));
    ready.work_on(&FoundLoop::by_id(here, &state.loop_id)?, |_| {})
}

/// Continues this project's loop, or starts the planned one.
fn go_on(args: &Args, here: &Here) -> Result<Exit> {
    let found = select_loop::if_any(here, &args.how.which, LoopFilter::WithTasks)?;
    let found = found.context(NOTHING)?;
    let options = args.options();
    if !options.criteria.is_empty() && found.state.started_at.is_some() {
        return Err(usage(
            "the criteria of a loop that has begun stay as they are; --ac needs a task, which starts a new loop",
        ));
    }
    let fill = |state: &mut LoopState| options.fill(state);
    if args.how.client.dry_run {
        let mut state = found.state.clone();
        fill(&mut state);
        return build::show_first(here, Some(&found.file), &state, &args.how, "run");
    }
    ReadyRun::check(here, "run", &args.how, Some(&found.state))?.work_on(&found, fill)
}

fn read(file: &Path) -> Result<String> {
    crate::command::exit::must_exist(file)?;
    given::file(file)
}

/// Works through the planned tasks, as `ralph run --planned`.
fn carry_out_planned(args: &Args, here: &Here) -> Result<Exit> {
    let found = select_loop::one(here, &args.how.which, LoopFilter::WithTasks)?;
    build::nobody_works(&found.state)?;
    if args.how.client.dry_run {
        return build::show_first(here, Some(&found.file), &found.state, &args.how, "build");
    }
    ReadyRun::check(here, "build", &args.how, Some(&found.state))?.work_on(&found, |_| {})
}
