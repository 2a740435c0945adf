//! `metadata.yaml`: the state, status and task counts of an orchestration.

use super::super::files::OrchestrationFile;
use super::super::finding::OrchestrationFinding;
use super::super::id::OrchestrationId;
use super::super::progress::{Progress, TaskMark};
use super::super::state::{MetadataStatus, State};
use super::super::yaml::{Yaml, YamlError};
use super::set_all;
use crate::modes::orchestration::local_time::LocalTime;
use serde::Serialize;

/// The metadata of an orchestration. A missing or unreadable value is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OrchestrationMetadata {
    /// The number of changes to the document so far.
    pub version: Option<u32>,
    pub iteration: Option<u32>,
    pub state: Option<State>,
    /// The wave that is executed, counted from 1.
    pub wave: Option<u32>,
    pub standing: Option<MetadataStatus>,
}

/// The number of tasks by status.
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
    pub fn of(progress: &Progress) -> Counts {
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
        let invalid = |line, what: String| {
            OrchestrationFinding::invalid(OrchestrationFile::Metadata, line, what)
        };
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
        if let Some(word) = state.filter(|word| State::of(word).is_none()) {
            let words: Vec<&str> = State::ALL.into_iter().map(State::word).collect();
            let line = yaml.line(&["orchestrator", "state"]).unwrap_or_default();
            found.push(invalid(
                line,
                format!("`{word}` is not a state; write one of {}", words.join(", ")),
            ));
        }
        let metadata = OrchestrationMetadata {
            version,
            iteration,
            state: state.and_then(State::of),
            wave: yaml.number(&["orchestrator", "current_wave"]),
            standing: yaml.text(&["status"]).and_then(MetadataStatus::of),
        };
        (metadata, found)
    }

    pub fn first(id: &OrchestrationId, state: State, iteration: u32, now: LocalTime) -> String {
        format!(
            "version: 1\nsession_id: {id}\ncreated_at: {now}\nupdated_at: {now}\n\
             status: in_progress # in_progress | completed | awaiting_feedback\niteration: {iteration}\n\
             orchestrator:\n  state: {state}\n  current_wave: null\n\
             tasks:\n  total: 0\n  completed: 0\n  failed: 0\n  pending: 0\n"
        )
    }
}

/// Sets the state, the iteration and the wave.
///
/// # Errors
/// The text is not a document that can be changed.
pub fn set_state(
    text: &str,
    state: State,
    iteration: u32,
    wave: Option<u32>,
) -> Result<String, YamlError> {
    let mut changes = vec![
        (&["orchestrator", "state"][..], state.word().to_owned()),
        (&["iteration"][..], iteration.to_string()),
    ];
    if let Some(wave) = wave {
        changes.push((&["orchestrator", "current_wave"][..], wave.to_string()));
    }
    set_all(text, &changes)
}

/// Counts a change: updates version, time and task counts.
///
/// # Errors
/// The text is not a document that can be changed.
pub fn refresh(text: &str, counts: Counts, now: LocalTime) -> Result<String, YamlError> {
    let version = Yaml::parse(text)?.number(&["version"]).unwrap_or_default().saturating_add(1);
    set_all(
        text,
        &vec![
            (&["version"][..], version.to_string()),
            (&["updated_at"][..], format!("{now}")),
            (&["tasks", "total"][..], counts.total.to_string()),
            (&["tasks", "completed"][..], counts.completed.to_string()),
            (&["tasks", "failed"][..], counts.failed.to_string()),
            (&["tasks", "pending"][..], counts.pending.to_string()),
        ],
    )
}
