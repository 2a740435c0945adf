//! vitest.

use super::words::counted;
use super::{Runner, Tally};

#[derive(Debug, Clone, Default)]
pub(super) struct Vitest {
    tally: Tally,
}

impl Runner for Vitest {
    fn line(&mut self, line: &str) {
        let line = line.trim_start();
        if let Some(counts) = line.strip_prefix("Tests  ") {
            self.tally.add(summary(counts.trim()).unwrap_or_default());
        } else if line.starts_with("No test files found, exiting with code ") {
            self.tally.add(Tally::EMPTY);
        }
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}

/// `1 failed | 2 passed | 1 skipped (4)`
fn summary(counts: &str) -> Option<Tally> {
    if counts == "no tests" {
        return Some(Tally::EMPTY);
    }
    let (counts, _) = counts.strip_suffix(')')?.rsplit_once(" (")?;
    let mut tally = Tally::EMPTY;
    for part in counts.split(" | ") {
        match counted(part)? {
            (count, "passed") => tally.ran = tally.ran.saturating_add(count),
            (count, "failed") => tally.fail(count),
            (count, "skipped" | "todo" | "expected fail") => {
                tally.skipped = tally.skipped.saturating_add(count);
            }
            _ => return None,
        }
    }
    Some(tally)
}
