//! One line for every decision, appended and never rewritten.
//!
//! A process that dies in the middle of a line leaves half of one; readers skip what does not
//! parse, and the next line begins on a line of its own.

use crate::project::safe_read;
use anyhow::{Context, Result, anyhow};
use jiff::Timestamp;
use ralph_core::modes::mode;
use ralph_core::stop::replay::{self, Again};
use rustix::fs::OFlags;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A loop of years has a smaller one.
const LARGEST: u64 = 1 << 30;

/// How much of the end is read for the last decisions.
const MOST_LOOKED_AT: u64 = 4 << 20;

/// One decision. `R` is the record that it can be made again from: as the rules keep it when it is
/// written, and any value when it is read, since other versions of the rules kept other ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JournalEntry<R = Value> {
    /// When.
    pub at: Timestamp,
    /// The hook event, or the command, that asked.
    pub event: String,
    /// What was decided, in a word or two: `go on`, `let go`, `ended`, `denied` …
    pub decision: String,
    /// Why, in words.
    pub why: String,
    /// Where the loop stood after it: `3/25`.
    #[serde(default)]
    pub position: String,
    /// The client's id of the turn.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prompt_id: String,
    /// Digest of the event's payload: which input it was, should it be kept elsewhere.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub input: String,
    /// What a reader wants to know of what was seen.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub seen: Value,
    /// All that a rule decided from, for `ralph replay`.
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    pub record: Option<R>,
    /// How long the decision took, in microseconds.
    #[serde(default)]
    pub took_us: u64,
}

/// The journal of the loop in a folder.
pub fn path(folder: &Path) -> PathBuf {
    folder.join("journal.jsonl")
}

/// Appends one entry.
pub fn append<R: Serialize>(folder: &Path, entry: &JournalEntry<R>) -> Result<()> {
    let path = path(folder);
    let describe = || format!("could not append to `{}`", path.display());
    // The line feed comes first, so that a torn line before it cannot swallow this one.
    let line = format!("\n{}", one_line(&serde_json::to_vec_pretty(entry).with_context(describe)?));
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        // A pipe in its place must not hang the session.
        .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32)
        .open(&path)
        .with_context(describe)?;
    file.write_all(line.as_bytes()).with_context(describe)
}

/// A document on one line. It is rendered as the state is, so that a hook holds the code for that
/// only once; there every line feed, with the spaces after it, is white space between members,
/// since in a string it would be escaped.
fn one_line(pretty: &[u8]) -> String {
    let lines = pretty.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_start);
    String::from_utf8_lossy(&lines.collect::<Vec<_>>().concat()).into_owned()
}

/// A journal, oldest line first.
#[derive(Debug, Default)]
pub struct Journal {
    /// Its lines.
    pub entries: Vec<JournalEntry>,
    /// How many lines are torn or of another version.
    pub n_unreadable: usize,
}

/// All entries that can be read, oldest first; none where there is no journal to be read.
pub fn read(folder: &Path) -> Vec<JournalEntry> {
    load(folder).map(|journal| journal.entries).unwrap_or_default()
}

/// As [`read`], for a caller to whom it matters what could not be read. A loop about which nothing
/// was decided has no journal yet.
///
/// # Errors
/// When there is one and it cannot be read, or none of its lines can.
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

/// An entry without the record that it can be decided again from, which is most of it.
pub type Short = JournalEntry<IgnoredAny>;

/// The last entries, oldest first, from the end of the file: a journal may be long, and whoever looks
/// on looks often.
pub fn last(folder: &Path, most: usize) -> Vec<Short> {
    let mut found = Vec::new();
    let mut length = 64 << 10;
    while length <= MOST_LOOKED_AT {
        let Ok(Some((tail, is_whole))) = safe_read::tail(&path(folder), length) else { break };
        let mut lines = tail.split(|byte| *byte == b'\n');
        if !is_whole {
            // Half a line, most likely.
            lines.next();
        }
        let entries = lines.rev().filter_map(|line| serde_json::from_slice(line).ok());
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
    /// Makes the decision of this line again, by the rules of today.
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
