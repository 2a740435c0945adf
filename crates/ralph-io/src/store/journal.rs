//! The journal: one line for every decision, appended and never rewritten.
//!
//! A process that dies while writing leaves part of a line. Readers skip lines that do not parse,
//! and the next entry starts on a new line.

use crate::project::safe_read;
use crate::store::atomic;
use anyhow::{Context, Result, anyhow};
use jiff::Timestamp;
use ralph_core::modes::mode;
use ralph_core::stop::replay::{self, Again};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Even a loop of years has a smaller journal.
const LARGEST: u64 = 1 << 30;

/// How much of the end is read for the last decisions.
const MOST_LOOKED_AT: u64 = 4 << 20;

/// One decision. `R` is the record from which the decision can be repeated: the type of the current
/// rules when writing, and any value when reading, because other versions keep other records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JournalEntry<R = Value> {
    pub at: Timestamp,
    /// The hook event or the command that required the decision.
    pub event: String,
    /// The decision in a word or two: `go on`, `let go`, `ended`, `denied` …
    pub decision: String,
    /// The reason, in words.
    pub why: String,
    /// The position of the loop afterwards: `3/25`.
    #[serde(default)]
    pub position: String,
    /// The client's id of the turn.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prompt_id: String,
    /// The digest of the event's payload, to recognise the input if it was kept elsewhere.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub input: String,
    /// The observed facts that interest a reader.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub seen: Value,
    /// Everything that the rule based its decision on, for `ralph replay`.
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    pub record: Option<R>,
    /// How long the decision took, in microseconds.
    #[serde(default)]
    pub took_us: u64,
}

/// The path of the journal in a loop's folder.
pub fn path(folder: &Path) -> PathBuf {
    folder.join("journal.jsonl")
}

/// Appends one entry.
pub fn append<R: Serialize>(folder: &Path, entry: &JournalEntry<R>) -> Result<()> {
    let path = path(folder);
    let describe = || format!("could not append to `{}`", path.display());
    // The line feed comes first, so that a torn line before it cannot swallow this one.
    let line = format!("\n{}", serde_json::to_string(entry).with_context(describe)?);
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(atomic::NO_LINK_OR_PIPE)
        .open(&path)
        .with_context(describe)?;
    file.write_all(line.as_bytes()).with_context(describe)
}

/// A journal, oldest entry first.
#[derive(Debug, Default)]
pub struct Journal {
    pub entries: Vec<JournalEntry>,
    /// How many lines are torn or written by another version.
    pub n_unreadable: usize,
}

/// All readable entries, oldest first; empty if the journal is missing or unreadable.
pub fn read(folder: &Path) -> Vec<JournalEntry> {
    load(folder).map(|journal| journal.entries).unwrap_or_default()
}

/// As [`read`], but reports what cannot be read. A loop without decisions has no journal yet.
///
/// # Errors
/// If the journal exists and cannot be read, or none of its lines can.
pub fn load(folder: &Path) -> Result<Journal> {
    let path = path(folder);
    let describe = || format!("could not read the journal `{}`", path.display());
    let bytes = safe_read::read(&path, LARGEST).with_context(describe)?;
    let Some(bytes) = bytes else { return Ok(Journal::default()) };
    let mut journal = Journal::default();
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
        match serde_json::from_slice(line) {
            Ok(entry) => journal.entries.push(entry),
            Err(_) => journal.n_unreadable += 1,
        }
    }
    if journal.entries.is_empty() && journal.n_unreadable > 0 {
        return Err(anyhow!("none of its lines is one")).with_context(describe);
    }
    Ok(journal)
}

/// An entry without its record, which is most of its size.
pub type Short = JournalEntry<IgnoredAny>;

/// The last entries, oldest first. Reads only the end of the file: a journal may be long, and a
/// watching user asks often.
pub fn last(folder: &Path, most: usize) -> Vec<Short> {
    let mut found = Vec::new();
    let mut length = 64 << 10;
    while length <= MOST_LOOKED_AT {
        let Ok(Some((tail, is_whole))) = safe_read::tail(&path(folder), length) else { break };
        // The end of a line alone does not parse.
        let lines = tail.split(|byte| *byte == b'\n').rev();
        let entries = lines.filter_map(|line| serde_json::from_slice(line).ok());
        found = entries.take(most).collect();
        if is_whole || found.len() == most {
            break;
        }
        length *= 8;
    }
    found.reverse();
    found
}

impl JournalEntry {
    /// Repeats the decision of this entry by the current rules.
    pub fn again(&self) -> Again {
        replay::again(&self.event, &self.seen, self.record.as_ref(), mode::at_stop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(why: &str) -> JournalEntry {
        JournalEntry {
            at: Timestamp::UNIX_EPOCH,
            event: "Stop".to_owned(),
            decision: "go on".to_owned(),
            why: why.to_owned(),
            position: "1/5".to_owned(),
            prompt_id: String::new(),
            input: String::new(),
            seen: Value::Null,
            record: None,
            took_us: 7,
        }
    }

    #[test]
    fn a_torn_line_costs_only_itself() {
        let folder = tempfile::tempdir().unwrap();
        append(folder.path(), &entry("one")).unwrap();
        let mut file = OpenOptions::new().append(true).open(path(folder.path())).unwrap();
        file.write_all(b"\n{\"at\":\"20").unwrap();
        append(folder.path(), &entry("two")).unwrap();
        let all: Vec<_> = read(folder.path()).into_iter().map(|entry| entry.why).collect();
        assert_eq!(all, ["one", "two"]);
    }

    #[test]
    fn the_last_lines_are_read_from_the_end_however_long_the_others_are() {
        let folder = tempfile::tempdir().unwrap();
        assert!(last(folder.path(), 3).is_empty());
        for n in 0..20 {
            let mut entry = entry(&n.to_string());
            entry.record = Some(Value::String("x".repeat(20_000)));
            append(folder.path(), &entry).unwrap();
        }
        let why =
            |most| last(folder.path(), most).into_iter().map(|entry| entry.why).collect::<Vec<_>>();
        assert_eq!(why(2), ["18", "19"]);
        assert_eq!((why(15).len(), why(15)[0].as_str()), (15, "5"));
        assert_eq!(why(50).len(), 20);
    }

    #[test]
    fn what_cannot_be_read_is_told_from_what_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        assert!(load(folder.path()).unwrap().entries.is_empty());
        append(folder.path(), &entry("one")).unwrap();
        let mut file = OpenOptions::new().append(true).open(path(folder.path())).unwrap();
        file.write_all(b"\n{\"at\":\"20").unwrap();
        let journal = load(folder.path()).unwrap();
        assert_eq!((journal.entries.len(), journal.n_unreadable), (1, 1));
        std::fs::write(path(folder.path()), "\n \n").unwrap();
        let journal = load(folder.path()).unwrap();
        assert_eq!((journal.entries.len(), journal.n_unreadable), (0, 0), "nothing is in it");
        std::fs::write(path(folder.path()), "no line of ours\n").unwrap();
        assert!(load(folder.path()).is_err());
        std::fs::remove_file(path(folder.path())).unwrap();
        std::fs::create_dir(path(folder.path())).unwrap();
        assert!(load(folder.path()).is_err() && read(folder.path()).is_empty());
    }

    #[test]
    fn a_text_of_several_lines_takes_one_and_comes_back_whole() {
        let folder = tempfile::tempdir().unwrap();
        let why = "one\n   two  {\n} \"three\"";
        append(folder.path(), &entry(why)).unwrap();
        let text = std::fs::read_to_string(path(folder.path())).unwrap();
        assert_eq!(text.trim().lines().count(), 1);
        assert_eq!(read(folder.path())[0].why, why);
    }
}
