//! `iterations/<N>/metadata.yaml`: when an iteration began and ended.

use super::super::files::OrchestrationFile;
use super::super::finding::OrchestrationFinding;
use super::super::yaml::{Yaml, YamlError};
use super::set_all;
use crate::modes::orchestration::local_time::LocalTime;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IterationMetadata {
    pub started_at: Option<String>,
    /// When its tasks were known.
    pub planning_completed_at: Option<String>,
    pub completed_at: Option<String>,
}

impl IterationMetadata {
    /// Reads the metadata, and reports what is wrong with them. They are used only for display.
    pub fn parse(text: &str, iteration: u32) -> (IterationMetadata, Vec<OrchestrationFinding>) {
        let place = OrchestrationFile::IterationMetadata(iteration);
        let yaml = match Yaml::parse(text) {
            Ok(yaml) => yaml,
            Err(flaw) => {
                let finding = OrchestrationFinding::new(place, flaw.line, flaw.what);
                return (IterationMetadata::default(), vec![finding]);
            }
        };
        let mut found = Vec::new();
        if yaml.number(&["iteration"]) != Some(iteration) {
            let line = yaml.line(&["iteration"]).unwrap_or_default();
            found.push(OrchestrationFinding::new(
                place,
                line,
                format!("write `iteration: {iteration}`"),
            ));
        }
        if yaml.text(&["started_at"]).is_none() {
            found.push(OrchestrationFinding::new(place, 0, "`started_at` is missing"));
        }
        let text = |name: &str| yaml.text(&[name]).map(str::to_owned);
        let metadata = IterationMetadata {
            started_at: text("started_at"),
            planning_completed_at: text("planning_completed_at"),
            completed_at: text("completed_at"),
        };
        (metadata, found)
    }

    pub fn first(iteration: u32, now: LocalTime) -> String {
        format!(
            "version: 1\niteration: {iteration}\nstarted_at: {now}\nplanning_complete: false\n\
             planning_completed_at: null\ncompleted_at: null\ntasks_defined: 0\n"
        )
    }

    /// Records the end of the iteration. An end that is already recorded stays.
    ///
    /// # Errors
    /// The text is not a document that can be changed.
    pub fn completed(text: &str, now: LocalTime) -> Result<String, YamlError> {
        if Yaml::parse(text)?.text(&["completed_at"]).is_some() {
            return Ok(text.to_owned());
        }
        set_all(text, &vec![(&["completed_at"][..], format!("{now}"))])
    }
}

/// Records that the tasks are known, and how many there are. A time that is already recorded stays.
///
/// # Errors
/// The text is not a document that can be changed.
pub fn planned(text: &str, tasks: usize, now: LocalTime) -> Result<String, YamlError> {
    let mut changes = vec![
        (&["planning_complete"][..], "true".to_owned()),
        (&["tasks_defined"][..], tasks.to_string()),
    ];
    if Yaml::parse(text)?.text(&["planning_completed_at"]).is_none() {
        changes.push((&["planning_completed_at"][..], format!("{now}")));
    }
    set_all(text, &changes)
}
