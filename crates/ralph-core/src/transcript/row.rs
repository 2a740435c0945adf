//! One row of a transcript: a document of the client's own, of which a few members tell something.

use crate::text::from_json::FromJson;
use jiff::Timestamp;
use serde_json::Value;

/// A row as it was read.
#[derive(Debug, Clone, Default)]
pub struct TranscriptRow(Value);

impl TranscriptRow {
    /// Reads one line; none if it is not a whole row (the first line of a tail seldom is).
    pub fn parse(line: &[u8]) -> Option<TranscriptRow> {
        serde_json::from_slice(line).ok().filter(Value::is_object).map(TranscriptRow)
    }

    /// What kind of row it is.
    pub fn kind(&self) -> &str {
        self.text(&["type"])
    }

    /// When it was written; none for kinds that do not say.
    pub fn time(&self) -> Option<Timestamp> {
        Timestamp::from_json(self.at(&["timestamp"])?.clone()).ok()
    }

    /// A member, by the names on the way to it.
    pub fn at(&self, path: &[&str]) -> Option<&Value> {
        path.iter().try_fold(&self.0, |value, name| value.get(*name))
    }

    /// A text, by the names on the way to it; empty if there is none.
    pub fn text(&self, path: &[&str]) -> &str {
        self.at(path).and_then(Value::as_str).unwrap_or_default()
    }

    /// True where a member says so.
    pub fn is(&self, name: &str) -> bool {
        self.at(&[name]).and_then(Value::as_bool).unwrap_or_default()
    }

    /// A number, by the names on the way to it; zero if there is none.
    pub fn number(&self, path: &[&str]) -> u64 {
        self.at(path).and_then(Value::as_u64).unwrap_or_default()
    }

    /// The items of a list, by the names on the way to it; none if it is no list.
    pub fn items(&self, path: &[&str]) -> impl Iterator<Item = &Value> {
        self.at(path).and_then(Value::as_array).into_iter().flatten()
    }
}
