//! The flaws for which a planner's lines are refused, each with its line number.

use super::super::{Graph, GraphFlaw, lint};
use super::TaskLine;
use crate::state::{Task, TaskStatus};
use std::collections::{HashMap, HashSet};
use std::fmt;

/// Why a line is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineFlaw {
    /// Without an id, the task would look new whenever the lines are read again.
    NoId,
    /// An earlier line has the same id.
    SameId {
        id: String,
        /// The earlier line.
        first: usize,
    },
    /// The status is not one that Ralph knows.
    NoStatus {
        /// The status as written.
        word: String,
    },
    /// The task depends on one that no line names and that would be removed.
    OnRemoved {
        id: String,
        /// The dependency.
        on: String,
    },
    /// A flaw of the graph itself.
    InGraph(GraphFlaw),
}

impl fmt::Display for LineFlaw {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LineFlaw::NoId => to.write_str("no id; give the task a unique one"),
            LineFlaw::SameId { id, first } => {
                write!(to, "{id} is on line {first} already; leave one out, or rename it")
            }
            LineFlaw::NoStatus { word } => {
                write!(to, "`{word}` is not a status; write `pending` or `done`, or omit it")
            }
            LineFlaw::OnRemoved { id, on } => write!(
                to,
                "{id} depends on {on}, which has no line and would be removed; add its line, or \
                 remove the dependency"
            ),
            LineFlaw::InGraph(flaw) => flaw.fmt(to),
        }
    }
}

/// The flaws of each line, whatever the other lines contain.
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
        // An existing task with a status from another version may keep it.
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

/// The cycles, each at the first line that is part of it.
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
