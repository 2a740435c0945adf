//! A line of the journal as a report reads it.

use crate::guard;
use crate::stop;
use crate::text::token::CompletionRequest;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

/// One line, with what `ralph explain` says of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportLine {
    /// When.
    pub at: Timestamp,
    /// The hook event, or the command, that asked.
    pub event: String,
    /// What was decided, in a word or two.
    pub decision: String,
    /// Why, in words.
    pub why: String,
    /// Where the loop stood after it: `3/25`.
    pub position: String,
    /// What of the event explains it.
    pub seen: Value,
    /// What it was decided from, as far as it could be read.
    pub record: LineRecord,
    /// How long the decision took, in microseconds.
    pub took_us: u64,
    /// What is told of it, each with its label.
    pub rows: Vec<(String, String)>,
}

/// What a line was decided from.
#[derive(Debug, Clone, PartialEq)]
pub enum LineRecord {
    /// The end of a turn.
    Stop(Box<stop::StopRecord>),
    /// A refused tool call.
    Denial(Box<guard::DenialRecord>),
    /// It keeps none, or one of another version.
    None,
}

impl LineRecord {
    /// Reads the record of a line of this event.
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
    /// The record of a stop.
    pub(super) fn stop(&self) -> Option<&stop::StopRecord> {
        match &self.record {
            LineRecord::Stop(record) => Some(record),
            _ => None,
        }
    }

    /// True for the stop by which an iteration is counted.
    pub(super) fn goes_on(&self) -> bool {
        self.event == "Stop" && self.decision == "go on"
    }

    /// True for the line by which the loop is over.
    pub(super) fn ends(&self) -> bool {
        self.decision == "ended"
    }

    /// True for a request for completion that was not granted.
    pub(super) fn refuses_completion(&self) -> bool {
        self.goes_on()
            && self.stop().is_some_and(|record| record.seen.request == CompletionRequest::Made)
    }

    /// What a run of the criteria found: each id with its standing.
    pub(super) fn verified(&self) -> impl Iterator<Item = (&str, &str)> {
        let is_run = self.event == "ralph verify";
        let members = self.seen.as_object().filter(|_| is_run).into_iter().flatten();
        members.filter_map(|(id, word)| Some((id.as_str(), word.as_str()?)))
    }
}
