//! PHPUnit.

use super::words::{counted, labelled, singular};
use super::{Runner, Tally};

#[derive(Debug, Clone, Default)]
pub(super) struct PhpUnit {
    tally: Tally,
}

impl Runner for PhpUnit {
    fn line(&mut self, line: &str) {
        if let Some(counts) = line.strip_prefix("OK (") {
            self.tally.add(passed(counts).unwrap_or_default());
        } else if line.starts_with("Tests: ") {
            self.tally.add(summary(line).unwrap_or_default());
        } else if line.starts_with("No tests executed!") {
            self.tally.add(Tally::EMPTY);
        }
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}

/// `3 tests, 5 assertions)`; JUnit 4's own runner prints `3 tests)`.
fn passed(counts: &str) -> Option<Tally> {
    let (count, word) = counted(counts.strip_suffix(')')?.split(", ").next()?)?;
    (singular(word) == "test").then(|| Tally::ran(count))
}

/// `Tests: 3, Assertions: 1, Failures: 1, Skipped: 1.`
fn summary(line: &str) -> Option<Tally> {
    let (mut all, mut not_run, mut failed, mut is_ours) = (0, 0_u64, 0_u64, false);
    for part in line.split(", ") {
        match labelled(part)? {
            ("Tests", count) => all = count,
            ("Assertions", _) => is_ours = true,
            ("Failures" | "Errors", count) => failed = failed.saturating_add(count),
            ("Skipped" | "Incomplete", count) => not_run = not_run.saturating_add(count),
            _ => {}
        }
    }
    is_ours.then(|| Tally { failed, ..Tally::of_all(all, not_run) })
}
