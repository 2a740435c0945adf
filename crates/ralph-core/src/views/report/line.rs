//! A line of the journal, parsed for a report.

use crate::guard;
use crate::modes::build;
use crate::stop;
use crate::text::token::CompletionRequest;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

/// One line, with the details that `ralph explain` shows.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportLine {
    /// When the decision was made.
    pub at: Timestamp,
    /// The hook event or command that triggered the decision.
    pub event: String,
    /// The decision in one or two words.
    pub decision: String,
    /// The reason.
    pub why: String,
    /// The loop's position after the decision: `3/25`.
    pub position: String,
    /// The details of the event that explain the decision.
    pub seen: Value,
    /// The inputs of the decision, if they could be parsed.
    pub record: LineRecord,
    /// Duration of the decision, in microseconds.
    pub took_us: u64,
    /// The details to show, each with its label.
    pub rows: Vec<(String, String)>,
}

/// The inputs of a line's decision.
#[derive(Debug, Clone, PartialEq)]
pub enum LineRecord {
    /// The end of a turn.
    Stop(Box<stop::StopRecord>),
    /// A refused tool call.
    Denial(Box<guard::DenialRecord>),
    /// No record, or one from another version.
    None,
}

impl LineRecord {
    /// Parses the record of a line for this event.
    pub fn of(event: &str, record: Option<&Value>) -> LineRecord {
        let Some(record) = record else { return LineRecord::None };
        match event {
            "Stop" => stop::StopRecord::deserialize(record)
                .map_or(LineRecord::None, |record| LineRecord::Stop(Box::new(record))),
            "PreToolUse" => guard::DenialRecord::deserialize(record)
                .map_or(LineRecord::None, |record| LineRecord::Denial(Box::new(record))),
            _ => LineRecord::None,
        }
    }
}

impl ReportLine {
    /// The record of a stop, if this line is one.
    pub(super) fn stop(&self) -> Option<&stop::StopRecord> {
        match &self.record {
            LineRecord::Stop(record) => Some(record),
            _ => None,
        }
    }

    /// True for a stop that counts an iteration.
    pub(super) fn goes_on(&self) -> bool {
        self.event == "Stop" && self.decision == "go on"
    }

    /// True for the line that ends the loop.
    pub(super) fn ends(&self) -> bool {
        self.decision == "ended"
    }

    /// True for the end of a round of a fresh client.
    pub(super) fn is_round(&self) -> bool {
        self.decision == build::ENDED
    }

    /// True for a completion request that was refused.
    pub(super) fn refuses_completion(&self) -> bool {
        self.goes_on()
            && self.stop().is_some_and(|record| record.seen.request == CompletionRequest::Made)
    }

    /// The results of a run of the criteria: each id with its status.
    pub(super) fn verified(&self) -> impl Iterator<Item = (&str, &str)> {
        let is_run = self.event == "ralph verify" || self.is_round();
        let members = self.seen.as_object().filter(|_| is_run).into_iter().flatten();
        members.filter_map(|(id, word)| Some((id.as_str(), word.as_str()?)))
    }
}
