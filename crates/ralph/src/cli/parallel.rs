//! `ralph parallel …`: works on tasks side by side, each in a worktree of its own.

use crate::command::complete;
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, refused};
use crate::command::screen::{self, visible, visible_lines};
use crate::command::select_loop::{self, FoundLoop, LoopArgs, LoopFilter, ViewArgs};
use crate::parallel::OTHERS_TURN;
use crate::parallel::clean::{self, CleanItem};
use crate::parallel::merge::{self, MergeOrder, Merged, WorkerMerge};
use crate::runs::build::{self, RunOptions};
use crate::runs::options::{self, ClientOptions};
use crate::runs::parallel::ParallelRun;
use crate::runs::{client, parallel as runs};
use crate::verify::{Silent, Watcher};
use anyhow::Result;
use clap_complete::engine::ArgValueCandidates;
use indicatif::{ProgressBar, ProgressStyle};
use ralph_core::evidence::receipt::ReceiptStatus;
use ralph_core::modes::build as rules;
use ralph_core::modes::parallel::merge::MergeOutcome;
use ralph_core::modes::parallel::{self, NextParallelStep, WavePlan};
use ralph_core::state::{Criterion, LoopState, Task};
use ralph_io::git::worker_base::{self, Base};
use ralph_io::process::wait_any::Interrupts;
use ralph_io::project::user_files;
use ralph_io::store::lifecycle;
use ralph_io::store::loop_file::LoopFile;
use serde_json::json;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

/// What to do about tasks that could be worked on side by side.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum ParallelCommand {
    /// Merge the finished tasks and run the criteria after each merge
    Merge(MergeArgs),
    /// Remove the worktrees and branches of merged tasks
    Clean(CleanArgs),
}

pub(crate) fn run(command: &ParallelCommand) -> Result<Exit> {
    match command {
        ParallelCommand::Merge(args) => merge(args),
        ParallelCommand::Clean(args) => clean(args),
    }
}

// The waves in which the open tasks could be carried out.

/// How many ids of one kind are listed by name.
const NAMED: usize = 20;

pub(super) fn waves(here: &Here, which: &LoopArgs, json: bool) -> Result<Exit> {
    let state = select_loop::one(here, which, LoopFilter::WithTasks)?.state;
    let plan = parallel::plan(&state);
    if json {
        let most = state.limits.max_workers;
        screen::print_json(&json!({"schema_version": 1, "max_workers": most, "plan": plan}))?;
    } else {
        screen::print(visible_lines(&text(&state, &plan)).trim_end())?;
    }
    Ok(Exit::Done)
}

fn text(state: &LoopState, plan: &WavePlan) -> String {
    let mut text = String::new();
    // Writing into a `String` cannot fail.
    for (number, wave) in plan.waves.iter().enumerate() {
        let _ = writeln!(text, "wave {}", number + 1);
        for id in wave {
            let task = state.task_graph.iter().find(|task| task.id == *id);
            let _ = writeln!(text, "  {id}  {}", task.map(described).unwrap_or_default());
        }
    }
    if plan.waves.is_empty() {
        text.push_str("no task can be begun\n");
    } else {
        let _ = writeln!(text, "at most {} at once", state.limits.max_workers);
    }
    for clash in &plan.clashes {
        let _ = writeln!(
            text,
            "{} waits for {}: both change `{}`",
            clash.task, clash.after, clash.file
        );
    }
    if !plan.undeclared.is_empty() {
        let _ = writeln!(
            text,
            "without declared files, so that a clash shows only when they are merged: {}",
            some(&plan.undeclared)
        );
    }
    if !plan.out_of_reach.is_empty() {
        let _ = writeln!(
            text,
            "out of reach, behind one that is failed, blocked, unknown or waits for it: {}",
            some(&plan.out_of_reach)
        );
    }
    text
}

fn described(task: &Task) -> String {
    match task.files.is_empty() {
        true => task.name.clone(),
        false => format!("{}  ({})", task.name, task.files.join(", ")),
    }
}

fn some(ids: &[String]) -> String {
    let shown = ids.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match ids.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

// Tells the session that starts the workers its next step.
//
// The answer is for a model, so it is complete: the exact input of each call, the step after it,
// and anything that prevents it.

pub(super) fn next(here: &Here, which: &LoopArgs, json: bool) -> Result<Exit> {
    let state = select_loop::one(here, which, LoopFilter::Live)?.state;
    let next = parallel::next(&state, here.now);
    let (hindrance, lacking) = match &next {
        NextParallelStep::Start { .. } => base(here)?,
        _ => (None, Vec::new()),
    };
    if json {
        let document = json!({"schema_version": 1, "next": next, "hindrance": hindrance, "not_in_base": lacking});
        screen::print_json(&document)?;
    } else {
        screen::print(&visible_lines(&next_step_text(
            &state,
            &next,
            hindrance.as_deref(),
            &lacking,
        )))?;
    }
    let goes_on = hindrance.is_none()
        && !matches!(next, NextParallelStep::Stuck { .. } | NextParallelStep::NoTasks);
    Ok(if goes_on { Exit::Done } else { Exit::No })
}

/// Why no worker can be started, and which uncommitted files the workers will not see.
fn base(here: &Here) -> Result<(Option<String>, Vec<String>)> {
    Ok(match worker_base::inspect_repository(&here.root)? {
        Ok(base) => (hindrance(&base), base.uncommitted),
        Err(why) => (Some(why.to_string()), Vec::new()),
    })
}

/// Why workers would start from a base that lacks commits of this branch.
fn hindrance(base: &Base) -> Option<String> {
    let behind = base.behind.as_ref()?;
    Some(format!(
        "workers would begin at {}, which lacks {} of this branch: the user must type `ralph install \
         --with worker-base`, or push",
        behind.reference,
        if behind.commits == 1 {
            "1 commit".to_owned()
        } else {
            format!("{} commits", behind.commits)
        }
    ))
}

fn next_step_text(
    state: &LoopState,
    next: &NextParallelStep,
    hindrance: Option<&str>,
    lacking: &[String],
) -> String {
    if let Some(why) = hindrance {
        return format!(
            "No worker can be started: {why}. Say so with `ralph blocked 'WHAT A PERSON MUST DO'` and \
             end your turn."
        );
    }
    match next {
        NextParallelStep::Start { calls } => {
            let inputs: Vec<String> = calls.iter().map(|call| json!(call).to_string()).collect();
            format!(
                "Start {} now: in one message, one call of the Agent tool for each line, with exactly \
                 this input.\n{}\n{}Then end your turn: you are woken when a worker ends. Run `ralph \
                 parallel next` again then.",
                if calls.len() == 1 {
                    "this worker".to_owned()
                } else {
                    format!("these {} workers", calls.len())
                },
                inputs.join("\n"),
                not_in_base(lacking)
            )
        }
        NextParallelStep::Merge { tasks } => format!(
            "Run `ralph parallel merge` now: the work of {} is done and not merged. Then run `ralph \
             parallel next` again.",
            tasks.join(", ")
        ),
        NextParallelStep::Wait { workers } => format!(
            "At work: {}. End your turn now: you are woken when one ends. Run `ralph parallel next` \
             again then.",
            workers.join(", ")
        ),
        NextParallelStep::Finished => format!(
            "All tasks are done and merged. Run `ralph verify`. When all criteria hold, end your message \
             with {} alone on its last line.",
            state.completion_token
        ),
        NextParallelStep::NoTasks => {
            "There are no tasks yet, and without tasks this loop cannot complete. Read what the goal \
             names, and bring its work into the graph with `ralph plan-sync`: one JSON object on each line \
             of standard input, `{\"id\":\"T-1\",\"name\":\"…\",\"deps\":[],\"completion_condition\":\"…\",\
             \"files\":[\"…\"]}`. Then run `ralph parallel next` again."
                .to_owned()
        }
        NextParallelStep::Stuck { why } => format!(
            "Nothing can be started: {}. Where you can fix that, `ralph task release ID` makes a task \
             pending again. Otherwise report what the user must do with `ralph blocked 'WHAT'`, and end \
             your turn.",
            why.join("; ")
        ),
    }
}

fn not_in_base(files: &[String]) -> String {
    match files.is_empty() {
        true => String::new(),
        false => format!(
            "Not committed, so workers will not see it: {}.\n",
            parallel::merge::list(files)
        ),
    }
}

// `ralph run --parallel`: works through the planned tasks without a person, several clients at once.
//
// Like `ralph run --planned`, but each task is done in a worktree of its own and merged when it is done.
// When all are merged, the criteria run on the merged result; build rounds fix what fails.

/// The alternative that needs no worktrees.
const ONE_AFTER_ANOTHER: &str = "or let `ralph run --planned` do the tasks one after another";

pub(super) fn work_through(here: &Here, how: &RunOptions, workers: Option<u32>) -> Result<Exit> {
    let found = select_loop::one(here, &how.which, LoopFilter::WithTasks)?;
    build::nobody_works(&found.state)?;
    how.client.keep(here, &found.state);
    let base = worker_base::inspect_repository(&here.root)?;
    let base = base.map_err(|why| refused(Exit::No, format!("{why}; {ONE_AFTER_ANOTHER}")))?;
    let logs = options::logs(here, "parallel");
    if how.client.dry_run {
        return show(&plan(here, &found.file, &how.client, logs), workers, found.state);
    }
    client::CLIENT.program()?;
    let mode = how.client.ready(here, "build", &build::needs())?;
    tell_of_uncommitted(&base.uncommitted);
    let _alone = build::alone(&found.file)?;
    user_files::make_folders(&logs, 0o700)?;
    let freed = runs::free(here, &found.file)?;
    let state = take_up(here, &found, how, workers)?;
    build::announce(&state, &logs, "workers of", &mode);
    for line in freed.into_iter().chain(runs::kept(&state)) {
        screen::tell(&screen::visible(&line));
    }
    let interrupts = Interrupts::catch()?;
    let plan = plan(here, &found.file, &how.client, logs);
    runs::all(&plan, &interrupts)
}

/// Merges finished work; returns the result as lines for the user.
fn merge_all(here: &Here, file: &LoopFile) -> Result<Vec<String>> {
    let merged = merge::merge(&MergeOrder {
        home: &here.home,
        file,
        tasks: &[],
        watcher: &Silent,
        patience: OTHERS_TURN,
    })?;
    match &merged.refused {
        Some(why) => Err(refused(Exit::No, why.why.clone())),
        None => Ok(describe(&merged).lines().map(str::to_owned).collect()),
    }
}

/// Unbinds the loop: this driver runs in no session, and the session that held the
/// loop no longer does.
fn take_up(
    here: &Here,
    found: &FoundLoop,
    how: &RunOptions,
    workers: Option<u32>,
) -> Result<LoopState> {
    let bound = found.state.session_id.clone();
    let state = build::take_up(here, found, "parallel run", |state| {
        rules::go_on(state, here.now);
        how.client.bind(here, state);
        state.session_id.clear();
        (state.turn, state.client, state.via) = (None, None, None);
        build::ask_for_review(here, state, how.review);
        if let Some(most) = workers {
            state.limits.max_workers = most;
        }
    })?;
    build::note_start(here, &found.file, &state)?;
    lifecycle::release(&here.home, &found.file, &bound)?;
    Ok(state)
}

fn plan<'a>(
    here: &'a Here,
    file: &'a LoopFile,
    client: &'a ClientOptions,
    logs: PathBuf,
) -> ParallelRun<'a> {
    ParallelRun { here, file, client, logs, merge: &merge_all }
}

/// Prints the command of each worker that would be started.
fn show(plan: &ParallelRun<'_>, workers: Option<u32>, mut state: LoopState) -> Result<Exit> {
    rules::go_on(&mut state, plan.here.now);
    state.limits.max_workers = workers.unwrap_or(state.limits.max_workers);
    let rounds = runs::planned(plan, &state)?;
    if rounds.is_empty() {
        screen::tell("no task could be begun now");
    }
    for round in &rounds {
        options::show(round)?;
    }
    Ok(Exit::Done)
}

/// Workers start from a commit, so they lack uncommitted changes.
fn tell_of_uncommitted(files: &[String]) {
    if !files.is_empty() {
        let names = parallel::merge::list(files);
        screen::tell(&screen::visible(&format!(
            "not committed, so the workers begin without it: {names}"
        )));
    }
}

// `ralph parallel merge`: merges the work of workers into the loop's branch.

/// What is merged.
#[derive(Debug, clap::Args)]
pub(crate) struct MergeArgs {
    /// Tasks to merge, finished or not [default: all finished tasks]
    #[arg(value_name = "TASK", add = ArgValueCandidates::new(complete::tasks))]
    tasks: Vec<String>,
    #[command(flatten)]
    view: ViewArgs,
}

fn merge(args: &MergeArgs) -> Result<Exit> {
    let here = Here::gather()?;
    let found = select_loop::recent(&here, &args.view.which)?;
    let _ = ralph_io::process::command::adopt_orphans();
    let shown = MergeDisplay::new();
    let merged = merge::merge(&MergeOrder {
        home: &here.home,
        file: &found.file,
        tasks: &args.tasks,
        watcher: &shown,
        patience: OTHERS_TURN,
    });
    shown.bar.finish_and_clear();
    let merged = merged?;
    let exit = if merged.is_all() { Exit::Done } else { Exit::No };
    if args.view.json {
        let mut document = serde_json::to_value(&merged)?;
        document["schema_version"] = 1.into();
        screen::print_json(&document)?;
        return Ok(exit);
    }
    if let Some(why) = &merged.refused {
        return Err(refused(Exit::No, why.why.clone()));
    }
    screen::print(&describe(&merged))?;
    Ok(exit)
}

/// The result of a merge, for the user.
fn describe(merged: &Merged) -> String {
    if merged.workers.is_empty() {
        return "There is nothing to merge.".to_owned();
    }
    let width = merged.workers.iter().map(|one| name(one).chars().count()).max().unwrap_or(0);
    let mut lines: Vec<String> = merged.workers.iter().map(|one| merge_line(one, width)).collect();
    if !merged.criteria_not_run.is_empty() {
        lines.push(format!("No criterion was run: {}.", merged.criteria_not_run));
    }
    let short = |commit: &str| commit.get(..10).unwrap_or(commit).to_owned();
    let branch = merged.branch.strip_prefix("refs/heads/").unwrap_or("HEAD");
    lines.push(match merged.base == merged.head {
        true => format!("`{}` has not moved.", visible(branch)),
        false => {
            let (from, to) = (short(&merged.base), short(&merged.head));
            format!("`{}` and its files have moved from {from} to {to}.", visible(branch))
        }
    });
    lines.join("\n")
}

fn name(one: &WorkerMerge) -> String {
    visible(if one.task.is_empty() { &one.about } else { &one.task })
}

fn merge_line(one: &WorkerMerge, width: usize) -> String {
    let said = match &one.outcome {
        MergeOutcome::Merged { merge } => format!("merged    {}", merge.get(..10).unwrap_or(merge)),
        MergeOutcome::Nothing => "nothing to merge".to_owned(),
        other => format!("kept out  {}", visible(&other.kept_out().unwrap_or_default())),
    };
    let mut line = format!("{:<width$}  {said}", name(one));
    let mut below = |text: &str| {
        for text in visible_lines(text).lines() {
            line.push_str(&format!("\n{:<width$}  {text}", ""));
        }
    };
    if let MergeOutcome::TurnedRed { tail, .. } = &one.outcome {
        below(tail);
    }
    if let Some(became) = &one.became {
        below(became.split_once(": ").map_or(became, |(task, _)| task));
    }
    if let Some(kept) = &one.kept_at {
        below(&format!("its work is kept at `{kept}`"));
    }
    line
}

/// Shows on a terminal which criterion runs.
struct MergeDisplay {
    bar: ProgressBar,
}

impl MergeDisplay {
    fn new() -> MergeDisplay {
        let style = ProgressStyle::with_template("{spinner} {elapsed}  {wide_msg}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner());
        let bar = ProgressBar::new_spinner().with_style(style).with_message("merging");
        bar.enable_steady_tick(Duration::from_millis(120));
        MergeDisplay { bar }
    }
}

impl Watcher for MergeDisplay {
    fn begins(&self, criterion: &Criterion) {
        let (id, command) = (visible(&criterion.id), visible(&criterion.decided_by()));
        self.bar.set_message(format!("{id}  {command}"));
    }

    fn ended(&self, _criterion: &Criterion, _standing: ReceiptStatus) {
        self.bar.set_message("merging");
    }

    fn again(&self, _criterion: &Criterion, _why: &str) {}
}

// `ralph parallel clean`: removes the worktrees and branches of workers whose work is merged.

/// Whether anything is removed.
#[derive(Debug, clap::Args)]
pub(crate) struct CleanArgs {
    /// Print what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

fn clean(args: &CleanArgs) -> Result<Exit> {
    let here = Here::gather()?;
    let items = clean::clean(&here.home, &here.root, args.dry_run)?;
    let failed = items.iter().any(|item| !item.problem.is_empty());
    let exit = if failed { Exit::No } else { Exit::Done };
    if args.json {
        let document = json!({"schema_version": 1, "dry_run": args.dry_run, "worktrees": items});
        screen::print_json(&document)?;
        return Ok(exit);
    }
    let lines: Vec<String> = items.iter().map(|item| clean_line(item, args.dry_run)).collect();
    screen::print(&match lines.is_empty() {
        true => "There are no worktrees of workers.".to_owned(),
        false => lines.join("\n"),
    })?;
    Ok(exit)
}

fn clean_line(item: &CleanItem, dry_run: bool) -> String {
    let what = match (item.worktree.as_str(), item.branch.as_str()) {
        ("", branch) => format!("branch `{}`", visible(branch)),
        (worktree, "") => visible(worktree),
        (worktree, branch) => format!("{} and branch `{}`", visible(worktree), visible(branch)),
    };
    let task = if item.task.is_empty() { "" } else { &format!("{}: ", visible(&item.task)) };
    match (&item.stays, item.problem.as_str()) {
        (Some(stays), _) => format!(
            "stays         {task}{what}\n              {}; to remove it, work and all: {}",
            visible(&stays.reason()),
            visible(&item.command)
        ),
        (None, "") if dry_run => format!("would remove  {task}{what}"),
        (None, "") => format!("removed       {task}{what}"),
        (None, problem) => {
            format!("failed        {task}{what}\n              {}", visible(problem))
        }
    }
}
