//! The tasks of a loop, and the plan of another tool from which they were made.
//!
//! There may be thousands, and a stop seldom changes one. So a list keeps the text that it was read
//! from, which is written back until a task may have changed.

use super::words::words;
use super::{Extra, TaskStatus, is_default};
use jiff::Timestamp;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use std::ops::{Deref, DerefMut};
use std::sync::OnceLock;

/// A task of the work.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Task {
    /// `T-1` …
    pub id: String,
    /// The task in words.
    pub name: String,
    /// Ids of the tasks that must be done first.
    pub deps: Vec<String>,
    /// The status of the task.
    #[serde(deserialize_with = "any_word")]
    pub status: TaskStatus,
    /// How to tell that the task is done.
    pub completion_condition: String,
    /// Files that the task will change.
    pub files: Vec<String>,
    /// Commands that must succeed before the task counts as done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verify: Vec<String>,
    /// Who has claimed the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// When the claim expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_expires_at: Option<Timestamp>,
    /// How many times the task was claimed.
    #[serde(skip_serializing_if = "is_default")]
    pub attempts: u32,
    /// The result, or the reason for a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Other tools write a status in their own words.
fn any_word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TaskStatus, D::Error> {
    String::deserialize(deserializer).map(TaskStatus::read)
}

/// How many tasks are in each state. A task with an expired claim counts as ready or waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct TaskSummary {
    pub total: usize,
    pub done: usize,
    /// Free, and all dependencies are done.
    pub ready: usize,
    /// Claimed, and the lease has not expired.
    pub in_progress: usize,
    pub failed: usize,
    /// Waiting for something outside the graph.
    pub blocked: usize,
    /// Free, but a dependency is not done.
    pub waiting: usize,
}

impl TaskSummary {
    /// `3 of 7 tasks done`; empty for an empty graph.
    pub fn describe(&self) -> String {
        match self.total {
            0 => String::new(),
            1 => format!("{} of 1 task done", self.done),
            total => format!("{} of {total} tasks done", self.done),
        }
    }

    /// True if there are tasks and all are done.
    pub fn all_done(&self) -> bool {
        self.total > 0 && self.done == self.total
    }
}

/// What a stop needs to know of the tasks.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskDigest {
    /// When it was made. An earlier clock may take an expired claim for a live one.
    pub from: Timestamp,
    /// When the next claim expires.
    pub until: Option<Timestamp>,
    pub summary: TaskSummary,
    /// The task to work on.
    pub current: Option<Task>,
    /// Hash of the tasks' states and results; a change of it is progress.
    pub work: String,
}

impl TaskDigest {
    /// True if the tasks stand at this moment as the digest says.
    pub fn holds_at(&self, now: Timestamp) -> bool {
        self.from <= now && self.until.is_none_or(|until| now < until)
    }
}

/// The tasks of a loop.
#[derive(Debug, Clone, Default)]
pub struct TaskList {
    tasks: Vec<Task>,
    /// Absent if a task may have changed since it was read.
    text: Option<Box<RawValue>>,
    digest: OnceLock<TaskDigest>,
}

impl TaskList {
    /// What is known of the tasks, made by `make` if nothing is.
    pub fn digest(&self, make: impl FnOnce(&[Task]) -> TaskDigest) -> &TaskDigest {
        self.digest.get_or_init(|| make(&self.tasks))
    }
}

impl Deref for TaskList {
    type Target = Vec<Task>;

    fn deref(&self) -> &Vec<Task> {
        &self.tasks
    }
}

impl DerefMut for TaskList {
    fn deref_mut(&mut self) -> &mut Vec<Task> {
        (self.text, self.digest) = (None, OnceLock::new());
        &mut self.tasks
    }
}

impl From<Vec<Task>> for TaskList {
    fn from(tasks: Vec<Task>) -> TaskList {
        TaskList { tasks, ..TaskList::default() }
    }
}

impl FromIterator<Task> for TaskList {
    fn from_iter<I: IntoIterator<Item = Task>>(tasks: I) -> TaskList {
        Vec::from_iter(tasks).into()
    }
}

impl PartialEq for TaskList {
    fn eq(&self, other: &TaskList) -> bool {
        self.tasks == other.tasks
    }
}

impl<'a> IntoIterator for &'a TaskList {
    type Item = &'a Task;
    type IntoIter = std::slice::Iter<'a, Task>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a> IntoIterator for &'a mut TaskList {
    type Item = &'a mut Task;
    type IntoIter = std::slice::IterMut<'a, Task>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl Serialize for TaskList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.text {
            Some(text) => text.serialize(serializer),
            None => self.tasks.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for TaskList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let tasks = serde_json::from_str(text.get()).map_err(D::Error::custom)?;
        Ok(TaskList { tasks, text: Some(text), digest: OnceLock::new() })
    }
}

words! {
    /// The form of a plan.
    #[derive(Default)]
    PlanFormat {
        /// Markdown with checkboxes, and a section of validation commands.
        #[default]
        Markdown = "markdown",
        /// `fix_plan.md` in states of older versions: Markdown with checkboxes.
        FixPlan = "fix_plan",
        /// `prd.json`: stories that pass or do not.
        Prd = "prd",
        /// A plan of consensus planning: Markdown with a block of JSON.
        Ralplan = "ralplan",
    }
}

/// The file in which Ralph ticks the tasks that are done.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PlanFile {
    /// Path of the file, relative to the project.
    pub path: String,
    /// The form of the plan.
    pub format: PlanFormat,
    /// The branch that the plan names for its work; empty if it names none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub branch: String,
    /// The tasks that have something to tick.
    pub tasks: Vec<PlannedTask>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A task as the plan's file names it. It is found by its words, because lines move when the file is
/// edited.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PlannedTask {
    /// Id of the task in `task_graph`.
    pub task: String,
    /// The heading above the task; empty if the task is a heading itself, or a story.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub section: String,
    /// The text of the task's heading, its box, or its story.
    pub title: String,
    /// The texts of the boxes that belong to the task.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub boxes: Vec<String>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

#[cfg(test)]
mod tasks_tests {
    use super::*;
    use crate::state::LoopState;

    #[test]
    fn a_digest_holds_from_its_moment_until_a_claim_expires() {
        let at = |second| Timestamp::from_second(second).unwrap();
        for (until, now, expected) in [
            (None, 9, false),
            (None, 10, true),
            (None, 99, true),
            (Some(20), 9, false),
            (Some(20), 19, true),
            (Some(20), 20, false),
        ] {
            let digest = TaskDigest {
                from: at(10),
                until: until.map(at),
                summary: TaskSummary::default(),
                current: None,
                work: String::new(),
            };
            assert_eq!(digest.holds_at(at(now)), expected, "{until:?} at {now}");
        }
    }

    fn state(n_tasks: usize) -> LoopState {
        let task = |n| Task { id: format!("T-{n}"), name: "n".repeat(300), ..Task::default() };
        let task_graph = (0..n_tasks).map(task).collect();
        LoopState { loop_id: "L".to_owned(), task_graph, ..LoopState::default() }
    }

    fn written(state: &LoopState) -> String {
        serde_json::to_string_pretty(state).unwrap()
    }

    fn read(text: &str) -> LoopState {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_state_is_written_as_it_was_read_until_a_task_is_borrowed_to_change() {
        for n_tasks in [0, 1, 3, 200] {
            let mut state = state(n_tasks);
            let mut again = read(&written(&state));
            assert_eq!(again, state);
            for one in [&mut state, &mut again] {
                one.iteration = 7;
            }
            assert_eq!(written(&again), written(&state), "{n_tasks}");
            for task in &mut again.task_graph {
                task.name = "m".to_owned();
            }
            let changed = read(&written(&again));
            assert_eq!(changed, again);
            assert_eq!(changed != state, n_tasks > 0, "{n_tasks}");
            let renamed = std::iter::zip(&changed.task_graph, 0..);
            assert_eq!(renamed.filter(|(task, _)| task.name == "m").count(), n_tasks);
        }
    }

    #[test]
    fn members_of_tasks_that_no_version_knows_are_kept_as_they_were() {
        let tasks = "[\n {\"id\":  \"T-1\", \"x\": 1.50}\n  ]";
        let text = format!("{{\n  \"loop_id\": \"L\",\n  \"task_graph\": {tasks}\n}}");
        assert!(written(&read(&text)).contains(&format!("{tasks},")), "{}", written(&read(&text)));
    }

    #[test]
    fn a_list_of_anything_else_is_refused() {
        for wrong in ["[{\n  ]", "[7]", "7", "{}"] {
            let text = format!("{{\"task_graph\": {wrong}}}");
            assert!(serde_json::from_str::<LoopState>(&text).is_err(), "{wrong}");
        }
    }
}
