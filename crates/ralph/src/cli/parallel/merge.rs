//! `ralph parallel merge`: merges the work of workers into the loop's branch.

use crate::command::complete;
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, refused};
use crate::command::screen::{self, visible, visible_lines};
use crate::command::select_loop::{self, LoopArgs};
use crate::parallel::OTHERS_TURN;
use crate::parallel::merge::{self, MergeOrder, Merged, WorkerMerge};
use crate::verify::Watcher;
use anyhow::Result;
use clap_complete::engine::ArgValueCandidates;
use indicatif::{ProgressBar, ProgressStyle};
use ralph_core::evidence::receipt::ReceiptStatus;
use ralph_core::modes::parallel::merge::MergeOutcome;
use ralph_core::state::Criterion;
use std::time::Duration;

/// What is merged.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Tasks to merge, finished or not [default: all finished tasks]
    #[arg(value_name = "TASK", add = ArgValueCandidates::new(complete::tasks))]
    tasks: Vec<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    which: LoopArgs,
}

pub(super) fn run(args: &Args) -> Result<Exit> {
    let here = Here::gather()?;
    let found = select_loop::recent(&here, &args.which)?;
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
    if args.json {
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
pub(super) fn describe(merged: &Merged) -> String {
    if merged.workers.is_empty() {
        return "There is nothing to merge.".to_owned();
    }
    let width = merged.workers.iter().map(|one| name(one).chars().count()).max().unwrap_or(0);
    let mut lines: Vec<String> = merged.workers.iter().map(|one| line(one, width)).collect();
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

fn line(one: &WorkerMerge, width: usize) -> String {
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
