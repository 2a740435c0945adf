//! One row of a transcript: a JSON document in the client's format, of which a few members matter.

use jiff::Timestamp;
use serde_json::Value;

/// A parsed row.
#[derive(Debug, Clone, Default)]
pub struct TranscriptRow(Value);

impl TranscriptRow {
    /// Parses one line; `None` if it is not a complete row (the first line of a tail seldom is).
    pub fn parse(line: &[u8]) -> Option<TranscriptRow> {
        serde_json::from_slice(line).ok().filter(Value::is_object).map(TranscriptRow)
    }

    /// The `type` of the row.
    pub fn kind(&self) -> &str {
        self.text(&["type"])
    }

    /// When the row was written; `None` for kinds without a timestamp.
    pub fn time(&self) -> Option<Timestamp> {
        self.text(&["timestamp"]).parse().ok()
    }

    /// The value at this path of member names.
    pub fn at(&self, path: &[&str]) -> Option<&Value> {
        path.iter().try_fold(&self.0, |value, name| value.get(*name))
    }

    /// The string at this path; empty if there is none.
    pub fn text(&self, path: &[&str]) -> &str {
        self.at(path).and_then(Value::as_str).unwrap_or_default()
    }

    /// True if the member is `true`.
    pub fn is(&self, name: &str) -> bool {
        self.at(&[name]).and_then(Value::as_bool).unwrap_or_default()
    }

    /// The number at this path; 0 if there is none.
    pub fn number(&self, path: &[&str]) -> u64 {
        self.at(path).and_then(Value::as_u64).unwrap_or_default()
    }

    /// The items of the list at this path; empty if it is not a list.
    pub fn items(&self, path: &[&str]) -> impl Iterator<Item = &Value> {
        self.at(path).and_then(Value::as_array).into_iter().flatten()
    }
}

/// The lines of a transcript, or of its end. `split` would look at each byte of many.
pub fn lines(text: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    let ends = memchr::memchr_iter(b'\n', text).chain([text.len()]);
    let line = |begin: &mut usize, end| Some(&text[std::mem::replace(begin, end + 1)..end]);
    ends.scan(0, line).collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_a_split() {
        for text in ["", "\n", "a", "a\n", "\na\n\nbc"] {
            let expected: Vec<_> = text.as_bytes().split(|byte| *byte == b'\n').collect();
            assert_eq!(lines(text.as_bytes()).collect::<Vec<_>>(), expected, "{text:?}");
        }
    }
}
