//! Changes to the tasks; each is applied whole, or refused with what to do instead.

use crate::cli::next::MarkArgs;
use crate::command::complete;
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, usage};
use crate::command::number;
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
pub(crate) struct Claim {
    /// Id of the task [default: the next ready task]
    #[arg(add = ArgValueCandidates::new(complete::tasks))]
    pub(super) id: Option<String>,
    #[command(flatten)]
    pub(super) holder: Holder,
    #[command(flatten)]
    pub(super) which: LoopArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct TaskArgs {
    /// Id of the task
    #[arg(add = ArgValueCandidates::new(complete::tasks))]
    pub(super) id: String,
    #[command(flatten)]
    pub(super) which: LoopArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Renew {
    #[command(flatten)]
    pub(super) holder: Holder,
    #[command(flatten)]
    pub(super) task: TaskArgs,
}

#[derive(Debug, clap::Args)]
pub(super) struct Holder {
    /// Owner of the claim [default: the session, or the user at the terminal]
    #[arg(long, value_name = "NAME")]
    pub(super) owner: Option<String>,
    /// Minutes until the claim expires [default: never]
    #[arg(long, value_name = "MINUTES", value_parser = number::count, allow_hyphen_values = true)]
    pub(super) lease: Option<u32>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct DoneArgs {
    /// What was done, and what proves it
    #[arg(long = "note", alias = "result", value_name = "TEXT")]
    pub(super) result: Option<String>,
    /// Only if this owner still holds the task
    #[arg(long, value_name = "NAME")]
    pub(super) owner: Option<String>,
    #[command(flatten)]
    pub(super) task: TaskArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ReasonArgs {
    /// Why the task failed, or what it waits for
    #[arg(long = "note", alias = "reason", value_name = "TEXT")]
    pub(super) reason: String,
    /// Only if this owner still holds the task
    #[arg(long, value_name = "NAME")]
    pub(super) owner: Option<String>,
    #[command(flatten)]
    pub(super) task: TaskArgs,
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

impl Holder {
    fn name(&self, here: &Here) -> String {
        worker(here, self.owner.as_deref())
    }

    fn length(&self) -> Option<SignedDuration> {
        self.lease.map(|minutes| SignedDuration::from_mins(i64::from(minutes)))
    }
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

pub(super) fn claim(here: &Here, args: &Claim) -> Result<Exit> {
    let owner = args.holder.name(here);
    let lease = Lease { owner: &owner, length: args.holder.length() };
    let which = args.id.as_deref().map_or(graph::ClaimTarget::Next, graph::ClaimTarget::Id);
    let claim = super::update(here, &args.which, "claim", |state| {
        graph::claim(&mut state.task_graph, which, lease, here.now)
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

pub(super) fn renew(here: &Here, args: &Renew) -> Result<Exit> {
    let (owner, id) = (args.holder.name(here), &args.task.id);
    let lease = Lease { owner: &owner, length: args.holder.length() };
    super::update(here, &args.task.which, "renew", |state| {
        graph::renew(&mut state.task_graph, id, lease, here.now)
    })?;
    say(&format!("{id} renewed"))
}

pub(super) fn done(here: &Here, args: DoneArgs) -> Result<Exit> {
    let (id, by) = (args.task.id.as_str(), args.owner.as_deref());
    let state = super::update(here, &args.task.which, "done", |state| {
        graph::done(&mut state.task_graph, id, by, args.result).map(|_| state.clone())
    })?;
    // A round's task is done once Ralph has checked the round, and a worker's once it is merged.
    if state.round.is_none() && state.workers.is_empty() {
        plan_import::tick(&state, &[id.to_owned()]);
    }
    say(&format!("{id} done"))
}

/// `ralph task fail` and `ralph task block`.
pub(super) fn stop_work(
    here: &Here,
    args: &ReasonArgs,
    command: &'static str,
    status: TaskStatus,
) -> Result<Exit> {
    let (id, by) = (args.task.id.as_str(), args.owner.as_deref());
    let told = format!("{id} {status}");
    super::update(here, &args.task.which, command, |state| {
        graph::stop_work(&mut state.task_graph, id, by, &args.reason, status)
    })?;
    say(&told)
}

pub(super) fn release(here: &Here, args: &TaskArgs) -> Result<Exit> {
    super::update(here, &args.which, "release", |state| {
        graph::release(&mut state.task_graph, &args.id)
    })?;
    say(&format!("{} released", args.id))
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

/// `ralph mark`: the same as the command for the status.
pub(in crate::cli) fn mark(here: &Here, which: &LoopArgs, args: &MarkArgs) -> Result<Exit> {
    let task = TaskArgs { id: args.task.clone(), which: which.clone() };
    let (result, owner) = (args.note.clone(), None);
    match args.status {
        TaskMark::Open => release(here, &task),
        TaskMark::InProgress => {
            let holder = Holder { owner, lease: None };
            claim(here, &Claim { id: Some(task.id), holder, which: task.which })
        }
        TaskMark::Done => done(here, DoneArgs { result, owner, task }),
        TaskMark::Failed => {
            let reason = result.ok_or_else(|| usage("say why it failed: --note TEXT"))?;
            stop_work(here, &ReasonArgs { reason, owner, task }, "fail", TaskStatus::Failed)
        }
        other => Err(usage(format!("a task of a loop cannot be marked `{other}`"))),
    }
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
