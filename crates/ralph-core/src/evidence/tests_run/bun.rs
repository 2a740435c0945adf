//! `bun test`: a column of counts, followed by the number of files.

use super::words::{counted, singular};
use super::{Runner, Tally};

#[derive(Debug, Clone, Default)]
pub(super) struct Bun {
    column: Tally,
    tally: Tally,
}

impl Runner for Bun {
    fn line(&mut self, line: &str) {
        if line.starts_with(' ') {
            self.column.add(match counted(line) {
                Some((count, "pass")) => Tally::ran(count),
                Some((count, "fail")) => Tally::failed(count),
                Some((count, "skip" | "todo")) => Tally { skipped: count, ..Tally::EMPTY },
                _ => Tally::default(),
            });
        } else if let Some(closing) = line.strip_prefix("Ran ") {
            let is_ours = counted(closing)
                .and_then(|(_, rest)| rest.split_once(" across "))
                .is_some_and(|(word, _)| singular(word) == "test");
            if is_ours {
                self.tally.add(std::mem::take(&mut self.column));
            }
        }
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}
