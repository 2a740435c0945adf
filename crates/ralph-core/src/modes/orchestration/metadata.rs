//! The two YAML documents of an orchestration: its own metadata, and those of each iteration.
//!
//! They hold the state, the iteration and the task counts, and are rendered from the record.

use super::files::OrchestrationFile;
use super::finding::OrchestrationFinding;
use super::id::OrchestrationId;
use super::local_time::LocalTime;
use super::progress::{Progress, TaskMark};
use super::state::{MetadataStatus, State};
use super::yaml::Yaml;
use serde::{Deserialize, Serialize};

/// The metadata of an orchestration. A missing or unreadable value is `None`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct OrchestrationMetadata {
    /// The number of changes to the document so far.
    pub version: Option<u32>,
    pub created_at: Option<String>,
    pub updated_at: Option<String>,
    pub iteration: Option<u32>,
    pub state: Option<State>,
    /// The wave that is executed, counted from 1.
    pub wave: Option<u32>,
    pub standing: Option<MetadataStatus>,
}

/// `iterations/<N>/metadata.yaml`: when an iteration began and ended. Used only for display.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct IterationMetadata {
    pub started_at: Option<String>,
    /// When its tasks were known.
    pub planning_completed_at: Option<String>,
    pub completed_at: Option<String>,
    /// How many tasks there were then.
    #[serde(default)]
    pub tasks_defined: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    pub total: usize,
    /// `[x]`.
    pub completed: usize,
    /// `[F]`.
    pub failed: usize,
    /// `[ ]`, `[/]` and `[P]`.
    pub pending: usize,
    /// `[C]`.
    pub cancelled: usize,
}

impl Counts {
    pub fn from_progress(progress: &Progress) -> Counts {
        let mut counts = Counts::default();
        for entry in progress.tasks() {
            counts.total += 1;
            match entry.status {
                TaskMark::Done => counts.completed += 1,
                TaskMark::Failed => counts.failed += 1,
                TaskMark::Cancelled => counts.cancelled += 1,
                TaskMark::Open | TaskMark::InProgress | TaskMark::ReviewPending => {
                    counts.pending += 1
                }
            }
        }
        counts
    }
}

/// The required members. `orchestrator.state` is not among them, because it can be inferred.
const REQUIRED: [&[&str]; 9] = [
    &["version"],
    &["session_id"],
    &["created_at"],
    &["updated_at"],
    &["iteration"],
    &["tasks", "total"],
    &["tasks", "completed"],
    &["tasks", "failed"],
    &["tasks", "pending"],
];

impl OrchestrationMetadata {
    /// Reads the metadata, and reports what is wrong with them.
    pub fn parse(
        text: &str,
        id: &OrchestrationId,
    ) -> (OrchestrationMetadata, Vec<OrchestrationFinding>) {
        let invalid = |line, what: String| OrchestrationFile::Metadata.invalid(line, what);
        let yaml = match Yaml::parse(text) {
            Ok(yaml) => yaml,
            Err(flaw) => {
                return (OrchestrationMetadata::default(), vec![invalid(flaw.line, flaw.what)]);
            }
        };
        let mut found = Vec::new();
        for path in REQUIRED {
            let name = path.join(".");
            match (yaml.text(path), yaml.line(path)) {
                (Some(_), _) => {}
                (None, Some(line)) => found.push(invalid(line, format!("`{name}` has no value"))),
                (None, None) => found.push(invalid(0, format!("`{name}` is missing"))),
            }
        }
        let mut number = |path: &[&str], least: u32| {
            let number = yaml.number(path).filter(|number| *number >= least);
            if let (None, Some(said), Some(line)) = (number, yaml.text(path), yaml.line(path)) {
                let name = path.join(".");
                found.push(invalid(
                    line,
                    format!(
                        "`{name}: {said}` is not a number of at least \
                     {least}"
                    ),
                ));
            }
            number
        };
        let (version, iteration) = (number(&["version"], 0), number(&["iteration"], 1));
        for name in ["total", "completed", "failed", "pending"] {
            number(&["tasks", name], 0);
        }
        if let Some(said) = yaml.text(&["session_id"]).filter(|said| *said != id.as_str()) {
            let line = yaml.line(&["session_id"]).unwrap_or_default();
            found.push(invalid(
                line,
                format!("`session_id: {said}` differs from the folder's name, {id}"),
            ));
        }
        let state = yaml.text(&["orchestrator", "state"]);
        if let Some(word) = state.filter(|word| State::from_word(word).is_none()) {
            let words: Vec<&str> = State::ALL.into_iter().map(State::word).collect();
            let line = yaml.line(&["orchestrator", "state"]).unwrap_or_default();
            found.push(invalid(
                line,
                format!("`{word}` is not a state; write one of {}", words.join(", ")),
            ));
        }
        let metadata = OrchestrationMetadata {
            version,
            created_at: time(&yaml, "created_at"),
            updated_at: time(&yaml, "updated_at"),
            iteration,
            state: state.and_then(State::from_word),
            wave: yaml.number(&["orchestrator", "current_wave"]),
            standing: yaml.text(&["status"]).and_then(MetadataStatus::from_word),
        };
        (metadata, found)
    }

    /// The metadata of an orchestration that begins.
    pub fn first(state: State, iteration: u32, now: LocalTime) -> OrchestrationMetadata {
        OrchestrationMetadata {
            version: Some(1),
            created_at: Some(now.to_string()),
            updated_at: Some(now.to_string()),
            iteration: Some(iteration),
            state: Some(state),
            wave: None,
            standing: Some(MetadataStatus::InProgress),
        }
    }

    pub fn render(&self, id: &OrchestrationId, counts: Counts) -> String {
        let time = |time: &Option<String>| time.clone().unwrap_or_default();
        let status = self.standing.unwrap_or(MetadataStatus::InProgress);
        let Counts { total, completed, failed, pending, .. } = counts;
        format!(
            "version: {}\nsession_id: {id}\ncreated_at: {}\nupdated_at: {}\n\
             status: {} # in_progress | completed | awaiting_feedback\niteration: {}\n\
             orchestrator:\n  state: {}\n  current_wave: {}\n\
             tasks:\n  total: {total}\n  completed: {completed}\n  failed: {failed}\n  pending: {pending}\n",
            self.version.unwrap_or(1),
            time(&self.created_at),
            time(&self.updated_at),
            status.word(),
            self.iteration.unwrap_or(1),
            self.state.map_or("null", State::word),
            self.wave.map_or_else(|| "null".to_owned(), |wave| wave.to_string()),
        )
    }
}

impl IterationMetadata {
    /// Reads the metadata, and reports what is wrong with them.
    pub fn parse(text: &str, iteration: u32) -> (IterationMetadata, Vec<OrchestrationFinding>) {
        let place = OrchestrationFile::IterationMetadata(iteration);
        let yaml = match Yaml::parse(text) {
            Ok(yaml) => yaml,
            Err(flaw) => {
                let finding = place.notice(flaw.line, flaw.what);
                return (IterationMetadata::default(), vec![finding]);
            }
        };
        let mut found = Vec::new();
        if yaml.number(&["iteration"]) != Some(iteration) {
            let line = yaml.line(&["iteration"]).unwrap_or_default();
            let what = format!("write `iteration: {iteration}`");
            found.push(place.notice(line, what));
        }
        if yaml.text(&["started_at"]).is_none() {
            found.push(place.notice(0, "`started_at` is missing"));
        }
        let tasks = yaml.number(&["tasks_defined"]).and_then(|number| number.try_into().ok());
        let metadata = IterationMetadata {
            started_at: time(&yaml, "started_at"),
            planning_completed_at: time(&yaml, "planning_completed_at"),
            completed_at: time(&yaml, "completed_at"),
            tasks_defined: tasks.unwrap_or_default(),
        };
        (metadata, found)
    }

    pub fn render(&self, iteration: u32) -> String {
        let time = |time: &Option<String>| time.clone().unwrap_or_else(|| "null".to_owned());
        format!(
            "version: 1\niteration: {iteration}\nstarted_at: {}\nplanning_complete: {}\n\
             planning_completed_at: {}\ncompleted_at: {}\ntasks_defined: {}\n",
            time(&self.started_at),
            self.planning_completed_at.is_some(),
            time(&self.planning_completed_at),
            time(&self.completed_at),
            self.tasks_defined,
        )
    }
}

/// A time, in any form that is rendered as it was read.
fn time(yaml: &Yaml, name: &str) -> Option<String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-:+. ".contains(&byte);
    yaml.text(&[name]).filter(|text| text.bytes().all(is_plain)).map(str::to_owned)
}

#[cfg(test)]
mod tests;
