//! `ralph next` and `ralph mark`: what the work needs next, and how far one of its tasks is.

use super::status::{self, LoopView};
use super::task::change;
use super::{parallel, ralplan, session};
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, refused, usage};
use crate::command::select_loop::{self, LoopFilter};
use crate::command::select_target::{Target, TargetArgs};
use crate::command::{complete, number, screen};
use anyhow::Result;
use clap_complete::engine::ArgValueCandidates;
use ralph_core::modes::orchestration::progress::TaskMark;
use serde_json::json;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Make the calls of an orchestration by hand: record them, and use up the signals that they carry
    #[arg(long)]
    begin: bool,
    #[command(flatten)]
    target: TargetArgs,
}

pub(crate) fn run(args: &Args) -> Result<Exit> {
    let (here, json) = (Here::gather()?, args.json);
    let which = match args.target.target()? {
        Target::Orchestration(id) => return session::next::next(&here, id, args.begin, json),
        Target::Refinement(_) => {
            return Err(refused(
                Exit::No,
                "`ralph refine begin` opens the next round of a refinement",
            ));
        }
        Target::Planning(which) => return ralplan::next(&here, which, json),
        Target::Parallel(which) => return parallel::next(&here, which, json),
        Target::Loop(which) => which,
    };
    let found = select_loop::if_any(&here, which, LoopFilter::LiveOrPlanned)?;
    let found = match found {
        Some(found) => found,
        None if session::is_any(&here) => {
            return session::next::next(&here, None, args.begin, json);
        }
        None => select_loop::one(&here, which, LoopFilter::LiveOrPlanned)?,
    };
    if let Some(driven) = found.state.orchestration() {
        return session::next::next(&here, Some(&driven.id), args.begin, json);
    }
    if found.state.ralplan().is_some() {
        return ralplan::next(&here, which, json);
    }
    if !found.state.workers.is_empty() {
        return parallel::next(&here, which, json);
    }
    let next = status::text::next(&LoopView::at(found));
    match json {
        true => screen::print_json(&json!({"schema_version": 1, "next": next})),
        false => screen::print(if next.is_empty() { "nothing is due" } else { &next }),
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct MarkArgs {
    /// Id of the task; for `started` by default the next ready one
    #[arg(add = ArgValueCandidates::new(complete::tasks))]
    pub(super) task: Option<String>,
    /// open, started, review, done, failed, blocked or cancelled, or its mark: `[ ]`, `[/]`, …
    #[arg(value_parser = status, allow_hyphen_values = true)]
    status: Option<NewStatus>,
    /// The status of a task of a loop, for an alias that names one
    #[arg(long = "as", hide = true, value_parser = status, conflicts_with_all = ["status", "id", "of"])]
    named: Option<NewStatus>,
    /// What was done, and what proves it; why it failed, or what it waits for
    #[arg(long, alias = "result", alias = "reason", value_name = "TEXT")]
    pub(super) note: Option<String>,
    /// Only if this owner holds the task; for `started`, who holds it from now on [default: the session, or you]
    #[arg(long, value_name = "NAME")]
    pub(super) owner: Option<String>,
    /// Minutes until the claim of a started task expires [default: never]
    #[arg(long, value_name = "MINUTES", value_parser = number::count, allow_hyphen_values = true)]
    pub(super) lease: Option<u32>,
    #[command(flatten)]
    target: TargetArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NewStatus {
    Mark(TaskMark),
    /// Waits for something outside of the loop.
    Blocked,
    /// Still held by its owner, for another lease.
    Renewed,
}

impl MarkArgs {
    pub(super) fn task(&self) -> Result<&str> {
        self.task.as_deref().ok_or_else(|| usage("name the task; type `ralph mark TASK STATUS`"))
    }

    pub(super) fn status(&self) -> Result<NewStatus> {
        self.status
            .or(self.named)
            .ok_or_else(|| usage("name the status; type `ralph mark TASK STATUS`"))
    }
}

fn status(said: &str) -> Result<NewStatus, String> {
    match said {
        "blocked" => Ok(NewStatus::Blocked),
        "renewed" => Ok(NewStatus::Renewed),
        said => TaskMark::typed(said).map(NewStatus::Mark).ok_or_else(|| {
            format!("no status `{said}`; type `[ ]`, `[/]`, `[P]`, `[x]`, `[F]` or `[C]`")
        }),
    }
}

pub(crate) fn run_mark(args: &MarkArgs) -> Result<Exit> {
    let here = Here::gather()?;
    let which = match args.target.target()? {
        Target::Orchestration(id) => return session::mark(&here, id, args),
        Target::Refinement(_) => return Err(usage("a refinement has no tasks of its own to mark")),
        Target::Loop(which) | Target::Parallel(which) | Target::Planning(which) => which,
    };
    if args.named.is_some() {
        return change::mark(&here, which, args);
    }
    let found = select_loop::if_any(&here, which, LoopFilter::WithTasks)?;
    let driven = found.as_ref().and_then(|found| found.state.orchestration());
    if driven.is_some() || (found.is_none() && session::is_any(&here)) {
        return session::mark(&here, driven.map(|one| one.id.as_str()), args);
    }
    change::mark(&here, which, args)
}
