//! `3 tests, 0 failures, 1 skipped`: bats with the pretty formatter; Ruby's minitest (Rails),
//! test-unit and ExUnit, with more words.

use super::words::{counted, singular};
use super::{Runner, Tally};

#[derive(Debug, Clone, Default)]
pub(super) struct Suites {
    tally: Tally,
}

impl Runner for Suites {
    fn line(&mut self, line: &str) {
        if line.starts_with(|letter: char| letter.is_ascii_digit()) && line.contains(" failure") {
            self.tally.add(summary(line).unwrap_or_default());
        }
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}

fn summary(line: &str) -> Option<Tally> {
    let (mut all, mut skipped, mut excluded, mut failed) = (None, 0_u64, 0_u64, 0_u64);
    for part in line.split(", ") {
        let (count, word) = counted(part)?;
        match singular(word) {
            "test" | "doctest" | "run" => all = Some(all.unwrap_or(0_u64).saturating_add(count)),
            "failure" | "error" => failed = failed.saturating_add(count),
            "assertion" | "notification" => {}
            "skipped" | "not run" | "skip" | "pending" | "omission" => {
                skipped = skipped.saturating_add(count)
            }
            "excluded" => excluded = count,
            _ => return None,
        }
    }
    let tally = Tally { failed, ..Tally::of_all(all?, skipped) };
    // ExUnit reports excluded tests; it is unclear whether the first number includes them.
    match tally.ran <= excluded && tally.ran > 0 {
        true => Some(Tally { failed, ..Tally::SOME }),
        false => Some(Tally { filtered: excluded, ..tally }),
    }
}
