//! The output of a sync: the difference, as rows or as JSON.

use super::{Sync, SyncResult};
use crate::command::screen::{self, visible};
use anyhow::Result;
use ralph_core::state::{Task, TaskStatus};
use ralph_core::tasks::graph::{GraphDiff, Stays};
use serde_json::{Value, json};
use std::collections::HashMap;

/// Rows of one kind; a planner that wrote a thousand tasks knows them.
const MOST: usize = 50;

pub(super) fn print(done: &SyncResult, args: &Sync) -> Result<()> {
    match args.json {
        true => screen::print_json(&document(done, args.dry_run)),
        false => screen::print(&text(done, args.dry_run)),
    }
}

pub(super) fn text(done: &SyncResult, dry_run: bool) -> String {
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
    let (done, others): (Vec<_>, Vec<_>) =
        diff.stays.iter().partition(|(_, why)| *why == Stays::Done);
    some(&mut rows, &others, |(id, why)| {
        format!("= {}  {} (stays: {})", visible(id), name(id), visible(&why.to_string()))
    });
    match done.len() {
        0 => {}
        1 => rows.push("= 1 task that is done stays".to_owned()),
        count => rows.push(format!("= {count} tasks that are done stay")),
    }
    some(&mut rows, &diff.said_done, |id| {
        let id = visible(id);
        format!("{id} is not done by its line; `ralph task done {id} --note '…'` says so")
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
        diff.stays.iter().map(|(id, why)| json!({ "id": id, "why": why.to_string() })).collect();
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
