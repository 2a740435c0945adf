//! Shows tasks: as a list, as Markdown or JSON, or one task in full.

use crate::cli::{parallel, session};
use crate::command::complete;
use crate::command::context_dir::Here;
use crate::command::exit::Exit;
use crate::command::screen::{self, visible, visible_lines};
use crate::command::select_loop::{self, LoopArgs, LoopFilter};
use crate::command::select_target::{Target, TargetArgs};
use anyhow::{Context, Result, bail};
use clap_complete::engine::ArgValueCandidates;
use jiff::Timestamp;
use ralph_core::state::Task;
use ralph_core::tasks::graph::render::{self, Show};
use ralph_core::tasks::graph::{self, Graph, TaskError, draw};

#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// The task to show in full
    #[arg(
        conflicts_with_all = ["all", "ready", "lint", "markdown", "json"],
        add = ArgValueCandidates::new(complete::tasks)
    )]
    id: Option<String>,
    /// Include finished tasks
    #[arg(long)]
    all: bool,
    /// Only those that are ready
    #[arg(long, conflicts_with_all = ["all", "markdown", "json"])]
    ready: bool,
    /// Check the criteria and the tasks for errors and risks
    #[arg(long, conflicts_with_all = ["all", "ready", "markdown", "json"])]
    lint: bool,
    /// Print a Markdown list
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(super) which: LoopArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct GraphArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORMAT")]
    format: Format,
    /// Print one JSON document: the waves in which the open tasks can run side by side
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: TargetArgs,
}

/// The forms that a graph is drawn in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    Text,
    Dot,
    Mermaid,
    Waves,
}

pub(super) fn list(here: &Here, args: &ListArgs) -> Result<Exit> {
    if args.ready {
        return ready(here, &args.which);
    }
    if args.lint {
        return super::run_lint(here, &args.which);
    }
    if let Some(id) = &args.id {
        return one(here, &args.which, id);
    }
    if args.all && args.markdown {
        return for_planner(here, &args.which);
    }
    let tasks = super::find(here, &args.which)?.state.task_graph;
    let show = if args.all { Show::All } else { Show::Open };
    if args.json {
        return screen::print_json(&render::json(&tasks, show, here.now));
    }
    let text = match args.markdown {
        true => render::markdown(&tasks, show, here.now),
        false => render::text(&tasks, show, here.now),
    };
    draw(&tasks, &text, NO_TASKS)
}

/// The whole graph for a planner, also before its first round: if nothing is planned, prints
/// nothing, not even a line feed.
fn for_planner(here: &Here, which: &LoopArgs) -> Result<Exit> {
    let found = select_loop::if_any(here, which, LoopFilter::WithTasks)?;
    let tasks = found.map(|found| found.state.task_graph).unwrap_or_default();
    if !tasks.is_empty() {
        screen::print(&visible_lines(&render::markdown(&tasks, Show::All, here.now)))?;
    }
    Ok(Exit::Done)
}

pub(super) fn graph(here: &Here, args: &GraphArgs) -> Result<Exit> {
    let is_in_waves = args.format == Format::Waves;
    match args.target.target()? {
        Target::Orchestration(id) if is_in_waves => return session::waves(here, id),
        Target::Orchestration(id) => return session::drawing(here, id, args.format),
        Target::Parallel(which) if is_in_waves => return parallel::waves(here, which, args.json),
        Target::Loop(which) if args.json => return parallel::waves(here, which, true),
        _ => {}
    }
    let tasks = super::find(here, &args.target.which)?.state.task_graph;
    in_format(args.format, &tasks, here.now, NO_TASKS)
}

/// Prints the graph in one of the forms.
pub(crate) fn in_format(
    format: Format,
    tasks: &[Task],
    now: Timestamp,
    none: &str,
) -> Result<Exit> {
    match format {
        Format::Text => draw(tasks, &draw::text(tasks, now), none),
        // Tools that read these languages accept an empty graph.
        Format::Dot => print(&draw::dot(tasks, now)),
        Format::Mermaid => print(&draw::mermaid(tasks, now)),
        Format::Waves => draw(tasks, &draw::in_waves(tasks, now), none),
    }
}

fn draw(tasks: &[Task], drawn: &str, none: &str) -> Result<Exit> {
    match tasks.is_empty() {
        true => print(none),
        false => print(drawn),
    }
}

fn print(text: &str) -> Result<Exit> {
    screen::print(&visible_lines(text))
}

const NO_TASKS: &str = "there are no tasks; `ralph task add NAME` adds one";

fn one(here: &Here, which: &LoopArgs, id: &str) -> Result<Exit> {
    let tasks = super::find(here, which)?.state.task_graph;
    let graph = Graph::new(&tasks, here.now);
    let missing = || TaskError::NoSuchTask { id: visible(id) }.to_string();
    let task = graph.get(id).with_context(missing)?;
    screen::print(&described(&graph, task))
}

fn described(graph: &Graph, task: &Task) -> String {
    let until = task.lease_expires_at.map(|end| end.to_string()).unwrap_or_default();
    let attempts = if task.attempts == 0 { String::new() } else { task.attempts.to_string() };
    let mut text = format!("{}  {}", visible(&task.id), visible(&task.name));
    for (label, value) in [
        ("stands", graph.readiness(task).word()),
        ("after", &task.deps.join(", ")),
        ("done when", &task.completion_condition),
        ("files", &task.files.join(", ")),
        ("owner", task.owner.as_deref().unwrap_or_default()),
        ("until", &until),
        ("attempts", &attempts),
        ("result", task.result.as_deref().unwrap_or_default()),
    ] {
        if !value.is_empty() {
            text.push_str(&format!("\n  {label:<11}{}", visible(value)));
        }
    }
    text
}

fn ready(here: &Here, which: &LoopArgs) -> Result<Exit> {
    let tasks = super::find(here, which)?.state.task_graph;
    let ready = graph::ready(&tasks, here.now);
    if ready.is_empty() {
        bail!(TaskError::NothingReady(graph::summary(&tasks, here.now)).to_string());
    }
    let rows: Vec<String> = ready
        .iter()
        .map(|task| format!("{}  {}", visible(&task.id), visible(&task.name)))
        .collect();
    screen::print(&rows.join("\n"))
}
