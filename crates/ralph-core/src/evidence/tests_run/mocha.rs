//! mocha, and tools with its output format (Cypress, Hardhat).

use super::words::counted;
use super::{Runner, Tally};

#[derive(Debug, Clone, Default)]
pub(super) struct Mocha {
    tally: Tally,
}

impl Runner for Mocha {
    fn line(&mut self, line: &str) {
        match counted(line) {
            Some((count, word)) if word.starts_with("passing (") => {
                self.tally.add(Tally::ran(count));
            }
            // These lines follow the `passing` line.
            Some((count, "failing")) if self.tally.spoke => self.tally.fail(count),
            Some((count, "pending")) if self.tally.spoke => {
                self.tally.add(Tally { skipped: count, ..Tally::EMPTY });
            }
            _ => {}
        }
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}
