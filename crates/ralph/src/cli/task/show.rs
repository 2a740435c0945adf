//! Shows tasks: as a list, as Markdown or JSON, or one with all that is known of it.

use super::super::exit::{Exit, refused};
use super::super::here::Here;
use super::super::screen::{self, visible, visible_lines};
use super::super::which::{self, Wanted, Which};
use anyhow::Result;
use ralph_core::graph::render::{self, Show};
use ralph_core::graph::{self, Graph, Refused, draw};
use ralph_core::state::Task;

/// What a person may say about the list.
#[derive(Debug, clap::Args)]
pub(crate) struct List {
    /// Also those that are done
    #[arg(long)]
    all: bool,
    /// As a Markdown list
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    which: Which,
}

/// Which task.
#[derive(Debug, clap::Args)]
pub(crate) struct One {
    /// The task's id
    id: String,
    #[command(flatten)]
    which: Which,
}

/// Which loop.
#[derive(Debug, clap::Args)]
pub(crate) struct Ready {
    #[command(flatten)]
    which: Which,
}

/// Which loop.
#[derive(Debug, clap::Args)]
pub(crate) struct Waves {
    #[command(flatten)]
    which: Which,
}

/// How to draw.
#[derive(Debug, clap::Args)]
pub(crate) struct Drawing {
    /// As text, for Graphviz, or for Mermaid
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORMAT")]
    format: Format,
    #[command(flatten)]
    which: Which,
}

/// The languages that a graph is drawn in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Text,
    Dot,
    Mermaid,
}

pub(super) fn list(here: &Here, args: &List) -> Result<Exit> {
    if args.all && args.markdown {
        return whole(here, &args.which);
    }
    let tasks = super::find(here, &args.which)?.state.task_graph;
    let show = if args.all { Show::All } else { Show::Open };
    if args.json {
        screen::print_json(&render::json(&tasks, show, here.now))?;
        return Ok(Exit::Done);
    }
    let text = match args.markdown {
        true => render::markdown(&tasks, show, here.now),
        false => render::text(&tasks, show, here.now),
    };
    match tasks.is_empty() {
        true => print(NO_TASKS),
        false => print(&text),
    }
}

/// The whole graph as a planner reads it, before the first round, too: where nothing is planned
/// nothing is printed, not a line feed.
fn whole(here: &Here, which: &Which) -> Result<Exit> {
    let found = which::if_any(here, which, Wanted::LiveOrPlanned)?;
    let tasks = found.map(|found| found.state.task_graph).unwrap_or_default();
    if !tasks.is_empty() {
        screen::print(&visible_lines(&render::markdown(&tasks, Show::All, here.now)))?;
    }
    Ok(Exit::Done)
}

pub(super) fn waves(here: &Here, args: &Waves) -> Result<Exit> {
    let tasks = super::find(here, &args.which)?.state.task_graph;
    draw(&tasks, &draw::in_waves(&tasks, here.now))
}

pub(super) fn drawing(here: &Here, args: &Drawing) -> Result<Exit> {
    let tasks = super::find(here, &args.which)?.state.task_graph;
    match args.format {
        Format::Text => draw(&tasks, &draw::text(&tasks, here.now)),
        // What reads these languages reads an empty graph, too.
        Format::Dot => print(&draw::dot(&tasks, here.now)),
        Format::Mermaid => print(&draw::mermaid(&tasks, here.now)),
    }
}

fn draw(tasks: &[Task], drawn: &str) -> Result<Exit> {
    match tasks.is_empty() {
        true => print(NO_TASKS),
        false => print(drawn),
    }
}

fn print(text: &str) -> Result<Exit> {
    screen::print(&visible_lines(text))?;
    Ok(Exit::Done)
}

const NO_TASKS: &str = "there are no tasks; `ralph task add NAME` adds one";

pub(super) fn one(here: &Here, args: &One) -> Result<Exit> {
    let tasks = super::find(here, &args.which)?.state.task_graph;
    let graph = Graph::new(&tasks, here.now);
    let missing = || refused(Exit::No, Refused::NoSuchTask { id: visible(&args.id) }.to_string());
    let task = graph.get(&args.id).ok_or_else(missing)?;
    let until = task.lease_expires_at.map(|end| end.to_string()).unwrap_or_default();
    let attempts = if task.attempts == 0 { String::new() } else { task.attempts.to_string() };
    let mut text = format!("{}  {}", visible(&task.id), visible(&task.name));
    for (label, value) in [
        ("stands", graph.standing(task).word()),
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
    screen::print(&text)?;
    Ok(Exit::Done)
}

pub(super) fn ready(here: &Here, args: &Ready) -> Result<Exit> {
    let tasks = super::find(here, &args.which)?.state.task_graph;
    let rows: Vec<String> = graph::ready(&tasks, here.now)
        .iter()
        .map(|task| format!("{}  {}", visible(&task.id), visible(&task.name)))
        .collect();
    if rows.is_empty() {
        let summary = graph::summary(&tasks, here.now);
        return Err(refused(Exit::No, Refused::NothingReady(summary).to_string()));
    }
    screen::print(&rows.join("\n"))?;
    Ok(Exit::Done)
}
