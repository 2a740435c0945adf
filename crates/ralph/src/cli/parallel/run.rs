//! `ralph parallel run`: works through the planned tasks without a person, several clients at once.
//!
//! Like `ralph build`, but each task is done in a worktree of its own and merged when it is done.
//! When all are merged, the criteria run on the merged result; build rounds fix what fails.

use crate::command::context_dir::Here;
use crate::command::exit::{Exit, refused};
use crate::command::number;
use crate::command::screen;
use crate::command::select_loop::{self, FoundLoop, LoopArgs, LoopFilter};
use crate::parallel::OTHERS_TURN;
use crate::parallel::merge::{self, MergeOrder};
use crate::runs::options::{self, ClientOptions};
use crate::runs::parallel::{self as runs, ParallelRun};
use crate::runs::{build, client};
use crate::verify::Silent;
use anyhow::Result;
use ralph_core::modes::build as rules;
use ralph_core::modes::parallel;
use ralph_core::state::LoopState;
use ralph_io::git::worker_base;
use ralph_io::process::interrupts::Interrupts;
use ralph_io::store::loop_file::LoopFile;
use ralph_io::{project::user_files, store::lifecycle};
use std::path::PathBuf;

const EXIT_CODES: &str = "Exit codes: 0 the loop is complete; 1 tasks are unfinished, the loop ended otherwise, or \
    you must act; 4 the client failed; 130 you interrupted it.";

/// How many at once, and how the client is called.
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct Args {
    /// Maximum number of workers at once [default: the loop's limit]
    #[arg(long, short_alias = 'n', value_name = "N", value_parser = number::workers)]
    workers: Option<u32>,
    /// Once all work is merged and the criteria hold, have fresh reviewers examine the changes
    #[arg(long)]
    review: bool,
    #[command(flatten)]
    which: LoopArgs,
    #[command(flatten)]
    client: ClientOptions,
}

/// The alternative that needs no worktrees.
const ONE_AFTER_ANOTHER: &str = "or let `ralph build` do the tasks one after another";

pub(crate) fn run(args: &Args) -> Result<Exit> {
    let here = Here::gather()?;
    let found = select_loop::one(&here, &args.which, LoopFilter::WithTasks)?;
    build::nobody_works(&found.state)?;
    args.client.keep(&here, &found.state);
    let base = worker_base::look(&here.root)?;
    let base = base.map_err(|why| refused(Exit::No, format!("{why}; {ONE_AFTER_ANOTHER}")))?;
    let logs = options::logs(&here, "parallel");
    if args.client.dry_run {
        return show(&plan(&here, &found.file, args, logs), args, found.state);
    }
    client::client()?;
    let mode = args.client.ready(&here, "build", &build::needs())?;
    tell_of_uncommitted(&base.uncommitted);
    let _alone = build::alone(&found.file)?;
    user_files::make_folders(&logs, 0o700)?;
    let freed = runs::free(&here, &found.file)?;
    let state = take_up(&here, &found, args)?;
    build::announce(&state, &logs, "workers of", &mode);
    for line in freed.into_iter().chain(runs::kept(&state)) {
        screen::tell(&screen::visible(&line));
    }
    let interrupts = Interrupts::catch()?;
    let plan = plan(&here, &found.file, args, logs);
    runs::all(&plan, &interrupts)
}

/// Merges finished work; returns the result as lines for the user.
fn merge(here: &Here, file: &LoopFile) -> Result<Vec<String>> {
    let merged = merge::merge(&MergeOrder {
        home: &here.home,
        file,
        tasks: &[],
        watcher: &Silent,
        patience: OTHERS_TURN,
    })?;
    match &merged.refused {
        Some(why) => Err(refused(Exit::No, why.why.clone())),
        None => Ok(super::merge::describe(&merged).lines().map(str::to_owned).collect()),
    }
}

/// Unbinds the loop: this driver runs in no session, and the session that held the
/// loop no longer does.
fn take_up(here: &Here, found: &FoundLoop, args: &Args) -> Result<LoopState> {
    let bound = found.state.session_id.clone();
    let state = build::take_up(here, found, "parallel run", |state| {
        rules::go_on(state, here.now);
        args.client.bind(here, state);
        state.session_id.clear();
        (state.turn, state.client, state.via) = (None, None, None);
        build::ask_for_review(here, state, args.review);
        if let Some(most) = args.workers {
            state.limits.max_workers = most;
        }
    })?;
    build::note_start(here, &found.file, &state)?;
    lifecycle::release(&here.home, &found.file, &bound)?;
    Ok(state)
}

fn plan<'a>(here: &'a Here, file: &'a LoopFile, args: &'a Args, logs: PathBuf) -> ParallelRun<'a> {
    ParallelRun { here, file, client: &args.client, logs, merge: &merge }
}

/// Prints the command of each worker that would be started.
fn show(plan: &ParallelRun<'_>, args: &Args, mut state: LoopState) -> Result<Exit> {
    rules::go_on(&mut state, plan.here.now);
    state.limits.max_workers = args.workers.unwrap_or(state.limits.max_workers);
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
