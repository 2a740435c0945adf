//! What the journals hold, beside what was answered.

use crate::answers::{self, ProcessAnswer};
use crate::calls::Answer;
use ralph_io::{store::digest, store::journal};
use std::path::Path;

/// The lines of a loop's journal; none of them is torn.
#[track_caller]
pub(crate) fn lines(folder: &Path) -> Vec<journal::JournalEntry> {
    let journal = journal::load(folder).unwrap();
    assert_eq!(journal.n_unreadable, 0, "torn lines in {}", folder.display());
    journal.entries
}

/// How many lines there are of an event with this decision.
pub(crate) fn count(lines: &[journal::JournalEntry], event: &str, decision: &str) -> usize {
    lines.iter().filter(|line| line.event == event && line.decision == decision).count()
}

/// Each answer has exactly one line, which says what was answered; one that gave up has none.
#[track_caller]
pub(crate) fn check_each(lines: &[journal::JournalEntry], answers: &[&Answer]) {
    for answer in answers {
        let input = digest::of_bytes(&answer.payload);
        let found: Vec<&str> = lines
            .iter()
            .filter(|line| line.input == input)
            .map(|line| line.decision.as_str())
            .collect();
        let expected: &[&str] = match answers::said(answer) {
            ProcessAnswer::WentOn(_) => &["go on"],
            ProcessAnswer::Denied => &["denied"],
            ProcessAnswer::GaveUp(_) => &[],
            // A person who was not told of a pause is told at the stop.
            ProcessAnswer::Nothing | ProcessAnswer::Spoke(_) => &["let go"],
            other => panic!("{other:?} is not asked about here"),
        };
        assert_eq!(found, expected, "the journal's lines of {answer:?}");
    }
}
