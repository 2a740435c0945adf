//! `ralph task sync`, also called `ralph plan-sync`: updates the tasks from a planner's list.
//!
//! The lines are read before the lock is taken and compared under it, since a worker may claim a
//! task while its planner writes. A planner's first round starts from nothing, so if the project
//! has no planned loop one is made.

use crate::command::context_dir::{Here, note};
use crate::command::exit::{Exit, bad_state};
use crate::command::plan_import;
use crate::command::screen::{self, visible};
use crate::command::select_loop::{self, FoundLoop, LoopArgs};
use anyhow::{Context, Result, anyhow, bail};
use ralph_core::state::{LoopState, Phase, Task, TaskStatus};
use ralph_core::tasks::graph::{DONE, GraphDiff, TaskLine};
use ralph_core::tasks::plan::{Plan, Problem, lines};
use ralph_core::text::plural::counted;
use ralph_io::client::given;
use ralph_io::store::lifecycle;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::IsTerminal;

/// The lines, one task on each: {"id":"T-1","name":"…","deps":[],"completion_condition":"…",
/// "files":[]}; on standard input.
#[derive(Debug, clap::Args)]
pub(crate) struct Sync {
    /// Print what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    which: LoopArgs,
}

/// The tasks of a loop after the update.
struct SyncResult {
    state: LoopState,
    diff: GraphDiff,
    /// True if the loop was made for these tasks.
    is_new: bool,
}

/// `ralph task sync`.
pub(super) fn sync(here: &Here, args: &Sync) -> Result<Exit> {
    let lines = &read()?;
    let found = select_loop::to_plan(here, &args.which)?;
    nobody_elses(here, found.as_ref(), &args.which)?;
    let done = match (args.dry_run, found) {
        (true, found) => compare(here, found.map(|found| found.state), lines)?,
        (false, Some(found)) => update(here, found, lines)?,
        (false, None) => begin(here, &args.which, lines)?,
    };
    let done = done.map_err(unsound)?;
    super::tell_lint(&super::lint_of(&done.state, &here.root));
    print_result(&done, args)
}

/// Updates the tasks of the project's planned loop from the lines of a planner's message, for a run
/// that passes problems on to the planner. Returns the rows for the user.
///
/// # Errors
/// When the loop cannot be read or written. Faulty lines are the inner error.
pub(crate) fn store(here: &Here, lines: &str) -> Result<Result<String, Vec<Problem>>> {
    let lines = match lines::read(lines) {
        Err(problems) => return Ok(Err(problems)),
        Ok(lines) if lines.is_empty() => {
            let what = "the block of tasks is empty".to_owned();
            return Ok(Err(vec![Problem { place: String::new(), what }]));
        }
        Ok(lines) => lines,
    };
    let which = LoopArgs::default();
    let done = match select_loop::to_plan(here, &which)? {
        Some(found) => update(here, found, &lines)?,
        None => begin(here, &which, &lines)?,
    };
    Ok(done.map(|done| {
        super::tell_lint(&super::lint_of(&done.state, &here.root));
        rows(&done, false)
    }))
}

/// The tasks after an update, or the problems of the lines, which then change nothing.
type Updated = Result<Result<SyncResult, Vec<Problem>>>;

fn read() -> Result<Vec<TaskLine>> {
    let how = "write one task on each line, those that are to stay included: `ralph plan-sync < \
               tasks.jsonl`";
    if std::io::stdin().is_terminal() {
        bail!("there is nothing on standard input; {how}");
    }
    let lines = lines::read(&given::stdin()?).map_err(unsound)?;
    match lines.is_empty() {
        // An empty list usually comes from a planner that failed, not from one that
        // wants all tasks gone.
        true => {
            bail!("there is no task in it; nothing was changed: {how}")
        }
        false => Ok(lines),
    }
}

/// In a terminal, a user who syncs while a loop runs may or may not mean the running loop's tasks.
fn nobody_elses(here: &Here, found: Option<&FoundLoop>, which: &LoopArgs) -> Result<()> {
    if here.session.is_some() || which.is_named() || found.is_some_and(|it| it.state.is_live()) {
        return Ok(());
    }
    let live = select_loop::of_project(here, select_loop::has_tasks);
    live.first().map_or(Ok(()), |live| {
        let (id, position) = (visible(&live.state.loop_id), live.state.position());
        bail!(
            "loop {id} is live here at {position}; nothing was changed: `--loop {id}` means its \
             tasks, and `ralph cancel` ends it"
        );
    })
}

/// What the sync would change.
fn compare(here: &Here, state: Option<LoopState>, lines: &[TaskLine]) -> Updated {
    let is_new = state.is_none();
    let mut state = match state {
        Some(state) => state,
        None => plan_import::planned(here, Plan::default())?,
    };
    Ok(lines::sync(&state.task_graph, lines, here.now).map(|synced| {
        state.task_graph = synced.tasks.into();
        SyncResult { state, diff: synced.diff, is_new }
    }))
}

fn update(here: &Here, found: FoundLoop, lines: &[TaskLine]) -> Updated {
    let file = found.file.clone();
    let changed = found.update(|state| {
        // The loop may have ended since it was found.
        if !state.is_live() && state.phase != Phase::Planned {
            return Ok(None);
        }
        let synced = lines::sync(&state.task_graph, lines, here.now)?;
        state.task_graph = synced.tasks.into();
        Ok(Some((state.clone(), synced.diff)))
    });
    let changed = match changed.map_err(bad_state)?.context("the loop is gone")? {
        Ok(changed) => changed,
        Err(problems) => return Ok(Err(problems)),
    };
    let (state, diff) = changed.context("the loop has just ended; nothing was changed")?;
    if !diff.is_empty() {
        note(here, &file, &state, "task sync", "changed", &diff.describe());
    }
    Ok(Ok(SyncResult { state, diff, is_new: false }))
}

/// Makes the planned loop, unless another process has made it since.
fn begin(here: &Here, which: &LoopArgs, lines: &[TaskLine]) -> Updated {
    let _held = lifecycle::lock_starts(&here.home)?;
    if let Some(found) = select_loop::to_plan(here, which)? {
        return update(here, found, lines);
    }
    let mut done = match compare(here, None, lines)? {
        Ok(done) => done,
        Err(problems) => return Ok(Err(problems)),
    };
    let file = lifecycle::create(&here.home, &mut done.state)?;
    note(here, &file, &done.state, "task sync", "planned", &done.diff.describe());
    Ok(Ok(done))
}

fn unsound(problems: Vec<Problem>) -> anyhow::Error {
    problems.iter().for_each(|problem| screen::tell(&visible(&problem.to_string())));
    let verb = if problems.len() == 1 { "is" } else { "are" };
    let count = counted(problems.len(), "problem", "problems");
    anyhow!("there {verb} {count} in the lines; nothing was changed")
}

// The output of a sync: the difference, as rows or as JSON.

/// Rows of one kind; a planner that wrote a thousand tasks knows them.
const MOST: usize = 50;

fn print_result(done: &SyncResult, args: &Sync) -> Result<Exit> {
    match args.json {
        true => screen::print_json(&document(done, args.dry_run)),
        false => screen::print(&rows(done, args.dry_run)),
    }
}

fn rows(done: &SyncResult, dry_run: bool) -> String {
    let (diff, state) = (&done.diff, &done.state);
    let mut rows = Vec::new();
    if done.is_new && !dry_run {
        rows.push(format!("Ralph loop {} planned", visible(&state.loop_id)));
        rows.extend(state.acceptance_criteria.iter().map(|criterion| {
            let decided_by = criterion.decided_by();
            let words = [criterion.id.as_str(), &criterion.description, &decided_by];
            let [id, description, command] = words.map(visible);
            format!("{id}  {description}: {command}")
        }));
    }
    rows.extend(difference(diff, &state.task_graph));
    rows.push(diff.describe());
    if dry_run {
        rows.push("nothing was changed: --dry-run".to_owned());
    } else if done.is_new {
        rows.push("Type /ralph in Claude Code, in this project, to start it.".to_owned());
    }
    rows.join("\n")
}

fn difference(diff: &GraphDiff, tasks: &[Task]) -> Vec<String> {
    let by_id: HashMap<&str, &Task> = tasks.iter().map(|task| (task.id.as_str(), task)).collect();
    let name = |id: &str| by_id.get(id).map(|task| visible(&task.name)).unwrap_or_default();
    let mut rows = Vec::new();
    some(&mut rows, &diff.added, |id| format!("+ {}  {}", visible(id), name(id)));
    some(&mut rows, &diff.changed, |changed| {
        let id = visible(&changed.id);
        let remark = match &changed.status {
            TaskStatus::Pending => String::new(),
            status @ (TaskStatus::Failed | TaskStatus::Blocked) => {
                format!("; stays {status} until `ralph task release {id}`")
            }
            status => format!("; stays {}", visible(status.as_str())),
        };
        format!("~ {id}  {} ({}{remark})", name(&changed.id), changed.members.join(", "))
    });
    some(&mut rows, &diff.removed, |task| {
        format!("- {}  {}", visible(&task.id), visible(&task.name))
    });
    let (done, others): (Vec<_>, Vec<_>) = diff.stays.iter().partition(|(_, why)| why == DONE);
    some(&mut rows, &others, |(id, why)| {
        format!("= {}  {} (stays: {})", visible(id), name(id), visible(why))
    });
    match done.len() {
        0 => {}
        1 => rows.push("= 1 task that is done stays".to_owned()),
        count => rows.push(format!("= {count} tasks that are done stay")),
    }
    some(&mut rows, &diff.said_done, |id| {
        let id = visible(id);
        format!(
            "{id} is still open: ticking its line does not complete it. Run `ralph mark {id} done --note '…'`."
        )
    });
    rows
}

fn some<T>(rows: &mut Vec<String>, all: &[T], row: impl Fn(&T) -> String) {
    rows.extend(all.iter().take(MOST).map(row));
    if all.len() > MOST {
        rows.push(format!("… and {} more", all.len() - MOST));
    }
}

fn document(done: &SyncResult, dry_run: bool) -> Value {
    let diff = &done.diff;
    let changed: Vec<Value> = diff
        .changed
        .iter()
        .map(|one| json!({ "id": one.id, "members": one.members, "status": one.status }))
        .collect();
    let removed: Vec<&str> = diff.removed.iter().map(|task| task.id.as_str()).collect();
    let stays: Vec<Value> =
        diff.stays.iter().map(|(id, why)| json!({ "id": id, "why": why })).collect();
    json!({
        "schema_version": 1,
        "loop_id": done.state.loop_id,
        "is_new": done.is_new,
        "dry_run": dry_run,
        "added": diff.added,
        "changed": changed,
        "removed": removed,
        "stays": stays,
        "unchanged": diff.unchanged,
        "reordered": diff.reordered,
        "said_done": diff.said_done,
    })
}
