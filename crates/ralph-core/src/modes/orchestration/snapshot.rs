//! An orchestration's folder as it was found: file names, texts, and what they mean together.
//!
//! [`Snapshot`] is the raw data. [`Picture`] is what is read from it, and is built anew after each change.

use super::feedback::{self, FeedbackBatch};
use super::files::{self, OrchestrationFile};
use super::finding::OrchestrationFinding;
use super::guardrails::Guardrails;
use super::id::OrchestrationId;
use super::invocation::Running;
use super::metadata::{Counts, IterationMetadata, OrchestrationMetadata};
use super::progress::{Progress, TaskMark};
use super::record::Record;
use super::recovery::Tries;
use super::report::{self, TaskReport};
use super::signal::UnheardSignal;
use super::state::{MetadataStatus, State};
use super::task::TaskFile;
use super::validate;
use std::collections::BTreeMap;

/// What is known of the tasks before a planner has laid out the orchestration.
static NO_PROGRESS: Progress = Progress { sections: Vec::new(), iterations: Vec::new() };

/// An orchestration's folder as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub id: OrchestrationId,
    /// Every file by its path relative to the folder, with its text if it was read.
    pub files: BTreeMap<String, Option<String>>,
    /// The status of the orchestration and its tasks, from which some of the files are rendered.
    pub record: Record,
    /// What could not be read of these files. If anything is kept, they are rendered anew.
    pub damage: Vec<OrchestrationFinding>,
    /// The text of `<SESSION_ID>.instructions.md`, if the file exists.
    pub instructions: Option<String>,
    pub request: String,
    /// The calls in progress; `None` if unknown.
    pub running: Option<Vec<Running>>,
    pub tries: Tries,
    /// The user's signals that have not been heard, oldest first.
    pub signals: Vec<UnheardSignal>,
}

impl Snapshot {
    /// An orchestration without files.
    pub fn new(id: OrchestrationId, request: &str) -> Snapshot {
        Snapshot {
            id,
            files: BTreeMap::new(),
            record: Record::default(),
            damage: Vec::new(),
            instructions: None,
            request: request.to_owned(),
            running: None,
            tries: Tries::default(),
            signals: Vec::new(),
        }
    }

    /// The text of a file; empty if it was not read.
    pub fn text(&self, place: OrchestrationFile<'_>) -> Option<&str> {
        self.files.get(&place.to_string()).map(|text| text.as_deref().unwrap_or_default())
    }

    /// The orchestration's status; `None` if the metadata do not contain it.
    pub fn metadata_status(&self) -> Option<MetadataStatus> {
        self.record.metadata.as_ref()?.standing
    }

    /// The status of each task; empty if it is not known.
    pub fn progress(&self) -> &Progress {
        self.record.progress.as_ref().unwrap_or(&NO_PROGRESS)
    }

    pub fn counts(&self) -> Counts {
        Counts::from_progress(self.progress())
    }

    pub fn has(&self, place: OrchestrationFile<'_>) -> bool {
        self.files.contains_key(&place.to_string())
    }
}

/// What the files of an orchestration say, and what is wrong with them.
#[derive(Debug)]
pub struct Picture<'a> {
    pub seen: &'a Snapshot,
    /// `.ralph-sessions/<SESSION_ID>/`.
    pub path: String,
    pub rails: Guardrails,
    pub progress: &'a Progress,
    /// The metadata; `None` if they are missing.
    pub metadata: Option<&'a OrchestrationMetadata>,
    /// The tasks that have a file, in the order of their ids.
    pub tasks: Vec<TaskFile>,
    pub reports: BTreeMap<String, Vec<TaskReport>>,
    /// For each iteration, the feedback folders with at least one entry.
    pub feedbacks: BTreeMap<u32, Vec<String>>,
    /// For each review, whether its iteration is complete.
    pub reviews: BTreeMap<u32, bool>,
    /// The latest iteration that has a folder; 0 if there is none.
    pub latest_iteration: u32,
    /// The current iteration, from the metadata or else from the other files.
    pub iteration: u32,
    /// The state, from the metadata or else from the other files.
    pub state: State,
    /// The problems found: worst first, then by file and line.
    pub findings: Vec<OrchestrationFinding>,
}

impl<'a> Picture<'a> {
    pub fn from_snapshot(seen: &'a Snapshot) -> Picture<'a> {
        let (rails, mut findings) =
            Guardrails::parse(seen.instructions.as_deref().unwrap_or_default());
        findings.extend(seen.damage.iter().cloned());
        let mut picture = Picture {
            seen,
            path: files::folder(&seen.id),
            rails,
            progress: seen.progress(),
            metadata: seen.record.metadata.as_ref(),
            tasks: Vec::new(),
            reports: BTreeMap::new(),
            feedbacks: BTreeMap::new(),
            reviews: BTreeMap::new(),
            latest_iteration: 0,
            iteration: 1,
            state: State::Initializing,
            findings,
        };
        for (path, text) in &seen.files {
            if let Some(place) = OrchestrationFile::from_path(path) {
                picture.take(place, text.as_deref());
            }
        }
        picture.tasks.sort_by_key(|task| in_order(&task.id));
        let noted = picture.metadata.and_then(|metadata| metadata.iteration);
        let inferred = || picture.progress.latest_iteration().max(picture.latest_iteration).max(1);
        picture.iteration = noted.unwrap_or_else(inferred);
        let noted = picture.metadata.and_then(|metadata| metadata.state);
        let noted = noted.filter(|state| *state != State::RepairState);
        picture.state = noted.unwrap_or_else(|| picture.inferred_state());
        picture.findings = validate::findings(&picture);
        picture
    }

    /// The state that the files show.
    fn inferred_state(&self) -> State {
        let (progress, iteration) = (self.progress, self.iteration);
        let is_open = |id: &str| {
            progress.planning(iteration).any(|entry| entry.id == id && !entry.status.is_settled())
        };
        let is_planned = progress.planning(iteration).all(|entry| entry.status.is_settled());
        let has = |status: TaskMark| progress.tasks().iter().any(|entry| entry.status == status);
        match () {
            // Without metadata and reports, the setup was interrupted; otherwise a file was lost.
            () if self.seen.record.progress.is_none() => {
                match self.metadata.is_none() && self.reports.is_empty() {
                    true => State::Initializing,
                    false => State::RepairState,
                }
            }
            () if iteration == 1 && is_open("plan-init") => State::Initializing,
            () if !is_planned && iteration == 1 => State::Planning,
            () if !is_planned => State::Replanning,
            () if self.reviews.contains_key(&iteration) => State::SessionReview,
            () if has(TaskMark::InProgress) => State::ExecutingBatch,
            () if has(TaskMark::ReviewPending) => State::ReviewingBatch,
            () => State::Batching,
        }
    }

    fn take(&mut self, place: OrchestrationFile<'_>, text: Option<&str>) {
        let content = text.unwrap_or_default();
        match place {
            OrchestrationFile::Task(id) => {
                let (task, found) = TaskFile::parse(id, content);
                self.tasks.push(task);
                self.findings.extend(found);
            }
            OrchestrationFile::Report { task, attempt } => {
                let report = TaskReport::parse(attempt, text);
                self.reports.entry(task.to_owned()).or_default().push(report);
            }
            OrchestrationFile::IterationMetadata(iteration) => {
                self.findings.extend(IterationMetadata::parse(content, iteration).1);
            }
            OrchestrationFile::Review(iteration) => {
                self.reviews.insert(iteration, report::is_complete(content));
            }
            OrchestrationFile::Feedback { iteration, stamp, file: feedback::FILE } => {
                let (feedback, found) = FeedbackBatch::parse(iteration, stamp, content);
                self.findings.extend(found);
                if feedback.says_something() {
                    self.feedbacks.entry(iteration).or_default().push(stamp.to_owned());
                }
            }
            _ => {}
        }
        if let OrchestrationFile::IterationMetadata(iteration)
        | OrchestrationFile::Review(iteration) = place
        {
            self.latest_iteration = self.latest_iteration.max(iteration);
        }
    }

    pub fn task(&self, id: &str) -> Option<&TaskFile> {
        self.tasks.iter().find(|task| task.id == id)
    }

    pub fn reports_of(&self, id: &str) -> &[TaskReport] {
        self.reports.get(id).map_or(&[], Vec::as_slice)
    }
}

/// A sort key that puts `task-2` before `task-10`.
fn in_order(id: &str) -> (String, u64, String) {
    let start = id.find(|letter: char| letter.is_ascii_digit()).unwrap_or(id.len());
    let (word, rest) = id.split_at(start);
    let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    (word.to_owned(), rest[..end].parse().unwrap_or_default(), id.to_owned())
}
