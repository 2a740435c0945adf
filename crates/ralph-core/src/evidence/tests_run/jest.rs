//! jest.

use super::words::counted;
use super::{Runner, Tally};

#[derive(Debug, Clone, Default)]
pub(super) struct Jest {
    tally: Tally,
}

impl Runner for Jest {
    fn line(&mut self, line: &str) {
        let line = line.trim_start();
        if let Some(counts) = line.strip_prefix("Tests: ") {
            self.tally.add(summary(counts).unwrap_or_default());
        } else if line.starts_with("No tests found, exiting with code ")
            || line.starts_with("No tests found related to files changed since ")
        {
            self.tally.add(Tally::EMPTY);
        }
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}

/// `1 skipped, 1 todo, 2 passed, 4 total`
fn summary(counts: &str) -> Option<Tally> {
    let mut tally = Tally::default();
    for part in counts.split(", ") {
        match counted(part)? {
            (count, "passed") => tally.ran = tally.ran.saturating_add(count),
            (count, "failed") => tally.fail(count),
            (count, "skipped" | "todo") => tally.skipped = tally.skipped.saturating_add(count),
            (_, "total") => tally.spoke = true,
            _ => return None,
        }
    }
    tally.spoke.then_some(tally)
}
