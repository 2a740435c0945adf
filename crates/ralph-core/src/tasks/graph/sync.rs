//! Updates a graph from a planner's lines, as a difference: added, changed and removed tasks.
//!
//! The lines define the work, not its progress. So a task keeps its status, its owner and its
//! result whatever its line contains, and a task that is done or claimed stays even if no line
//! names it.

use super::{Graph, TaskReadiness, lint};
use crate::state::{Task, TaskStatus};
use jiff::Timestamp;
use std::collections::{HashMap, HashSet};

/// A task as the planner wants it, with its line number.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskLine {
    /// From 1, as an editor counts.
    pub number: usize,
    pub task: Task,
}

/// The new graph, and how it differs from the previous one.
#[derive(Debug, Clone, PartialEq)]
pub struct Synced {
    /// All tasks: first those that stay although no line names them, then those of the lines in
    /// their order. If nothing differs, the tasks are exactly as before.
    pub tasks: Vec<Task>,
    pub diff: GraphDiff,
}

/// How a graph differs from the previous one.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GraphDiff {
    /// Ids of the new tasks, in the order of the lines.
    pub added: Vec<String>,
    /// The tasks with a new definition, in the order of the lines.
    pub changed: Vec<ChangedTask>,
    pub removed: Vec<Task>,
    /// How many tasks of the lines are unchanged.
    pub unchanged: usize,
    /// The tasks that stay although no line names them, with the reason.
    pub stays: Vec<(String, String)>,
    /// True if existing tasks are in another order.
    pub reordered: bool,
    /// Ids of unfinished tasks whose lines say that they are done. A line cannot mark a task as
    /// done: its worker must, with the result.
    pub said_done: Vec<String>,
}

/// A task with a new definition.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangedTask {
    pub id: String,
    /// The names of the members that differ.
    pub members: Vec<&'static str>,
    /// Its status, which does not change.
    pub status: TaskStatus,
}

impl GraphDiff {
    /// True if the graph is unchanged.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty()
            && self.changed.is_empty()
            && self.removed.is_empty()
            && !self.reordered
    }

    /// How many tasks are unchanged.
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

/// The graph that the lines define.
///
/// # Errors
/// All flaws of the lines, each with its line number, in order. Flaws that the graph had before are
/// not reported.
pub fn sync(
    tasks: &[Task],
    lines: &[TaskLine],
    now: Timestamp,
) -> Result<Synced, Vec<(usize, String)>> {
    let before = Graph::new(tasks, now);
    let mut found = own(&before, lines);
    let synced = merge(&before, lines);
    found.extend(of_deps(&before, lines, &synced.tasks));
    found.extend(circles(lines, &synced.tasks));
    if found.is_empty() {
        return Ok(match synced.diff.is_empty() {
            // Otherwise the tasks that stay would move to the front, although nothing changed.
            true => Synced { tasks: tasks.to_vec(), ..synced },
            false => synced,
        });
    }
    found.sort_by_key(|(number, _)| *number);
    Err(found)
}

fn merge(before: &Graph, lines: &[TaskLine]) -> Synced {
    let mut diff = GraphDiff::default();
    let stays = without_line(before, lines);
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

/// A line cannot assign a task to a worker.
fn unclaimed(task: &Task) -> Task {
    let status = match &task.status {
        TaskStatus::InProgress => TaskStatus::Pending,
        status => status.clone(),
    };
    Task { status, owner: None, lease_expires_at: None, ..task.clone() }
}

/// The task with the definition from its line and its own progress, and the names of the members
/// that differ. Unknown members stay unless the line sets them too.
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

/// Why a done task stays that no line names: other tasks start from its result.
pub const DONE: &str = "done";

/// The positions of the tasks that stay although no line names them. If two tasks have the same id,
/// a line names the first one.
fn without_line(before: &Graph, lines: &[TaskLine]) -> HashMap<usize, String> {
    let named: HashSet<usize> =
        lines.iter().filter_map(|line| before.place(&line.task.id)).collect();
    let mut stays = HashMap::new();
    let mut open = Vec::new();
    for (place, task) in before.tasks.iter().enumerate() {
        if let Some(why) = by_itself(before, task).filter(|_| !named.contains(&place)) {
            stays.insert(place, why);
            open.push(place);
        }
    }
    while let Some(place) = open.pop() {
        let task = &before.tasks[place];
        for needed in task.deps.iter().filter_map(|id| before.place(id)) {
            if !named.contains(&needed) && !stays.contains_key(&needed) {
                stays.insert(needed, format!("{} depends on it", task.id));
                open.push(needed);
            }
        }
    }
    stays
}

fn by_itself(before: &Graph, task: &Task) -> Option<String> {
    match before.readiness(task) {
        TaskReadiness::Done => Some(DONE.to_owned()),
        TaskReadiness::InProgress => {
            let owner = task.owner.as_deref().unwrap_or("someone");
            let until = task.lease_expires_at.map(|until| format!(" until {until}"));
            Some(format!("claimed by {owner}{}", until.unwrap_or_default()))
        }
        TaskReadiness::Unknown => Some(format!("its status `{}` is not known here", task.status)),
        TaskReadiness::Ready
        | TaskReadiness::Waiting
        | TaskReadiness::Failed
        | TaskReadiness::Blocked => None,
    }
}

/// The flaws of each line, whatever the other lines contain.
fn own(before: &Graph, lines: &[TaskLine]) -> Vec<(usize, String)> {
    let mut seen: HashMap<&str, usize> = HashMap::with_capacity(lines.len());
    let mut flaws = Vec::new();
    for TaskLine { number, task } in lines {
        let id = task.id.as_str();
        let mut add = |what| flaws.push((*number, what));
        if id.trim().is_empty() {
            // The task would look new whenever the lines are read again.
            add("no id; give the task a unique one".to_owned());
        } else if let Some(first) = seen.get(id) {
            add(format!("{id} is on line {first} already; leave one out, or rename it"));
        } else {
            seen.insert(id, *number);
        }
        if task.name.trim().is_empty() {
            add(lint::empty_name(id).what);
        }
        // An existing task with a status from another version may keep it.
        let known = before.get(id).is_some_and(|old| old.status == task.status);
        if let (TaskStatus::Other(word), false) = (&task.status, known) {
            add(unknown_status(word));
        }
    }
    flaws
}

pub(in crate::tasks) fn unknown_status(word: &str) -> String {
    format!("`{word}` is not a status; write `pending` or `done`, or omit it")
}

fn of_deps(before: &Graph, lines: &[TaskLine], after: &[Task]) -> Vec<(usize, String)> {
    let there: HashSet<&str> = after.iter().map(|task| task.id.as_str()).collect();
    let flaw = |id: &str, on: &str| match before.get(on) {
        Some(_) => format!(
            "{id} depends on {on}, which has no line and would be removed; add its line, or \
             remove the dependency"
        ),
        None => lint::unknown_dependency(id, on).what,
    };
    let all = lines.iter().flat_map(|line| line.task.deps.iter().map(move |on| (line, on)));
    let unknown = all.filter(|(_, on)| !there.contains(on.as_str()));
    unknown.map(|(line, on)| (line.number, flaw(&line.task.id, on))).collect()
}

/// The cycles, each at the first line that is part of it.
fn circles(lines: &[TaskLine], after: &[Task]) -> Vec<(usize, String)> {
    let numbers: HashMap<&str, usize> =
        lines.iter().rev().map(|line| (line.task.id.as_str(), line.number)).collect();
    let placed = |path: Vec<String>| {
        let number = path.iter().filter_map(|id| numbers.get(id.as_str())).min()?;
        Some((*number, lint::cycle(&path).what))
    };
    lint::cycles(after).into_iter().filter_map(placed).collect()
}

#[cfg(test)]
mod tests;
