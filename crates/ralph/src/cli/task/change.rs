//! Changes to the tasks; each is applied whole, or refused with what to do instead.

use crate::cli::next::{MarkArgs, NewStatus};
use crate::command::complete;
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, usage};
use crate::command::plan_import;
use crate::command::screen::{self, visible};
use crate::command::select_loop::LoopArgs;
use anyhow::{Context, Result};
use clap::ValueHint;
use clap_complete::engine::ArgValueCandidates;
use jiff::SignedDuration;
use ralph_core::modes::orchestration::progress::TaskMark;
use ralph_core::state::TaskStatus;
use ralph_core::tasks::graph::{self, Lease, NewTask};

#[derive(Debug, clap::Args)]
pub(crate) struct Add {
    /// What to do
    name: String,
    /// Id of a task that must be done first; can be repeated
    #[arg(long = "dep", value_name = "ID", add = ArgValueCandidates::new(complete::tasks))]
    deps: Vec<String>,
    /// How to tell that the task is done
    #[arg(long, value_name = "TEXT")]
    condition: Option<String>,
    /// A file that the task will change; can be repeated
    #[arg(long = "file", value_name = "FILE", value_hint = ValueHint::FilePath)]
    files: Vec<String>,
    /// Id of the task [default: the next free T-N]
    #[arg(long)]
    id: Option<String>,
    #[command(flatten)]
    which: LoopArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Deps {
    /// Id of the task
    #[arg(add = ArgValueCandidates::new(complete::tasks))]
    pub(super) id: String,
    /// Tasks that must be done first; `-` for no task [default: print the present ones]
    #[arg(value_name = "DEP", add = ArgValueCandidates::new(complete::tasks))]
    pub(super) deps: Vec<String>,
    #[arg(long, hide = true, conflicts_with = "deps")]
    pub(super) none: bool,
    #[command(flatten)]
    pub(super) which: LoopArgs,
}

/// The named owner, else the session, else the user at the terminal.
fn worker(here: &Here, named: Option<&str>) -> String {
    let person = || std::env::var("USER").ok().filter(|name| !name.is_empty());
    let given = named.map(str::to_owned).or_else(|| here.session.clone()).or_else(person);
    given.unwrap_or_else(|| "person".to_owned())
}

pub(super) fn add(here: &Here, args: Add) -> Result<Exit> {
    let new = NewTask {
        id: args.id,
        name: args.name,
        deps: args.deps,
        completion_condition: args.condition.unwrap_or_default(),
        files: args.files,
    };
    let id =
        super::update(here, &args.which, "add", |state| graph::add(&mut state.task_graph, new))?;
    say(&format!("{id} added"))
}

/// `ralph mark`: a task's new status. Each is one change, which the task's present status may refuse.
pub(in crate::cli) fn mark(here: &Here, which: &LoopArgs, args: &MarkArgs) -> Result<Exit> {
    let owner = worker(here, args.owner.as_deref());
    let length = args.lease.map(|minutes| SignedDuration::from_mins(i64::from(minutes)));
    let lease = Lease { owner: &owner, length };
    let status = args.status()?;
    if status == NewStatus::Mark(TaskMark::InProgress) {
        return claim(here, which, args.task.as_deref(), lease);
    }
    let id = args.task()?;
    match status {
        NewStatus::Renewed => {
            super::update(here, which, "renew", |state| {
                graph::renew(&mut state.task_graph, id, lease, here.now)
            })?;
            say(&format!("{id} renewed"))
        }
        NewStatus::Mark(TaskMark::Open) => {
            super::update(here, which, "release", |state| {
                graph::release(&mut state.task_graph, id)
            })?;
            say(&format!("{id} released"))
        }
        NewStatus::Mark(TaskMark::Done) => done(here, which, args, id),
        NewStatus::Mark(TaskMark::Failed) => stop_work(here, which, args, TaskStatus::Failed),
        NewStatus::Blocked => stop_work(here, which, args, TaskStatus::Blocked),
        NewStatus::Mark(other) => {
            Err(usage(format!("only a task of an orchestration can be marked `{other}`")))
        }
    }
}

fn claim(here: &Here, which: &LoopArgs, id: Option<&str>, lease: Lease<'_>) -> Result<Exit> {
    let task = id.map_or(graph::ClaimTarget::Next, graph::ClaimTarget::Id);
    let claim = super::update(here, which, "claim", |state| {
        graph::claim(&mut state.task_graph, task, lease, here.now)
    })?;
    screen::say(&claimed(&claim))
}

/// What the owner of a claimed task should know.
fn claimed(claim: &graph::Claim) -> String {
    let task = &claim.task;
    let mut text = format!("{} claimed: {}", visible(&task.id), visible(&task.name));
    let files = task.files.join(", ");
    for (label, value) in [("done when", &task.completion_condition), ("files", &files)] {
        if !value.is_empty() {
            text.push_str(&format!("\n  {label}: {}", visible(value)));
        }
    }
    for finding in &claim.findings {
        let result = finding.result.as_deref().unwrap_or("done");
        let (id, name) = (visible(&finding.id), visible(&finding.name));
        text.push_str(&format!("\n  after {id} ({name}): {}", visible(result)));
    }
    text
}

fn done(here: &Here, which: &LoopArgs, args: &MarkArgs, id: &str) -> Result<Exit> {
    let (by, result) = (args.owner.as_deref(), args.note.clone());
    let state = super::update(here, which, "done", |state| {
        graph::done(&mut state.task_graph, id, by, result).map(|_| state.clone())
    })?;
    // A round's task is done once Ralph has checked the round, and a worker's once it is merged.
    if state.round.is_none() && state.workers.is_empty() {
        plan_import::tick(&state, &[id.to_owned()]);
    }
    say(&format!("{id} done"))
}

fn stop_work(here: &Here, which: &LoopArgs, args: &MarkArgs, status: TaskStatus) -> Result<Exit> {
    let (id, by) = (args.task()?, args.owner.as_deref());
    let reason = args.note.as_deref().ok_or_else(|| usage("give the reason: `--note TEXT`"))?;
    let told = format!("{id} {status}");
    let command = if status == TaskStatus::Failed { "fail" } else { "block" };
    super::update(here, which, command, |state| {
        graph::stop_work(&mut state.task_graph, id, by, reason, status)
    })?;
    say(&told)
}

pub(super) fn deps(here: &Here, args: Deps) -> Result<Exit> {
    let id = args.id.as_str();
    let is_none = args.none || args.deps == ["-"];
    if !args.deps.is_empty() || is_none {
        let deps = if is_none { Vec::new() } else { args.deps };
        super::update(here, &args.which, "deps", |state| {
            graph::depend(&mut state.task_graph, id, deps)
        })?;
    }
    let tasks = super::find(here, &args.which)?.state.task_graph;
    let task = tasks.into_iter().find(|task| task.id == id);
    let missing = || graph::TaskError::NoSuchTask { id: visible(id) }.to_string();
    let task = task.with_context(missing)?;
    depends(id, &task.deps)
}

fn depends(id: &str, deps: &[String]) -> Result<Exit> {
    match deps {
        [] => say(&format!("{id} depends on nothing")),
        deps => say(&format!("{id} depends on {}", deps.join(", "))),
    }
}

fn say(text: &str) -> Result<Exit> {
    screen::say(&visible(text))
}
