//! The folder of a session as it was found: names and texts, and what they mean together.
//!
//! [`Snapshot`] is what somebody has read. [`Picture`] is what the router sees in it; it borrows
//! nothing and is made anew after each change.

use super::feedback::{self, FeedbackBatch};
use super::files::{self, SessionFile};
use super::finding::SessionFinding;
use super::guardrails::Guardrails;
use super::id::SessionId;
use super::invocation::Running;
use super::metadata::{IterationMetadata, SessionMetadata};
use super::progress::Progress;
use super::recovery::Tries;
use super::report::{self, TaskReport};
use super::signal::UnheardSignal;
use super::state::MetadataStatus;
use super::task::TaskFile;
use std::collections::BTreeMap;

/// A session as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Its name.
    pub id: SessionId,
    /// Every file of its folder under its path from there, with its text where that was read.
    pub files: BTreeMap<String, Option<String>>,
    /// The text of `<SESSION_ID>.instructions.md`, if there is one.
    pub instructions: Option<String>,
    /// What the person asked for.
    pub request: String,
    /// The calls that are under way; none where nobody knows.
    pub running: Option<Vec<Running>>,
    /// How calls went so far.
    pub tries: Tries,
    /// What the person said and nobody has heard, oldest first.
    pub signals: Vec<UnheardSignal>,
}

impl Snapshot {
    /// A session of which there is nothing yet.
    pub fn new(id: SessionId, request: &str) -> Snapshot {
        Snapshot {
            id,
            files: BTreeMap::new(),
            instructions: None,
            request: request.to_owned(),
            running: None,
            tries: Tries::default(),
            signals: Vec::new(),
        }
    }

    /// The text of a file; empty if it was not read.
    pub fn text(&self, place: SessionFile<'_>) -> Option<&str> {
        self.files.get(&place.to_string()).map(|text| text.as_deref().unwrap_or_default())
    }

    /// How the session stands; none where its metadata do not say.
    pub fn standing(&self) -> Option<MetadataStatus> {
        let (metadata, _) = SessionMetadata::parse(self.text(SessionFile::Metadata)?, &self.id);
        metadata.standing
    }

    /// True if there is such a file.
    pub fn has(&self, place: SessionFile<'_>) -> bool {
        self.files.contains_key(&place.to_string())
    }
}

/// What the router sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// `.ralph-sessions/<SESSION_ID>/`.
    pub path: String,
    /// The bounds.
    pub rails: Guardrails,
    /// The progress document; none if there is none.
    pub progress: Option<Progress>,
    /// The metadata; none if there are none.
    pub metadata: Option<SessionMetadata>,
    /// The tasks that have a file, in the order of their ids.
    pub tasks: Vec<TaskFile>,
    /// The reports of each task.
    pub reports: BTreeMap<String, Vec<TaskReport>>,
    /// The folders of feedback that ask for something, for each iteration.
    pub feedbacks: BTreeMap<u32, Vec<String>>,
    /// The reviews: true for an iteration that is complete.
    pub reviews: BTreeMap<u32, bool>,
    /// The latest iteration that has a folder; 0 if there is none.
    pub latest_iteration: u32,
    /// What is wrong, worst first.
    pub findings: Vec<SessionFinding>,
}

impl Picture {
    /// Reads a snapshot.
    pub fn of(seen: &Snapshot) -> Picture {
        let mut findings = Vec::new();
        let (rails, found) = Guardrails::parse(seen.instructions.as_deref().unwrap_or_default());
        findings.extend(found);
        let metadata = seen.text(SessionFile::Metadata).map(|text| {
            let (metadata, found) = SessionMetadata::parse(text, &seen.id);
            findings.extend(found);
            metadata
        });
        let mut picture = Picture {
            path: files::folder(&seen.id),
            rails,
            progress: seen.text(SessionFile::Progress).map(Progress::parse),
            metadata,
            tasks: Vec::new(),
            reports: BTreeMap::new(),
            feedbacks: BTreeMap::new(),
            reviews: BTreeMap::new(),
            latest_iteration: 0,
            findings,
        };
        for (path, text) in &seen.files {
            if let Some(place) = SessionFile::of(path) {
                picture.take(place, text.as_deref());
            }
        }
        picture.tasks.sort_by_key(|task| in_order(&task.id));
        picture
    }

    fn take(&mut self, place: SessionFile<'_>, text: Option<&str>) {
        let content = text.unwrap_or_default();
        match place {
            SessionFile::Task(id) => {
                let (task, found) = TaskFile::parse(id, content);
                self.tasks.push(task);
                self.findings.extend(found);
            }
            SessionFile::Report { task, attempt } => {
                let report = TaskReport::parse(attempt, text);
                self.reports.entry(task.to_owned()).or_default().push(report);
            }
            SessionFile::IterationMetadata(iteration) => {
                self.findings.extend(IterationMetadata::parse(content, iteration).1);
            }
            SessionFile::Review(iteration) => {
                self.reviews.insert(iteration, report::is_complete(content));
            }
            SessionFile::Feedback { iteration, stamp, file: feedback::FILE } => {
                let (feedback, found) = FeedbackBatch::parse(iteration, stamp, content);
                self.findings.extend(found);
                if feedback.says_something() {
                    self.feedbacks.entry(iteration).or_default().push(stamp.to_owned());
                }
            }
            _ => {}
        }
        if let SessionFile::IterationMetadata(iteration) | SessionFile::Review(iteration) = place {
            self.latest_iteration = self.latest_iteration.max(iteration);
        }
    }

    /// The task of an id.
    pub fn task(&self, id: &str) -> Option<&TaskFile> {
        self.tasks.iter().find(|task| task.id == id)
    }

    /// The reports of a task.
    pub fn reports_of(&self, id: &str) -> &[TaskReport] {
        self.reports.get(id).map_or(&[], Vec::as_slice)
    }
}

/// `task-2` comes before `task-10`.
fn in_order(id: &str) -> (String, u64, String) {
    let start = id.find(|letter: char| letter.is_ascii_digit()).unwrap_or(id.len());
    let (word, rest) = id.split_at(start);
    let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    (word.to_owned(), rest[..end].parse().unwrap_or_default(), id.to_owned())
}
