//! Finds the flaws of a task graph that was written by hand or by a model.
//!
//! All flaws are reported at once, so that they can be fixed at once.

use super::Graph;
use crate::state::Task;
use jiff::Timestamp;
use std::collections::HashSet;
use std::fmt;

/// A flaw that keeps a graph from being worked off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GraphFlaw {
    /// A task without an id.
    EmptyId {
        /// Position in the list, from 1.
        place: usize,
    },
    /// A task without a name.
    EmptyName { id: String },
    /// Two tasks with the same id.
    DuplicateId { id: String },
    /// A dependency that does not exist.
    UnknownDependency {
        id: String,
        /// The dependency.
        on: String,
    },
    /// A task that depends on itself.
    OnItself { id: String },
    /// Tasks that wait for each other.
    Cycle {
        /// Their ids; each depends on the next, and the last on the first.
        path: Vec<String>,
    },
}

impl fmt::Display for GraphFlaw {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GraphFlaw::EmptyId { place } => write!(to, "task {place} has no id; give it one"),
            GraphFlaw::EmptyName { id } => {
                write!(to, "{id} has no name; write the task in words")
            }
            GraphFlaw::DuplicateId { id } => write!(to, "{id} is the id of two tasks; rename one"),
            GraphFlaw::UnknownDependency { id, on } => {
                write!(
                    to,
                    "{id} depends on {on}, which does not exist; add that task or remove \
                     the dependency"
                )
            }
            GraphFlaw::OnItself { id } => write!(
                to,
                "{id} depends on itself; remove that \
                 dependency"
            ),
            GraphFlaw::Cycle { path } => {
                let first = path.first().map_or("", String::as_str);
                write!(
                    to,
                    "{} → {first} is a dependency cycle; remove one dependency",
                    path.join(" → ")
                )
            }
        }
    }
}

/// All flaws, in the order of the list; cycles last.
pub fn lint(tasks: &[Task]) -> Vec<GraphFlaw> {
    lint_with_places(tasks).into_iter().map(|(_, flaw)| flaw).collect()
}

/// Like [`lint`], each with the task's position in the list, from 0.
pub fn lint_with_places(tasks: &[Task]) -> Vec<(usize, GraphFlaw)> {
    let graph = Graph::new(tasks, Timestamp::UNIX_EPOCH);
    let mut seen = HashSet::new();
    let mut flaws = Vec::new();
    for (at, task) in tasks.iter().enumerate() {
        let id = task.id.clone();
        if id.trim().is_empty() {
            flaws.push((at, GraphFlaw::EmptyId { place: at + 1 }));
        } else if !seen.insert(task.id.as_str()) {
            flaws.push((at, GraphFlaw::DuplicateId { id: id.clone() }));
        }
        if task.name.trim().is_empty() {
            flaws.push((at, GraphFlaw::EmptyName { id: id.clone() }));
        }
        let unknown = task.deps.iter().filter(|on| graph.place(on).is_none());
        flaws.extend(
            unknown.map(|on| (at, GraphFlaw::UnknownDependency { id: id.clone(), on: on.clone() })),
        );
    }
    flaws.extend(cycles(tasks).into_iter().map(|path| match path.as_slice() {
        [id] => (graph.place(id).unwrap_or(0), GraphFlaw::OnItself { id: id.clone() }),
        [first, ..] => (graph.place(first).unwrap_or(0), GraphFlaw::Cycle { path }),
        [] => (0, GraphFlaw::Cycle { path }),
    }));
    flaws
}

/// How many cycles are reported: a graph can contain more than anyone reads.
const MAX_CYCLES: usize = 20;

#[derive(Clone, Copy, PartialEq)]
enum VisitMark {
    New,
    /// On the path of the current walk.
    OnPath,
    Finished,
}

/// The cycles, one for each edge that closes one on a walk along the dependencies. The walk uses
/// its own stack, because a chain of ten thousand tasks must not exhaust the thread's.
pub(super) fn cycles(tasks: &[Task]) -> Vec<Vec<String>> {
    let graph = Graph::new(tasks, Timestamp::UNIX_EPOCH);
    let mut marks = vec![VisitMark::New; tasks.len()];
    let mut found = Vec::new();
    for start in 0..tasks.len() {
        if marks[start] != VisitMark::New || found.len() >= MAX_CYCLES {
            continue;
        }
        // Each step is a task, and how many of its dependencies were followed.
        let mut path = vec![(start, 0_usize)];
        marks[start] = VisitMark::OnPath;
        while let Some((place, followed)) = path.last_mut() {
            let Some(on) = tasks[*place].deps.get(*followed) else {
                marks[*place] = VisitMark::Finished;
                path.pop();
                continue;
            };
            *followed += 1;
            let Some(next) = graph.place(on) else { continue };
            match marks[next] {
                VisitMark::New => {
                    marks[next] = VisitMark::OnPath;
                    path.push((next, 0));
                }
                VisitMark::OnPath if found.len() < MAX_CYCLES => {
                    found.push(closing(tasks, &path, next))
                }
                VisitMark::OnPath | VisitMark::Finished => {}
            }
        }
    }
    found
}

fn closing(tasks: &[Task], path: &[(usize, usize)], first: usize) -> Vec<String> {
    path.iter()
        .skip_while(|(place, _)| *place != first)
        .map(|(place, _)| tasks[*place].id.clone())
        .collect()
}
