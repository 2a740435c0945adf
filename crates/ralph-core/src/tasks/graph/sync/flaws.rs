//! What keeps a planner's lines from being taken, each with the number of its line.

use super::super::{Graph, GraphFlaw, lint};
use super::TaskLine;
use crate::state::{Task, TaskStatus};
use std::collections::{HashMap, HashSet};
use std::fmt;

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
    InGraph(GraphFlaw),
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

/// What is wrong with each line, whatever the others hold.
pub(super) fn own(before: &Graph, lines: &[TaskLine]) -> Vec<(usize, LineFlaw)> {
    let mut seen: HashMap<&str, usize> = HashMap::with_capacity(lines.len());
    let mut flaws = Vec::new();
    for TaskLine { number, task } in lines {
        let mut add = |flaw| flaws.push((*number, flaw));
        if task.id.trim().is_empty() {
            add(LineFlaw::NoId);
        } else if let Some(first) = seen.get(task.id.as_str()) {
            add(LineFlaw::SameId { id: task.id.clone(), first: *first });
        } else {
            seen.insert(&task.id, *number);
        }
        if task.name.trim().is_empty() {
            let flaw = GraphFlaw::EmptyName { id: task.id.clone() };
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

pub(super) fn of_deps(
    before: &Graph,
    lines: &[TaskLine],
    after: &[Task],
) -> Vec<(usize, LineFlaw)> {
    let there: HashSet<&str> = after.iter().map(|task| task.id.as_str()).collect();
    let flaw = |id: &str, on: &str| {
        let (id, on) = (id.to_owned(), on.to_owned());
        match before.get(&on) {
            Some(_) => LineFlaw::OnRemoved { id, on },
            None => LineFlaw::InGraph(GraphFlaw::UnknownDependency { id, on }),
        }
    };
    let of = |line: &TaskLine| -> Vec<(usize, LineFlaw)> {
        let unknown = line.task.deps.iter().filter(|on| !there.contains(on.as_str()));
        unknown.map(|on| (line.number, flaw(&line.task.id, on))).collect()
    };
    lines.iter().flat_map(of).collect()
}

/// Circles, each at the first line that is part of it.
pub(super) fn circles(lines: &[TaskLine], after: &[Task]) -> Vec<(usize, LineFlaw)> {
    let numbers: HashMap<&str, usize> =
        lines.iter().rev().map(|line| (line.task.id.as_str(), line.number)).collect();
    let placed = |path: Vec<String>| {
        let number = path.iter().filter_map(|id| numbers.get(id.as_str())).min()?;
        let flaw = match path.as_slice() {
            [id] => GraphFlaw::OnItself { id: id.clone() },
            _ => GraphFlaw::Cycle { path },
        };
        Some((*number, LineFlaw::InGraph(flaw)))
    };
    lint::cycles(after).into_iter().filter_map(placed).collect()
}
