//! The task graph: which tasks are ready, who works on them, and their results.
//!
//! A claim with an expired lease counts as free: its worker may be gone, and nothing would ever
//! report that. Task states never complete a loop; they only say what to do next.

mod change;
pub mod draw;
mod lint;
pub mod render;
mod sync;

pub use change::{
    Claim, ClaimTarget, Lease, NewTask, add, claim, depend, done, release, renew, stop_work,
};
pub use lint::{GraphFlaw, advice, lint, lint_with_places};
pub(in crate::tasks) use sync::unknown_status;
pub use sync::{ChangedTask, DONE, GraphDiff, Synced, TaskLine, sync};

use crate::state::{Task, TaskDigest, TaskList, TaskStatus, TaskSummary};
use jiff::Timestamp;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use xxhash_rust::xxh3::Xxh3Default;

/// Rounds or workers after which a task that stays open is given up.
pub const MOST_ATTEMPTS: u32 = 3;

/// Makes a task ready again, with a note for who works on it next, or gives it up. Returns what became of it.
pub fn reopen(task: &mut Task, why: &str, attempts: &str) -> String {
    let gives_up = task.attempts >= MOST_ATTEMPTS;
    task.status = if gives_up { TaskStatus::Failed } else { TaskStatus::Pending };
    (task.owner, task.lease_expires_at) = (None, None);
    task.result = Some(why.to_owned());
    match gives_up {
        true => format!("{} is given up after {} {attempts}", task.id, task.attempts),
        false => format!("{} is ready again", task.id),
    }
}

/// The state of a task after checking its lease and its dependencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskReadiness {
    /// Free, and all dependencies are done.
    Ready,
    /// Free, but a dependency is not done.
    Waiting,
    /// Claimed, and the lease has not expired.
    InProgress,
    Done,
    Failed,
    /// Waiting for something outside the graph.
    Blocked,
    /// A status that this version does not know; Ralph leaves the task alone.
    Unknown,
}

impl TaskReadiness {
    /// The word for it in a list.
    pub fn word(self) -> &'static str {
        match self {
            TaskReadiness::Ready => "ready",
            TaskReadiness::Waiting => "waiting",
            TaskReadiness::InProgress => "in progress",
            TaskReadiness::Done => "done",
            TaskReadiness::Failed => "failed",
            TaskReadiness::Blocked => "blocked",
            TaskReadiness::Unknown => "unknown",
        }
    }
}

/// An index of the tasks by id. It is built once, so that ten thousand tasks take ten thousand
/// steps. If two tasks have the same id, the first one counts.
#[derive(Debug)]
pub struct Graph<'a> {
    tasks: &'a [Task],
    places: HashMap<&'a str, usize>,
    now: Timestamp,
}

impl<'a> Graph<'a> {
    /// Indexes the tasks; `now` decides which leases have expired.
    pub fn new(tasks: &'a [Task], now: Timestamp) -> Graph<'a> {
        let mut places = HashMap::with_capacity(tasks.len());
        for (place, task) in tasks.iter().enumerate() {
            places.entry(task.id.as_str()).or_insert(place);
        }
        Graph { tasks, places, now }
    }

    pub fn get(&self, id: &str) -> Option<&'a Task> {
        self.place(id).map(|place| &self.tasks[place])
    }

    /// The position of the task in the list.
    pub fn place(&self, id: &str) -> Option<usize> {
        self.places.get(id).copied()
    }

    pub fn readiness(&self, task: &Task) -> TaskReadiness {
        match &task.status {
            TaskStatus::InProgress if !lease_ran_out(task, self.now) => TaskReadiness::InProgress,
            TaskStatus::Pending | TaskStatus::InProgress => match self.waits_for(task) {
                None => TaskReadiness::Ready,
                Some(_) => TaskReadiness::Waiting,
            },
            TaskStatus::Done => TaskReadiness::Done,
            TaskStatus::Failed => TaskReadiness::Failed,
            TaskStatus::Blocked => TaskReadiness::Blocked,
            TaskStatus::Other(_) => TaskReadiness::Unknown,
        }
    }

    /// The first dependency that is not done; an unknown id counts as not done.
    pub fn waits_for<'t>(&self, task: &'t Task) -> Option<&'t str> {
        task.deps
            .iter()
            .map(String::as_str)
            .find(|id| self.get(id).is_none_or(|dependency| dependency.status != TaskStatus::Done))
    }

    /// The tasks that can be worked on now, in the order of the list.
    pub fn ready(&self) -> impl Iterator<Item = &'a Task> {
        self.tasks.iter().filter(|task| self.readiness(task) == TaskReadiness::Ready)
    }

    /// The task to work on: one in progress, otherwise the first that is ready.
    pub fn current(&self) -> Option<&'a Task> {
        let under_way = |task: &&Task| self.readiness(task) == TaskReadiness::InProgress;
        self.tasks.iter().find(under_way).or_else(|| self.ready().next())
    }

    pub fn summary(&self) -> TaskSummary {
        let mut summary = TaskSummary { total: self.tasks.len(), ..TaskSummary::default() };
        for task in self.tasks {
            match self.readiness(task) {
                TaskReadiness::Ready => summary.ready += 1,
                TaskReadiness::Waiting => summary.waiting += 1,
                TaskReadiness::InProgress => summary.in_progress += 1,
                TaskReadiness::Done => summary.done += 1,
                TaskReadiness::Failed => summary.failed += 1,
                TaskReadiness::Blocked => summary.blocked += 1,
                TaskReadiness::Unknown => {}
            }
        }
        summary
    }
}

/// The tasks that can be worked on now, in the order of the list.
pub fn ready(tasks: &[Task], now: Timestamp) -> Vec<&Task> {
    Graph::new(tasks, now).ready().collect()
}

/// How many tasks are in each state.
pub fn summary(tasks: &[Task], now: Timestamp) -> TaskSummary {
    Graph::new(tasks, now).summary()
}

/// True for a claim whose lease has expired. A claim without a lease lasts until it is released.
fn lease_ran_out(task: &Task, now: Timestamp) -> bool {
    task.lease_expires_at.is_some_and(|end| end <= now)
}

// Groups the tasks into waves, each of which depends only on earlier ones.

/// The tasks in waves: each wave depends only on earlier ones, so its tasks can be worked on
/// together. Tasks on a cycle, or that depend on a cycle or an unknown id, are in no wave.
pub fn waves(tasks: &[Task]) -> Vec<Vec<&Task>> {
    let of = |wave: Vec<usize>| wave.into_iter().map(|place| &tasks[place]).collect();
    wave_places(tasks).into_iter().map(of).collect()
}

/// Like [`waves`], with the positions of the tasks in the list.
pub fn wave_places(tasks: &[Task]) -> Vec<Vec<usize>> {
    let graph = Graph::new(tasks, Timestamp::UNIX_EPOCH);
    let mut open: Vec<usize> = tasks.iter().map(|task| task.deps.len()).collect();
    let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); tasks.len()];
    for (place, task) in tasks.iter().enumerate() {
        for dependency in task.deps.iter().filter_map(|id| graph.place(id)) {
            dependents[dependency].push(place);
        }
    }
    let mut waves = Vec::new();
    let mut wave: Vec<usize> = (0..tasks.len()).filter(|place| open[*place] == 0).collect();
    while !wave.is_empty() {
        let mut next = Vec::new();
        for dependent in wave.iter().flat_map(|place| &dependents[*place]) {
            open[*dependent] -= 1;
            if open[*dependent] == 0 {
                next.push(*dependent);
            }
        }
        next.sort_unstable();
        waves.push(wave);
        wave = next;
    }
    waves
}

// What a stop needs to know of the tasks, found out once for the same text of them.

/// How the tasks stand.
pub fn digest(tasks: &TaskList, now: Timestamp) -> Cow<'_, TaskDigest> {
    let known = tasks.digest(|tasks| make_digest(tasks, now));
    match known.holds_at(now) {
        true => Cow::Borrowed(known),
        false => Cow::Owned(make_digest(tasks, now)),
    }
}

fn make_digest(tasks: &[Task], now: Timestamp) -> TaskDigest {
    let graph = Graph::new(tasks, now);
    let claimed = tasks.iter().filter(|task| graph.readiness(task) == TaskReadiness::InProgress);
    TaskDigest {
        from: now,
        until: claimed.filter_map(|task| task.lease_expires_at).min(),
        summary: graph.summary(),
        current: graph.current().cloned(),
        work: work_of(tasks),
    }
}

fn work_of(tasks: &[Task]) -> String {
    let mut hash = Xxh3Default::new();
    let mut add = |part: &str| {
        hash.update(part.as_bytes());
        hash.update(&[0]);
    };
    for task in tasks {
        add(&task.id);
        add(task.status.as_str());
        // The result of an open task is a note from its last owner, not a result.
        let is_open = matches!(task.status, TaskStatus::Pending | TaskStatus::InProgress);
        add(task.result.as_deref().filter(|_| !is_open).unwrap_or(""));
    }
    format!("{:032x}", hash.digest128())
}

// Finds declared files that two pieces of work share.
//
// A folder stands for everything in it. A declaration is a promise, not a proof: work that changes
// undeclared files is found when it is merged.

/// Claimed files, each with its owner.
#[derive(Debug, Default)]
pub struct ClaimedFiles<'a> {
    files: HashMap<String, &'a str>,
    /// The folders that contain claimed files, each with the owner of one of the files.
    inside: HashMap<String, &'a str>,
}

/// A file that another owner has already claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clash {
    /// The other owner.
    pub with: String,
    /// The file that both declare, or the declared folder that contains the other's file.
    pub file: String,
}

impl<'a> ClaimedFiles<'a> {
    /// Claims the files for this owner.
    pub fn take(&mut self, files: &[String], by: &'a str) {
        for file in files.iter().filter_map(|file| plain(file)) {
            for folder in above(&file) {
                self.inside.entry(folder.to_owned()).or_insert(by);
            }
            self.files.entry(file).or_insert(by);
        }
    }

    /// The first of the files that is already claimed.
    pub fn clash(&self, files: &[String]) -> Option<Clash> {
        files.iter().filter_map(|file| plain(file)).find_map(|file| {
            let by = self.files.get(&file).or_else(|| self.inside.get(&file));
            let clash =
                |with: &str, file: &str| Clash { with: with.to_owned(), file: file.to_owned() };
            by.map(|by| clash(by, &file)).or_else(|| {
                above(&file).find_map(|folder| Some(clash(self.files.get(folder)?, folder)))
            })
        })
    }
}

/// Normalises a path for comparison; `None` if it names nothing.
fn plain(file: &str) -> Option<String> {
    let parts: Vec<&str> =
        file.trim().split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// The folders that contain a path, innermost first.
fn above(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(path.rsplit_once('/').map(|(folder, _)| folder), |folder| {
        folder.rsplit_once('/').map(|(folder, _)| folder)
    })
}

// Why a change to the task graph was refused, and what to do instead.

/// Why a change was refused. The graph is unchanged.
#[derive(Debug, Clone, PartialEq)]
pub enum TaskError {
    NoSuchTask {
        /// The id as given.
        id: String,
    },
    /// The task depends on one that is not done.
    Waits {
        id: String,
        /// The first unfinished dependency.
        on: String,
        /// Its status; `None` if it does not exist.
        status: Option<TaskStatus>,
    },
    /// Another worker has claimed the task.
    Held {
        id: String,
        owner: String,
        /// When the lease expires, if it does.
        until: Option<Timestamp>,
    },
    /// The task is not in progress, so its claim cannot be renewed.
    NotHeld { id: String },
    /// The task is done, failed, blocked or in a state that this version does not know.
    Closed { id: String, status: TaskStatus },
    /// No task can be worked on now.
    NothingReady(TaskSummary),
    /// The change would introduce this flaw.
    Flawed(GraphFlaw),
    /// A name, an owner or a reason is missing.
    Missing {
        /// What is missing, in words.
        what: &'static str,
    },
}

impl fmt::Display for TaskError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TaskError::NoSuchTask { id } => {
                write!(to, "there is no task `{id}`; `ralph task list --all` shows them")
            }
            TaskError::Waits { id, on, status: Some(status) } => {
                write!(to, "{id} waits for {on}, which is {status}; finish {on} first")
            }
            TaskError::Waits { id, on, status: None } => write!(
                to,
                "{id} waits for {on}, which does not exist; add it, or take it out of {id}'s deps"
            ),
            TaskError::Held { id, owner, until: Some(until) } => {
                write!(to, "{id} is claimed by {owner} until {until}; take another task")
            }
            TaskError::Held { id, owner, until: None } => write!(
                to,
                "{id} is claimed by {owner}; take another task, or `ralph task release {id}`"
            ),
            TaskError::NotHeld { id } => {
                write!(to, "{id} is not claimed; `ralph task claim {id}` first")
            }
            TaskError::Closed { id, status: TaskStatus::Done } => {
                write!(to, "{id} is already done")
            }
            TaskError::Closed { id, status } => {
                write!(to, "{id} is {status}; `ralph task release {id}` makes it pending again")
            }
            TaskError::NothingReady(summary) => nothing_ready(to, summary),
            TaskError::Flawed(flaw) => flaw.fmt(to),
            TaskError::Missing { what } => write!(to, "{what} is missing; say it in words"),
        }
    }
}

impl std::error::Error for TaskError {}

fn nothing_ready(to: &mut fmt::Formatter<'_>, summary: &TaskSummary) -> fmt::Result {
    if summary.total == 0 {
        return to.write_str("there are no tasks; `ralph task add NAME` adds one");
    }
    if summary.all_done() {
        return write!(to, "no open task: {}", summary.describe());
    }
    let counts = [
        (summary.in_progress, "in progress"),
        (summary.waiting, "waiting for others"),
        (summary.blocked, "blocked"),
        (summary.failed, "failed"),
    ];
    let mut parts = vec![summary.describe()];
    parts.extend(
        counts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{count} {word}")),
    );
    write!(to, "no ready task: {}", parts.join(", "))
}

#[cfg(test)]
pub(in crate::tasks) mod tests;

#[cfg(test)]
mod digest_tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn one(id: &str, status: TaskStatus, lease: Option<i64>) -> Task {
        Task { id: id.to_owned(), status, lease_expires_at: lease.map(at), ..Task::default() }
    }

    #[test]
    fn a_digest_holds_until_the_next_claim_expires() {
        let claimed = |id, lease| one(id, TaskStatus::InProgress, lease);
        let tasks: TaskList =
            vec![claimed("T-1", Some(50)), claimed("T-2", None), claimed("T-3", Some(30))].into();
        let current = |now| {
            let digest = digest(&tasks, at(now));
            let id = digest.current.as_ref().map(|task| task.id.clone());
            (id.unwrap(), digest.summary.in_progress, digest.until)
        };
        assert_eq!(current(10), ("T-1".to_owned(), 3, Some(at(30))));
        assert_eq!(current(30), ("T-1".to_owned(), 2, Some(at(50))));
        assert_eq!(current(50), ("T-2".to_owned(), 1, None));
        // A clock that was set back.
        assert_eq!(current(5).1, 3);
    }

    #[test]
    fn the_work_is_what_was_done_and_no_note_of_open_work() {
        let noted = |status, note: &str| {
            work_of(&[Task { result: Some(note.to_owned()), ..one("T-1", status, None) }])
        };
        assert_eq!(noted(TaskStatus::Pending, "a"), noted(TaskStatus::Pending, "b"));
        assert_ne!(noted(TaskStatus::Done, "a"), noted(TaskStatus::Done, "b"));
        assert_ne!(noted(TaskStatus::Done, "a"), noted(TaskStatus::Failed, "a"));
    }
}

#[cfg(test)]
mod overlap_tests {
    use super::*;

    #[track_caller]
    fn check(taken: &[&str], asked: &[&str], expected: Option<&str>) {
        let words =
            |files: &[&str]| files.iter().map(|file| (*file).to_owned()).collect::<Vec<_>>();
        let mut all = ClaimedFiles::default();
        all.take(&words(taken), "T-1");
        let clash = all.clash(&words(asked));
        assert_eq!(
            clash.as_ref().map(|clash| clash.file.as_str()),
            expected,
            "{taken:?} {asked:?}"
        );
        assert!(clash.is_none_or(|clash| clash.with == "T-1"));
    }

    #[test]
    fn a_file_clashes_with_itself_and_with_the_folders_around_it() {
        check(&["src/a.rs"], &["src/a.rs"], Some("src/a.rs"));
        check(&["./src//a.rs"], &[" src/a.rs"], Some("src/a.rs"));
        check(&["src/"], &["src/deep/a.rs"], Some("src"));
        check(&["src/deep/a.rs"], &["src"], Some("src"));
        check(&["src/a.rs"], &["src/b.rs", "src/a"], None);
        check(&["a"], &["ab", "b/a"], None);
        check(&[], &["a"], None);
        check(&["", "."], &["", "."], None);
    }
}
