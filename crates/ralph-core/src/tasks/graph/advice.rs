//! Advice on a valid graph that would still make the work go badly.
//!
//! Advice concerns only unfinished tasks, and nothing is refused because of it. It is bounded,
//! because a planner reads it and nobody reads forty lines.

use super::{Graph, waves};
use crate::state::{Task, TaskStatus};
use crate::text::plural::counted;
use jiff::Timestamp;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

/// A point that a planner should consider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Advice {
    /// Tasks without a completion condition.
    NoCondition { ids: Vec<String> },
    /// Two tasks that may run at the same time and would write to the same file.
    SideBySide { file: String, first: String, second: String },
    /// Two consecutive tasks that change exactly the same files.
    OneWouldDo {
        first: String,
        /// The task that depends on the first.
        second: String,
    },
    /// Many tasks for few files.
    ManyForFew { tasks: usize, files: usize },
    /// A member that nothing reads, with a name that resembles a known one.
    Misnamed {
        id: String,
        /// The name as written.
        member: String,
        /// The name that Ralph reads.
        meant: &'static str,
    },
    /// Stands for further advice of one kind.
    More {
        /// How many more.
        count: usize,
        /// The kind, in words.
        of: &'static str,
    },
}

/// How many items of one kind are reported.
const MOST: usize = 5;

/// Up to this many tasks are never too many.
const FEW_TASKS: usize = 10;

/// Above this many tasks per file there are too many: a task is a unit of work that justifies a
/// fresh look at the project, not a single edit.
const TASKS_FOR_A_FILE: usize = 3;

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

impl fmt::Display for Advice {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Advice::NoCondition { ids } => {
                let shown: Vec<&str> = ids.iter().take(MOST).map(String::as_str).collect();
                let more = match ids.len() - shown.len() {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                let has = if ids.len() == 1 { "has" } else { "have" };
                write!(
                    to,
                    "{}{more} {has} no `completion_condition`; write how to tell that it is done",
                    shown.join(", ")
                )
            }
            Advice::SideBySide { file, first, second } => write!(
                to,
                "{first} and {second} could run in parallel, and both change `{file}`; make one \
                 depend on the other"
            ),
            Advice::OneWouldDo { first, second } => {
                write!(to, "{second} only continues {first} in the same files; merge them")
            }
            Advice::ManyForFew { tasks, files } => {
                let files = counted(*files, "file", "files");
                let tasks = counted(*tasks, "task", "tasks");
                write!(to, "{tasks} for {files} are too many; merge the small ones")
            }
            Advice::Misnamed { id, member, meant } => {
                write!(to, "nothing reads `{member}` of {id}; if `{meant}` was meant, write that")
            }
            Advice::More { count, of } => write!(to, "{count} more {of}"),
        }
    }
}

/// The advice on the tasks that are not done.
pub fn advice(tasks: &[Task]) -> Vec<Advice> {
    let mut said = Vec::new();
    said.extend(without_condition(tasks));
    said.extend(some(misnamed(tasks), "ignored members"));
    said.extend(some(side_by_side(tasks), "files that two parallel tasks could change"));
    said.extend(some(one_would_do(tasks), "pairs of tasks to merge"));
    said.extend(many_for_few(tasks));
    said
}

/// Limits the advice of one kind, and adds how much was left out.
fn some(all: Vec<Advice>, of: &'static str) -> Vec<Advice> {
    let count = all.len().saturating_sub(MOST);
    let mut said: Vec<Advice> = all.into_iter().take(MOST).collect();
    said.extend((count > 0).then_some(Advice::More { count, of }));
    said
}

fn open(tasks: &[Task]) -> impl Iterator<Item = (usize, &Task)> {
    tasks.iter().enumerate().filter(|(_, task)| task.status != TaskStatus::Done)
}

fn without_condition(tasks: &[Task]) -> Option<Advice> {
    let ids: Vec<String> = open(tasks)
        .filter(|(_, task)| task.completion_condition.trim().is_empty())
        .map(|(_, task)| task.id.clone())
        .collect();
    (!ids.is_empty()).then_some(Advice::NoCondition { ids })
}

fn misnamed(tasks: &[Task]) -> Vec<Advice> {
    let of = |task: &Task| -> Vec<Advice> {
        let names = task.extra.keys().filter_map(|member| {
            let (_, meant) = MISNAMED.iter().find(|(name, _)| name == member)?;
            Some(Advice::Misnamed { id: task.id.clone(), member: member.clone(), meant })
        });
        names.collect()
    };
    open(tasks).flat_map(|(_, task)| of(task)).collect()
}

/// The tasks that change one file must follow each other in some order. In the order of the waves
/// it is enough to check neighbours: if each pair has a path, the whole sequence has one.
fn side_by_side(tasks: &[Task]) -> Vec<Advice> {
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
    let asked: Vec<(usize, usize)> =
        pairs.iter().map(|(_, first, second)| (*first, *second)).collect();
    let mut named = HashSet::new();
    between(tasks, &asked)
        .into_iter()
        .zip(pairs)
        // Two tasks that share forty files are one piece of advice.
        .filter(|(leads, (_, first, second))| !leads && named.insert((*first, *second)))
        .map(|(_, (file, first, second))| Advice::SideBySide {
            file: file.to_owned(),
            first: tasks[first].id.clone(),
            second: tasks[second].id.clone(),
        })
        .collect()
}

/// The position of each task in the order of the waves; a task that is in no wave has none.
fn order(tasks: &[Task]) -> HashMap<usize, usize> {
    let in_order = waves::places(tasks).into_iter().flatten();
    in_order.enumerate().map(|(at, place)| (place, at)).collect()
}

fn plain_path(file: &str) -> &str {
    let mut path = file.trim();
    while let Some(rest) = path.strip_prefix("./") {
        path = rest;
    }
    path
}

fn one_would_do(tasks: &[Task]) -> Vec<Advice> {
    let mut dependents: HashMap<&str, usize> = HashMap::new();
    tasks.iter().flat_map(|task| &task.deps).for_each(|id| {
        *dependents.entry(id).or_default() += 1;
    });
    let open: HashMap<&str, &Task> =
        open(tasks).map(|(_, task)| (task.id.as_str(), task)).collect();
    let follows = |second: &Task| {
        let [only] = second.deps.as_slice() else { return None };
        let first = *open.get(only.as_str())?;
        let alone = dependents.get(only.as_str()) == Some(&1);
        let same = !first.files.is_empty() && files(first) == files(second);
        (alone && same)
            .then(|| Advice::OneWouldDo { first: first.id.clone(), second: second.id.clone() })
    };
    tasks.iter().filter(|task| open.contains_key(task.id.as_str())).filter_map(follows).collect()
}

fn files(task: &Task) -> HashSet<&str> {
    task.files.iter().map(|file| plain_path(file)).collect()
}

/// Counts only tasks that name files: a task without files may be about anything.
fn many_for_few(tasks: &[Task]) -> Option<Advice> {
    let with_files: Vec<&Task> =
        open(tasks).map(|(_, task)| task).filter(|task| !task.files.is_empty()).collect();
    let n_files = with_files.iter().flat_map(|task| files(task)).collect::<HashSet<_>>().len();
    let n_tasks = with_files.len();
    (n_tasks > FEW_TASKS && n_tasks > n_files * TASKS_FOR_A_FILE)
        .then_some(Advice::ManyForFew { tasks: n_tasks, files: n_files })
}

// Whether one task comes after another, for many pairs at once.
//
// Checked one by one, ten thousand pairs in a graph of ten thousand tasks would take a hundred
// million steps. Instead, one walk through the graph covers up to 4096 first tasks, with one bit
// for each in every step.

/// How many 64-bit words each task carries on one walk: enough for most graphs, and about five
/// megabytes at ten thousand tasks.
const WORDS: usize = 64;

/// For each pair of positions, whether the second task depends on the first, directly or not. A
/// task that is in no wave depends on nothing.
fn between(tasks: &[Task], pairs: &[(usize, usize)]) -> Vec<bool> {
    let graph = Graph::new(tasks, Timestamp::UNIX_EPOCH);
    let order: Vec<usize> = waves::places(tasks).into_iter().flatten().collect();
    let mut firsts: Vec<usize> = pairs.iter().map(|(first, _)| *first).collect();
    firsts.sort_unstable();
    firsts.dedup();
    let mut leads = vec![false; pairs.len()];
    for asked in firsts.chunks(WORDS * 64) {
        let bit: HashMap<usize, usize> =
            asked.iter().enumerate().map(|(at, place)| (*place, at)).collect();
        let words = asked.len().div_ceil(64);
        let behind = walk(tasks, &graph, &order, &bit, words);
        for (lead, (first, second)) in leads.iter_mut().zip(pairs) {
            if let Some(at) = bit.get(first) {
                *lead = behind[second * words + at / 64] >> (at % 64) & 1 == 1;
            }
        }
    }
    leads
}

/// For each task, the bits of all tasks that it comes after.
fn walk(
    tasks: &[Task],
    graph: &Graph,
    order: &[usize],
    bit: &HashMap<usize, usize>,
    words: usize,
) -> Vec<u64> {
    let mut behind = vec![0_u64; tasks.len() * words];
    for place in order {
        for on in tasks[*place].deps.iter().filter_map(|id| graph.place(id)) {
            for word in 0..words {
                behind[place * words + word] |= behind[on * words + word];
            }
            if let Some(at) = bit.get(&on) {
                behind[place * words + at / 64] |= 1 << (at % 64);
            }
        }
    }
    behind
}

#[cfg(test)]
mod tests;
