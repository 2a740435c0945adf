//! `ralph session waves` and `graph`: the tasks in the order in which they are carried
//! out, listed or drawn.

use super::super::task::{Format, in_format};
use super::{OrchestrationArg, OrchestrationContext};
use crate::command::exit::Exit;
use crate::command::screen::{self, visible_lines};
use anyhow::Result;
use ralph_core::modes::orchestration::snapshot::Picture;
use ralph_core::modes::orchestration::waves::TaskFiles;

/// Which session.
#[derive(Debug, clap::Args)]
pub(crate) struct Waves {
    #[command(flatten)]
    which: OrchestrationArg,
}

/// How to draw.
#[derive(Debug, clap::Args)]
pub(crate) struct WavesArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORMAT")]
    format: Format,
    #[command(flatten)]
    which: OrchestrationArg,
}

const NO_TASKS: &str = "there are no tasks yet; the planner writes them";

pub(super) fn waves(place: &OrchestrationContext, args: &Waves) -> Result<Exit> {
    let wanted = wanted(place, &args.which)?;
    let with_mark = |id: &&str| match wanted.status(id) {
        Some(status) => format!("{status} {id}"),
        None => (*id).to_owned(),
    };
    let waves = wanted.waves();
    let rows = waves.iter().enumerate().map(|(at, wave)| {
        let tasks: Vec<String> = wave.iter().map(with_mark).collect();
        format!("wave {}: {}", at + 1, tasks.join(", "))
    });
    let mut rows: Vec<String> = rows.collect();
    rows.extend(wanted.flaws().into_iter().map(|(task, flaw)| format!("tasks/{task}.md: {flaw}")));
    let text = if rows.is_empty() { NO_TASKS.to_owned() } else { rows.join("\n") };
    screen::print(&visible_lines(&text))?;
    Ok(Exit::Done)
}

pub(super) fn drawing(place: &OrchestrationContext, args: &WavesArgs) -> Result<Exit> {
    let tasks = wanted(place, &args.which)?.drawn();
    in_format(args.format, &tasks, place.here.now, NO_TASKS)
}

fn wanted(place: &OrchestrationContext, which: &OrchestrationArg) -> Result<TaskFiles> {
    let picture = Picture::of(&place.read(&place.find(which.id.as_deref())?)?);
    let progress = picture.progress.clone().unwrap_or_default();
    Ok(TaskFiles::of(&picture, &progress))
}
