//! `ralph parallel waves`: the waves in which the open tasks could be carried out.

use crate::command::context_dir::Here;
use crate::command::exit::Exit;
use crate::command::screen::{self, visible_lines};
use crate::command::select_loop::{self, LoopArgs, LoopFilter};
use anyhow::Result;
use ralph_core::modes::parallel::{self, WavePlan};
use ralph_core::state::{LoopState, Task};
use serde_json::json;
use std::fmt::Write;

/// How it is shown.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    which: LoopArgs,
}

/// How many ids of one kind are listed by name.
const NAMED: usize = 20;

pub(super) fn run(here: &Here, args: &Args) -> Result<Exit> {
    let state = select_loop::one(here, &args.which, LoopFilter::WithTasks)?.state;
    let plan = parallel::plan(&state);
    if args.json {
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
