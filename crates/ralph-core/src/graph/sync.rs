//! Brings a graph to what a planner wants it to be, as a difference: what is added, what is
//! changed, what is removed.
//!
//! The lines say what there is to do; what has become of it they do not say. So a task keeps its
//! status, its owner and its result whatever its line holds, and what is done or being worked on
//! stays though no line names it.

mod stay;

pub use stay::Stays;

use super::{Flaw, Graph, lint};
use crate::state::{Task, TaskStatus};
use jiff::Timestamp;
use std::collections::{HashMap, HashSet};
use std::fmt;

/// A task as it is wanted, and the number of its line as an editor counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
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
    pub diff: Diff,
}

/// How a graph differs from the one before.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Diff {
    /// Ids of the tasks that are new, in the order of the lines.
    pub added: Vec<String>,
    /// The tasks that are to be done otherwise, in the order of the lines.
    pub changed: Vec<Changed>,
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
pub struct Changed {
    /// Its id.
    pub id: String,
    /// The members that differ.
    pub members: Vec<&'static str>,
    /// Its status, which stays.
    pub status: TaskStatus,
}

impl Diff {
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

/// What keeps a line from being taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineFlaw {
    /// A task without an id could not be told from a new one when the lines come again.
    NoId,
    /// Its id is on an earlier line, too.
    SameId {
        /// The id.
        id: String,
        /// The earlier line.
        first: usize,
    },
    /// A status that is none.
    NoStatus {
        /// As written.
        word: String,
    },
    /// It depends on a task that no line names, and that would be removed for that.
    OnRemoved {
        /// The task.
        id: String,
        /// What it depends on.
        on: String,
    },
    /// What is wrong in any graph.
    InGraph(Flaw),
}

impl fmt::Display for LineFlaw {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LineFlaw::NoId => to.write_str("no id; give it one: tasks are told apart by their ids"),
            LineFlaw::SameId { id, first } => {
                write!(to, "{id} is on line {first} already; leave one out, or rename it")
            }
            LineFlaw::NoStatus { word } => {
                write!(to, "`{word}` is no status; write `pending` or `done`, or leave it out")
            }
            LineFlaw::OnRemoved { id, on } => write!(
                to,
                "{id} depends on {on}, which no line names, so that it would be removed; add its \
                 line, or leave it out"
            ),
            LineFlaw::InGraph(flaw) => flaw.fmt(to),
        }
    }
}

/// The graph that the lines ask for.
///
/// # Errors
/// Everything that is wrong with the lines, each with its line's number, in their order. What was
/// wrong with the graph before is not theirs.
pub fn sync(
    tasks: &[Task],
    lines: &[Line],
    now: Timestamp,
) -> Result<Synced, Vec<(usize, LineFlaw)>> {
    let before = Graph::new(tasks, now);
    let mut flaws: Vec<(usize, LineFlaw)> = own_flaws(&before, lines);
    let synced = merge(&before, lines);
    flaws.extend(deps_flaws(&before, lines, &synced.tasks));
    flaws.extend(circles(lines, &synced.tasks));
    if flaws.is_empty() {
        return Ok(match synced.diff.is_empty() {
            // Those that stay would come first otherwise, which nobody has asked for.
            true => Synced { tasks: tasks.to_vec(), ..synced },
            false => synced,
        });
    }
    flaws.sort_by_key(|(number, _)| *number);
    Err(flaws)
}

/// What is wrong with each line, whatever the others hold.
fn own_flaws(before: &Graph, lines: &[Line]) -> Vec<(usize, LineFlaw)> {
    let mut seen: HashMap<&str, usize> = HashMap::with_capacity(lines.len());
    let mut flaws = Vec::new();
    for Line { number, task } in lines {
        let mut add = |flaw| flaws.push((*number, flaw));
        if task.id.trim().is_empty() {
            add(LineFlaw::NoId);
        } else if let Some(first) = seen.get(task.id.as_str()) {
            add(LineFlaw::SameId { id: task.id.clone(), first: *first });
        } else {
            seen.insert(&task.id, *number);
        }
        if task.name.trim().is_empty() {
            let flaw = Flaw::EmptyName { id: task.id.clone() };
            add(LineFlaw::InGraph(flaw));
        }
        // One that is there already, from another version, comes back as it is.
        let known = before.get(&task.id).is_some_and(|old| old.status == task.status);
        if let (TaskStatus::Other(word), false) = (&task.status, known) {
            add(LineFlaw::NoStatus { word: word.clone() });
        }
    }
    flaws
}

fn deps_flaws(before: &Graph, lines: &[Line], after: &[Task]) -> Vec<(usize, LineFlaw)> {
    let there: HashSet<&str> = after.iter().map(|task| task.id.as_str()).collect();
    let flaw = |id: &str, on: &str| {
        let (id, on) = (id.to_owned(), on.to_owned());
        match before.get(&on) {
            Some(_) => LineFlaw::OnRemoved { id, on },
            None => LineFlaw::InGraph(Flaw::UnknownDependency { id, on }),
        }
    };
    let of = |line: &Line| -> Vec<(usize, LineFlaw)> {
        let unknown = line.task.deps.iter().filter(|on| !there.contains(on.as_str()));
        unknown.map(|on| (line.number, flaw(&line.task.id, on))).collect()
    };
    lines.iter().flat_map(of).collect()
}

/// Circles, each at the first line that is part of it.
fn circles(lines: &[Line], after: &[Task]) -> Vec<(usize, LineFlaw)> {
    let numbers: HashMap<&str, usize> =
        lines.iter().rev().map(|line| (line.task.id.as_str(), line.number)).collect();
    let placed = |path: Vec<String>| {
        let number = path.iter().filter_map(|id| numbers.get(id.as_str())).min()?;
        let flaw = match path.as_slice() {
            [id] => Flaw::OnItself { id: id.clone() },
            _ => Flaw::Cycle { path },
        };
        Some((*number, LineFlaw::InGraph(flaw)))
    };
    lint::cycles(after).into_iter().filter_map(placed).collect()
}

fn merge(before: &Graph, lines: &[Line]) -> Synced {
    let mut diff = Diff::default();
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
    for Line { task: wanted, .. } in lines {
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
            false => diff.changed.push(Changed {
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
