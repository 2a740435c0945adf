//! An orchestration's folder as it was found: file names, texts, and what they mean together.
//!
//! [`Snapshot`] is the raw data. [`Picture`] is the router's view of it; it borrows nothing and is
//! rebuilt after each change.

use super::feedback::{self, FeedbackBatch};
use super::files::{self, OrchestrationFile};
use super::finding::OrchestrationFinding;
use super::guardrails::Guardrails;
use super::id::OrchestrationId;
use super::invocation::Running;
use super::metadata::{IterationMetadata, OrchestrationMetadata};
use super::progress::Progress;
use super::record::Record;
use super::recovery::Tries;
use super::report::{self, TaskReport};
use super::signal::UnheardSignal;
use super::state::MetadataStatus;
use super::task::TaskFile;
use std::collections::BTreeMap;

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

    pub fn has(&self, place: OrchestrationFile<'_>) -> bool {
        self.files.contains_key(&place.to_string())
    }
}

/// The router's view of an orchestration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// `.ralph-sessions/<SESSION_ID>/`.
    pub path: String,
    pub rails: Guardrails,
    /// The progress document; `None` if it is missing.
    pub progress: Option<Progress>,
    /// The metadata; `None` if they are missing.
    pub metadata: Option<OrchestrationMetadata>,
    /// The tasks that have a file, in the order of their ids.
    pub tasks: Vec<TaskFile>,
    pub reports: BTreeMap<String, Vec<TaskReport>>,
    /// For each iteration, the feedback folders with at least one entry.
    pub feedbacks: BTreeMap<u32, Vec<String>>,
    /// For each review, whether its iteration is complete.
    pub reviews: BTreeMap<u32, bool>,
    /// The latest iteration that has a folder; 0 if there is none.
    pub latest_iteration: u32,
    /// The problems found, worst first.
    pub findings: Vec<OrchestrationFinding>,
}

impl Picture {
    pub fn from_snapshot(seen: &Snapshot) -> Picture {
        let mut findings = Vec::new();
        let (rails, found) = Guardrails::parse(seen.instructions.as_deref().unwrap_or_default());
        findings.extend(found);
        findings.extend(seen.damage.iter().cloned());
        let mut picture = Picture {
            path: files::folder(&seen.id),
            rails,
            progress: seen.record.progress.clone(),
            metadata: seen.record.metadata.clone(),
            tasks: Vec::new(),
            reports: BTreeMap::new(),
            feedbacks: BTreeMap::new(),
            reviews: BTreeMap::new(),
            latest_iteration: 0,
            findings,
        };
        for (path, text) in &seen.files {
            if let Some(place) = OrchestrationFile::from_path(path) {
                picture.take(place, text.as_deref());
            }
        }
        picture.tasks.sort_by_key(|task| in_order(&task.id));
        picture
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
