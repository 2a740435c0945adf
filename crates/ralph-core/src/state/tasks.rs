//! The tasks of a loop, and the plan of another tool from which they were made.
//!
//! There may be thousands, and a stop seldom changes one. So a list keeps the text that it was read
//! from, which is written back until a task may have changed. What a stop needs to know of the tasks
//! is a [`TaskDigest`]: for a text whose digest is known, no task is read.

use super::words::words;
use super::{Extra, LoopState, TaskStatus, is_zero};
use jiff::Timestamp;
use memchr::memmem;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ops::{Deref, DerefMut, Range};
use std::sync::{Arc, OnceLock};
use xxhash_rust::xxh3::xxh3_128;

/// A task of the work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    #[serde(skip_serializing_if = "is_zero")]
    pub attempts: u32,
    /// The result, or the reason for a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Default for Task {
    fn default() -> Self {
        Task {
            id: String::new(),
            name: String::new(),
            deps: Vec::new(),
            status: TaskStatus::Pending,
            completion_condition: String::new(),
            files: Vec::new(),
            verify: Vec::new(),
            owner: None,
            lease_expires_at: None,
            attempts: 0,
            result: None,
            extra: Extra::new(),
        }
    }
}

/// Other tools write a status in their own words.
fn any_word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TaskStatus, D::Error> {
    String::deserialize(deserializer).map(TaskStatus::read)
}

/// How many tasks are in each state. A task with an expired claim counts as ready or waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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

/// A digest, and the text that it was made of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KnownTasks {
    /// Another version may have other rules.
    version: String,
    length: usize,
    hash: String,
    digest: TaskDigest,
}

/// The tasks of a loop. They are read when one of them is first looked at.
#[derive(Debug, Clone, Default)]
pub struct TaskList {
    tasks: OnceLock<Vec<Task>>,
    /// Absent if a task may have changed since it was read.
    text: Option<TaskText>,
    digest: OnceLock<TaskDigest>,
    /// True if the digest was read.
    is_known: bool,
}

/// A part of a document: JSON that is a list of tasks.
#[derive(Debug, Clone)]
struct TaskText {
    document: Arc<Vec<u8>>,
    place: Range<usize>,
}

impl TaskText {
    fn bytes(&self) -> Option<&[u8]> {
        self.document.get(self.place.clone())
    }

    fn hash(&self) -> Option<String> {
        Some(format!("{:032x}", xxh3_128(self.bytes()?)))
    }
}

impl KnownTasks {
    fn is_of(&self, text: &TaskText, now: Timestamp) -> bool {
        self.version == env!("CARGO_PKG_VERSION")
            && self.digest.holds_at(now)
            && text.hash().is_some_and(|hash| hash == self.hash)
    }
}

impl TaskList {
    fn tasks(&self) -> &Vec<Task> {
        self.tasks.get_or_init(|| {
            let text = self.text.as_ref().and_then(TaskText::bytes).unwrap_or(b"[]");
            serde_json::from_slice(text).expect("only a text that holds tasks is kept")
        })
    }

    /// True if there are no tasks. Does not read them.
    pub fn is_empty(&self) -> bool {
        self.text.is_none() && self.tasks().is_empty()
    }

    /// The part of the document that they were read from and are written as; empty if they are not.
    pub fn place(&self) -> Range<usize> {
        self.text.as_ref().map(|text| text.place.clone()).unwrap_or_default()
    }

    /// What is known of the tasks, made by `make` if nothing is.
    pub fn digest(&self, make: impl FnOnce(&[Task]) -> TaskDigest) -> &TaskDigest {
        self.digest.get_or_init(|| make(self.tasks()))
    }

    /// What was found out of a long list, so that readers of the same text need not find it out
    /// again. `None` if it was known.
    pub fn found_out(&self) -> Option<KnownTasks> {
        let text = self.text.as_ref().filter(|text| !self.is_known && text.place.len() >= LONG)?;
        let (digest, version) = (self.digest.get()?.clone(), env!("CARGO_PKG_VERSION").to_owned());
        Some(KnownTasks { version, length: text.place.len(), hash: text.hash()?, digest })
    }
}

/// How a document of ours begins and ends its tasks. No line ends inside a string, and deeper members
/// are indented further, so only a document of another tool can have these bytes elsewhere. Such a
/// document is read as a whole.
const BEGIN: &str = "\n  \"task_graph\": [";
const END: &str = "\n  ]";

/// From this many bytes on, reading tasks takes longer than reading what is known of them.
const LONG: usize = 32 << 10;

/// Stands for the tasks while the rest is read.
const AWAY: &str = "read by themselves";

/// Reads a document. Does not read the tasks if what is known of them holds at `now`.
pub(super) fn of_text(
    document: &Arc<Vec<u8>>,
    known: impl FnOnce() -> Option<KnownTasks>,
    now: Timestamp,
) -> serde_json::Result<LoopState> {
    match in_two_parts(document, known, now) {
        Some(state) => Ok(state),
        None => serde_json::from_slice(document),
    }
}

/// `None` if the document is no state, or not written as ours are.
fn in_two_parts(
    document: &Arc<Vec<u8>>,
    known: impl FnOnce() -> Option<KnownTasks>,
    now: Timestamp,
) -> Option<LoopState> {
    let begin = memmem::find(document, BEGIN.as_bytes())? + BEGIN.len() - 1;
    if document.get(begin + 1) == Some(&b']') {
        return None;
    }
    let known = (document.len() - begin >= LONG).then(known).flatten();
    let text = |length: usize| TaskText {
        document: Arc::clone(document),
        place: begin..begin.saturating_add(length),
    };
    let list = match known.filter(|known| known.is_of(&text(known.length), now)) {
        Some(known) => TaskList {
            text: Some(text(known.length)),
            digest: known.digest.into(),
            is_known: true,
            ..TaskList::default()
        },
        None => {
            let length = memmem::find(&document[begin..], END.as_bytes())? + END.len();
            let text = text(length);
            // Checked at once: a reader of bytes checks each string by itself.
            let tasks = std::str::from_utf8(text.bytes()?).ok()?;
            let tasks: Vec<Task> = serde_json::from_str(tasks).ok()?;
            TaskList { tasks: tasks.into(), text: Some(text), ..TaskList::default() }
        }
    };
    let after = &document[list.text.as_ref()?.place.end..];
    let away = Task { id: AWAY.to_owned(), ..Task::default() };
    let rest = [&document[..begin], br#"[{"id":""#, AWAY.as_bytes(), br#""}]"#, after].concat();
    let mut state: LoopState = serde_json::from_slice(&rest).ok()?;
    let is_cut_out = *state.task_graph == [away];
    state.task_graph = list;
    is_cut_out.then_some(state)
}

impl LoopState {
    /// Renders the document. Tasks that have not changed keep the text they were read from.
    ///
    /// # Errors
    /// If the state has no JSON.
    pub fn to_text(&mut self) -> serde_json::Result<StateText> {
        let Some(text) = self.task_graph.text.clone() else {
            return Ok(StateText::whole(pretty(self)?));
        };
        let tasks = std::mem::take(&mut self.task_graph);
        let rest = pretty(self);
        self.task_graph = tasks;
        let mut before = rest?;
        let Some(at) = memmem::find(&before, BEGIN.as_bytes()) else {
            return Ok(StateText::whole(pretty(self)?));
        };
        let mut after = before.split_off(at + BEGIN.len() - 1);
        after.drain(.."[]".len());
        Ok(StateText { before, tasks: Some(text), after })
    }
}

/// A rendered document.
#[derive(Debug)]
pub struct StateText {
    /// All that precedes the tasks.
    pub before: Vec<u8>,
    tasks: Option<TaskText>,
    after: Vec<u8>,
}

impl StateText {
    fn whole(before: Vec<u8>) -> StateText {
        StateText { before, tasks: None, after: Vec::new() }
    }

    /// The parts of the document, which follow each other.
    pub fn parts(&self) -> [&[u8]; 3] {
        let tasks = self.tasks.as_ref().and_then(TaskText::bytes).unwrap_or_default();
        [&self.before, tasks, &self.after]
    }
}

fn pretty(state: &LoopState) -> serde_json::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec_pretty(state)?;
    bytes.push(b'\n');
    Ok(bytes)
}

impl Deref for TaskList {
    type Target = Vec<Task>;

    fn deref(&self) -> &Vec<Task> {
        self.tasks()
    }
}

impl DerefMut for TaskList {
    fn deref_mut(&mut self) -> &mut Vec<Task> {
        self.tasks();
        (self.text, self.digest, self.is_known) = (None, OnceLock::new(), false);
        self.tasks.get_mut().expect("they have just been read")
    }
}

impl From<Vec<Task>> for TaskList {
    fn from(tasks: Vec<Task>) -> TaskList {
        TaskList { tasks: tasks.into(), ..TaskList::default() }
    }
}

impl FromIterator<Task> for TaskList {
    fn from_iter<I: IntoIterator<Item = Task>>(tasks: I) -> TaskList {
        Vec::from_iter(tasks).into()
    }
}

impl PartialEq for TaskList {
    fn eq(&self, other: &TaskList) -> bool {
        self.tasks() == other.tasks()
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
        self.tasks().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for TaskList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(TaskList::from)
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
    use crate::tasks::graph;
    use serde_json::json;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn state(n_tasks: usize) -> LoopState {
        let task = |n| Task { id: format!("T-{n}"), name: "n".repeat(300), ..Task::default() };
        LoopState {
            prompt: "\n  \"task_graph\": [\n  ]".to_owned(),
            loop_id: "L".to_owned(),
            task_graph: (0..n_tasks).map(task).collect(),
            ..LoopState::default()
        }
    }

    fn read(text: &[u8], known: Option<&KnownTasks>) -> LoopState {
        LoopState::of_text(&Arc::new(text.to_vec()), || known.cloned(), NOW).unwrap()
    }

    fn was_read(list: &TaskList) -> bool {
        list.tasks.get().is_some()
    }

    #[test]
    fn a_state_is_written_as_it_was_read_until_a_task_is_borrowed_to_change() {
        for n_tasks in [0, 1, 3, 200] {
            let mut state = state(n_tasks);
            let text = state.to_text().unwrap().parts().concat();
            assert_eq!(serde_json::from_slice::<LoopState>(&text).unwrap(), state);
            let mut again = read(&text, None);
            assert_eq!(again, state);
            again.iteration = 7;
            let written = again.to_text().unwrap().parts().concat();
            state.iteration = 7;
            assert_eq!(written, state.to_text().unwrap().parts().concat(), "{n_tasks}");
            for task in &mut again.task_graph {
                task.name = "m".to_owned();
            }
            let written = again.to_text().unwrap().parts().concat();
            assert_eq!(read(&written, None), again);
            assert!(read(&written, None).task_graph.iter().all(|task| task.name == "m"));
        }
    }

    #[test]
    fn members_of_tasks_that_no_version_knows_are_kept_as_they_were() {
        let text = "{\n  \"loop_id\": \"L\",\n  \"task_graph\": [\n {\"id\":  \"T-1\", \"x\": 1.50}\n  ]\n}";
        let mut state = read(text.as_bytes(), None);
        let written = String::from_utf8(state.to_text().unwrap().parts().concat()).unwrap();
        assert!(written.contains("[\n {\"id\":  \"T-1\", \"x\": 1.50}\n  ],"), "{written}");
    }

    #[test]
    fn tasks_that_are_known_are_not_read() {
        let mut state = state(200);
        let text = state.to_text().unwrap().parts().concat();
        let first = read(&text, None);
        assert_eq!(first.task_graph.found_out(), None, "nothing was asked");
        let digest = graph::digest(&first.task_graph, NOW).into_owned();
        let known = first.task_graph.found_out().unwrap();
        let mut second = read(&text, Some(&known));
        assert_eq!(*graph::digest(&second.task_graph, NOW), digest);
        assert_eq!(second.to_text().unwrap().parts().concat(), text);
        assert!(!second.task_graph.is_empty() && !was_read(&second.task_graph));
        assert_eq!(second.task_graph.found_out(), None, "it is known");
        assert_eq!(second, state, "they are read when they are looked at");
        state.task_graph[7].name.push('x');
        let changed = state.to_text().unwrap().parts().concat();
        assert_eq!(read(&changed, Some(&known)), state);
        second.task_graph[7].name.push('x');
        assert_eq!(second.to_text().unwrap().parts().concat(), changed);
        let other = KnownTasks { version: "0.0.0".to_owned(), ..known.clone() };
        assert!(was_read(&read(&text, Some(&other)).task_graph));
        let longer = KnownTasks { length: usize::MAX, ..known };
        assert_eq!(read(&text, Some(&longer)).task_graph.len(), 200);
    }

    #[test]
    fn what_is_known_of_claims_that_expire_is_found_out_again() {
        let mut state = state(200);
        state.task_graph[3].status = crate::state::TaskStatus::InProgress;
        state.task_graph[3].lease_expires_at = Some(Timestamp::from_second(60).unwrap());
        let text = Arc::new(state.to_text().unwrap().parts().concat());
        let known = {
            let first = read(&text, None);
            graph::digest(&first.task_graph, NOW);
            first.task_graph.found_out().unwrap()
        };
        for (second, is_known) in [(0, true), (59, true), (60, false), (-1, false)] {
            let now = Timestamp::from_second(second).unwrap();
            let state = LoopState::of_text(&text, || Some(known.clone()), now).unwrap();
            assert_eq!(!was_read(&state.task_graph), is_known, "{second}");
        }
    }

    #[test]
    fn strange_documents_read_as_by_a_reader_that_knows_no_parts() {
        let tasks = "[\n {\"id\": \"T-1\", \"deps\": [\n  ]}\n  ]";
        let away = format!("[{{\"id\": \"{AWAY}\"}}]");
        for text in [
            format!("{{\n  \"task_graph\": {tasks}\n}}"),
            format!("{{\"settings\": {{\n  \"task_graph\": {tasks}}}, \"iteration\": 4}}"),
            format!("{{\"settings\": {{\n  \"task_graph\": {tasks}}},\n  \"task_graph\": {away}}}"),
            "{\n  \"task_graph\": [], \"errors\": [\n  ]}".to_owned(),
            json!({"task_graph": [{"id": "T-1"}]}).to_string(),
        ] {
            let whole: LoopState = serde_json::from_str(&text).unwrap();
            assert_eq!(read(text.as_bytes(), None), whole, "{text}");
        }
        for broken in [
            "{\n  \"task_graph\": [{\n  ]",
            "{\n  \"task_graph\": [\n  7\n  ]\n}",
            "[",
            &format!("{{\n  \"task_graph\": {away},\n  \"task_graph\": {tasks}}}"),
            &format!("{{\n  \"task_graph\": {tasks},\n  \"task_graph\": {away}}}"),
        ] {
            let broken = Arc::new(broken.as_bytes().to_vec());
            assert!(LoopState::of_text(&broken, || None, NOW).is_err());
        }
    }
}
