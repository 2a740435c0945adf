//! Finds what is wrong with a task graph that was written by hand or by a model, and what would still make the work go
//! badly.

use super::{Graph, wave_places};
use crate::state::{Task, TaskStatus};
use crate::text::plural::noun;
use jiff::Timestamp;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

/// A flaw that keeps a graph from being worked off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphFlaw {
    /// The member of the task that is wrong.
    pub member: &'static str,
    /// What is wrong, and what to do.
    pub what: String,
}

impl fmt::Display for GraphFlaw {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.what)
    }
}

fn flaw(member: &'static str, what: String) -> GraphFlaw {
    GraphFlaw { member, what }
}

pub(super) fn empty_name(id: &str) -> GraphFlaw {
    flaw("name", format!("{id} has no name; write the task in words"))
}

pub(super) fn unknown_dependency(id: &str, on: &str) -> GraphFlaw {
    flaw(
        "deps",
        format!(
            "{id} depends on {on}, which does not exist; add that task or remove the dependency"
        ),
    )
}

/// The flaw of tasks of which each depends on the next, and the last on the first.
pub(super) fn cycle(path: &[String]) -> GraphFlaw {
    flaw(
        "deps",
        match path {
            [id] => format!("{id} depends on itself; remove that dependency"),
            path => {
                let first = path.first().map_or("", String::as_str);
                format!(
                    "{} → {first} is a dependency cycle; remove one dependency",
                    path.join(" → ")
                )
            }
        },
    )
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
        let id = task.id.as_str();
        if id.trim().is_empty() {
            flaws.push((at, flaw("id", format!("task {} has no id; give it one", at + 1))));
        } else if !seen.insert(id) {
            flaws.push((at, flaw("id", format!("{id} is the id of two tasks; rename one"))));
        }
        if task.name.trim().is_empty() {
            flaws.push((at, empty_name(id)));
        }
        let unknown = task.deps.iter().filter(|on| graph.place(on).is_none());
        flaws.extend(unknown.map(|on| (at, unknown_dependency(id, on))));
    }
    flaws.extend(cycles(tasks).into_iter().map(|path| {
        let first = path.first().and_then(|first| graph.place(first));
        (first.unwrap_or_default(), cycle(&path))
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

// Advice on a valid graph that would still make the work go badly.
//
// Advice concerns only unfinished tasks, and nothing is refused because of it. It is bounded,
// because a planner reads it and nobody reads forty lines.

/// How many items of one kind are reported.
const MOST: usize = 5;

/// Names that planners write for a member, with the one that Ralph reads.
const MISNAMED: [(&str, &str); 16] = [
    ("acceptance", "completion_condition"),
    ("condition", "completion_condition"),
    ("done_when", "completion_condition"),
    ("completion", "completion_condition"),
    ("blocked_by", "deps"),
    ("dep", "deps"),
    ("dependencies", "deps"),
    ("dependsOn", "deps"),
    ("depends_on", "deps"),
    ("requires", "deps"),
    ("file", "files"),
    ("paths", "files"),
    ("summary", "name"),
    ("task", "name"),
    ("title", "name"),
    ("state", "status"),
];

/// The advice on the tasks that are not done.
pub fn advice(tasks: &[Task]) -> Vec<String> {
    let mut said: Vec<String> = without_condition(tasks).into_iter().collect();
    said.extend(some(misnamed(tasks), "ignored members"));
    said.extend(some(side_by_side(tasks), "files that two parallel tasks could change"));
    said
}

/// Limits the advice of one kind, and adds how much was left out.
fn some(mut all: Vec<String>, of: &str) -> Vec<String> {
    let more = all.len().saturating_sub(MOST);
    all.truncate(MOST);
    all.extend((more > 0).then(|| format!("{more} more {of}")));
    all
}

fn open(tasks: &[Task]) -> impl Iterator<Item = (usize, &Task)> {
    tasks.iter().enumerate().filter(|(_, task)| task.status != TaskStatus::Done)
}

fn without_condition(tasks: &[Task]) -> Option<String> {
    let ids: Vec<&str> = open(tasks)
        .filter(|(_, task)| task.completion_condition.trim().is_empty())
        .map(|(_, task)| task.id.as_str())
        .collect();
    let shown = ids[..ids.len().min(MOST)].join(", ");
    let more = match ids.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let has = noun(ids.len(), "has", "have");
    (!ids.is_empty()).then(|| {
        format!("{shown}{more} {has} no `completion_condition`; write how to tell that it is done")
    })
}

fn misnamed(tasks: &[Task]) -> Vec<String> {
    let members = open(tasks).flat_map(|(_, task)| task.extra.keys().map(move |name| (task, name)));
    let misnamed = members.filter_map(|(task, member)| {
        let (_, meant) = MISNAMED.iter().find(|(name, _)| name == member)?;
        let id = &task.id;
        Some(format!("nothing reads `{member}` of {id}; if `{meant}` was meant, write that"))
    });
    misnamed.collect()
}

/// The tasks that change one file must follow each other in some order. In the order of the waves
/// it is enough to check neighbours: if each pair has a path, the whole sequence has one.
fn side_by_side(tasks: &[Task]) -> Vec<String> {
    let order = order(tasks);
    let mut by_file: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, task) in open(tasks) {
        let files: HashSet<&str> = task.files.iter().map(|file| plain_path(file)).collect();
        for file in files.into_iter().filter(|_| order.contains_key(&place)) {
            by_file.entry(file).or_default().push(place);
        }
    }
    let mut pairs: Vec<(&str, usize, usize)> = Vec::new();
    for (file, places) in &mut by_file {
        places.sort_by_key(|place| order.get(place));
        pairs.extend(places.windows(2).map(|pair| (*file, pair[0], pair[1])));
    }
    let graph = Graph::new(tasks, Timestamp::UNIX_EPOCH);
    let mut named = HashSet::new();
    pairs
        .into_iter()
        // Two tasks that share forty files are one piece of advice.
        .filter(|(_, first, second)| named.insert((*first, *second)))
        .filter(|(_, first, second)| !comes_after(tasks, &graph, *second, *first))
        .map(|(file, first, second)| {
            let (first, second) = (&tasks[first].id, &tasks[second].id);
            format!(
                "{first} and {second} could run in parallel, and both change `{file}`; make one \
                 depend on the other"
            )
        })
        .collect()
}

/// The position of each task in the order of the waves; a task that is in no wave has none.
fn order(tasks: &[Task]) -> HashMap<usize, usize> {
    let in_order = wave_places(tasks).into_iter().flatten();
    in_order.enumerate().map(|(at, place)| (place, at)).collect()
}

fn plain_path(file: &str) -> &str {
    let mut path = file.trim();
    while let Some(rest) = path.strip_prefix("./") {
        path = rest;
    }
    path
}

/// Whether a task depends on another, directly or not.
fn comes_after(tasks: &[Task], graph: &Graph, task: usize, first: usize) -> bool {
    let mut seen = HashSet::from([task]);
    let mut open = vec![task];
    while let Some(place) = open.pop() {
        if place == first {
            return true;
        }
        let deps = tasks[place].deps.iter().filter_map(|id| graph.place(id));
        open.extend(deps.filter(|on| seen.insert(*on)));
    }
    false
}

#[cfg(test)]
mod advice_tests;
