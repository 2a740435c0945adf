//! The journal: lines that others wrote or tore, a line of ours after them, and each decided again.
//!
//! Input: what is in the file, and the text of a decision to be appended.
#![no_main]

use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;
use ralph_fuzz::{folder, parts, write};
use ralph_io::store::journal::{self, JournalEntry};
use serde_json::json;

fn entry(why: &str) -> JournalEntry {
    JournalEntry {
        at: Timestamp::UNIX_EPOCH,
        event: "Stop".to_owned(),
        decision: "go on".to_owned(),
        why: why.to_owned(),
        position: "1/5".to_owned(),
        prompt_id: why.chars().rev().collect(),
        input: String::new(),
        seen: json!({ "message": why }),
        record: Some(json!([why])),
        took_us: 7,
    }
}

fuzz_target!(|data: &[u8]| {
    let [before, why] = parts(data);
    let why = String::from_utf8_lossy(why);
    let path = journal::path(folder());
    write(&path, before);
    let n_before = journal::read(folder()).len();
    let lines = |bytes: &[u8]| {
        bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).count()
    };
    if let Ok(journal) = journal::load(folder()) {
        assert_eq!(journal.entries.len() + journal.n_unreadable, lines(before));
    }
    journal::append(folder(), &entry(&why)).expect("a line can be appended");
    let text = std::fs::read(&path).expect("it is there");
    assert!(text.starts_with(before), "nothing that was there is touched");
    assert_eq!(lines(&text), lines(before) + 1, "a decision takes one line");
    let journal = journal::load(folder()).expect("a line of ours can be read");
    assert_eq!(journal.entries.len(), n_before + 1, "a torn line costs only itself");
    assert_eq!(journal.entries.last(), Some(&entry(&why)), "it comes back whole");
    for entry in &journal.entries {
        assert_eq!(entry.again(), entry.again(), "decided again, it is decided the same");
    }
});
