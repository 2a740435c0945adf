//! Brings a graph to what a planner wants it to be, as a difference: what is added, what is
//! changed, what is removed.
//!
//! The lines say what there is to do; what has become of it they do not say. So a task keeps its
//! status, its owner and its result whatever its line holds, and what is done or being worked on
//! stays though no line names it.

mod flaws;
mod stay;

pub use flaws::LineFlaw;
pub use stay::Stays;

use super::Graph;
use crate::state::{Task, TaskStatus};
use jiff::Timestamp;
use std::collections::HashSet;

/// A task as it is wanted, and the number of its line as an editor counts.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskLine {
    /// The line's number.
    pub number: usize,
    /// The task on it.
    pub task: Task,
}

/// The graph as it is to be, and how it differs from the one before.
#[derive(Debug, Clone, PartialEq)]
pub struct Synced {
    /// All tasks: first those that stay though no line names them, then those of the lines in their
    /// order. With no difference, the tasks exactly as they were.
    pub tasks: Vec<Task>,
    /// The difference.
    pub diff: GraphDiff,
}

/// How a graph differs from the one before.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GraphDiff {
    /// Ids of the tasks that are new, in the order of the lines.
    pub added: Vec<String>,
    /// The tasks that are to be done otherwise, in the order of the lines.
    pub changed: Vec<ChangedTask>,
    /// The tasks that are gone.
    pub removed: Vec<Task>,
    /// How many tasks of the lines are as they were.
    pub unchanged: usize,
    /// The tasks that no line names and that are there all the same, with the reason.
    pub stays: Vec<(String, Stays)>,
    /// True if tasks that were there before come in another order now.
    pub reordered: bool,
    /// The tasks that are not done though their lines say so: what was done and what showed it is
    /// for whoever did it to say.
    pub said_done: Vec<String>,
}

/// A task that is to be done otherwise.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangedTask {
    /// Its id.
    pub id: String,
    /// The members that differ.
    pub members: Vec<&'static str>,
    /// Its status, which stays.
    pub status: TaskStatus,
}

impl GraphDiff {
    /// True if the graph is as it was before.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty()
            && self.changed.is_empty()
            && self.removed.is_empty()
            && !self.reordered
    }

    /// How many tasks are as they were.
    pub fn kept(&self) -> usize {
        self.unchanged + self.stays.len()
    }

    /// `2 added, 1 changed, 0 removed, 7 kept`.
    pub fn describe(&self) -> String {
        let [added, changed, removed] = [self.added.len(), self.changed.len(), self.removed.len()];
        let order = if self.reordered { ", in another order" } else { "" };
        format!("{added} added, {changed} changed, {removed} removed, {} kept{order}", self.kept())
    }
}

/// The graph that the lines ask for.
///
/// # Errors
/// Everything that is wrong with the lines, each with its line's number, in their order. What was
/// wrong with the graph before is not theirs.
pub fn sync(
    tasks: &[Task],
    lines: &[TaskLine],
    now: Timestamp,
) -> Result<Synced, Vec<(usize, LineFlaw)>> {
    let before = Graph::new(tasks, now);
    let mut found: Vec<(usize, LineFlaw)> = flaws::own(&before, lines);
    let synced = merge(&before, lines);
    found.extend(flaws::of_deps(&before, lines, &synced.tasks));
    found.extend(flaws::circles(lines, &synced.tasks));
    if found.is_empty() {
        return Ok(match synced.diff.is_empty() {
            // Those that stay would come first otherwise, which nobody has asked for.
            true => Synced { tasks: tasks.to_vec(), ..synced },
            false => synced,
        });
    }
    found.sort_by_key(|(number, _)| *number);
    Err(found)
}

fn merge(before: &Graph, lines: &[TaskLine]) -> Synced {
    let mut diff = GraphDiff::default();
    let stays = stay::without_line(before, lines);
    let mut tasks: Vec<Task> = Vec::with_capacity(stays.len() + lines.len());
    let named: HashSet<&str> = lines.iter().map(|line| line.task.id.as_str()).collect();
    for (place, task) in before.tasks.iter().enumerate() {
        let is_first = before.place(&task.id) == Some(place);
        if is_first && named.contains(task.id.as_str()) {
            continue;
        }
        match stays.get(&place) {
            Some(why) => {
                tasks.push(task.clone());
                diff.stays.push((task.id.clone(), why.clone()));
            }
            None => diff.removed.push(task.clone()),
        }
    }
    let mut last_place = 0;
    for TaskLine { task: wanted, .. } in lines {
        let Some(place) = before.place(&wanted.id) else {
            diff.added.push(wanted.id.clone());
            tasks.push(unclaimed(wanted));
            continue;
        };
        diff.reordered |= place < last_place;
        last_place = last_place.max(place);
        let (task, members) = redefined(&before.tasks[place], wanted);
        if wanted.status == TaskStatus::Done && task.status != TaskStatus::Done {
            diff.said_done.push(task.id.clone());
        }
        match members.is_empty() {
            true => diff.unchanged += 1,
            false => diff.changed.push(ChangedTask {
                id: task.id.clone(),
                members,
                status: task.status.clone(),
            }),
        }
        tasks.push(task);
    }
    Synced { tasks, diff }
}

/// Who works on a task is not for a line to say.
fn unclaimed(task: &Task) -> Task {
    let status = match &task.status {
        TaskStatus::InProgress => TaskStatus::Pending,
        status => status.clone(),
    };
    Task { status, owner: None, lease_expires_at: None, ..task.clone() }
}

/// The task with what is to be done from its line and what has become of it as it was, and the
/// members that differ. What nobody knows stays unless the line holds it, too.
fn redefined(task: &Task, wanted: &Task) -> (Task, Vec<&'static str>) {
    let mut extra = task.extra.clone();
    extra.extend(wanted.extra.clone());
    let differ = [
        ("name", task.name.trim() != wanted.name),
        ("deps", task.deps != wanted.deps),
        ("completion_condition", task.completion_condition != wanted.completion_condition),
        ("files", task.files != wanted.files),
        ("other members", task.extra != extra),
    ];
    let members = differ.iter().filter(|(_, differs)| *differs).map(|(name, _)| *name).collect();
    let redefined = Task {
        name: wanted.name.clone(),
        deps: wanted.deps.clone(),
        completion_condition: wanted.completion_condition.clone(),
        files: wanted.files.clone(),
        extra,
        ..task.clone()
    };
    (redefined, members)
}

#[cfg(test)]
mod tests;
