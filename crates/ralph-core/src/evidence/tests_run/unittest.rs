//! Python's unittest, and tools built on it (Django, nose2).
//!
//! `Ran N tests in …` includes skipped tests; their number is on the next line.

use super::words::{counted, number, singular};
use super::{Runner, Tally};

#[derive(Debug, Clone, Default)]
pub(super) struct Unittest {
    /// A count whose verdict line has not arrived yet.
    open: Option<u64>,
    tally: Tally,
}

impl Runner for Unittest {
    fn line(&mut self, line: &str) {
        if let Some(ran) = line.strip_prefix("Ran ") {
            if let Some((count, rest)) = counted(ran)
                && let Some((word, time)) = rest.split_once(" in ")
                && singular(word) == "test"
                && time.ends_with('s')
            {
                self.tally = self.tally();
                self.open = Some(count);
            }
            return;
        }
        let verdict = ["OK", "FAILED", "NO TESTS RAN"]
            .iter()
            .find_map(|word| line.strip_prefix(word))
            .filter(|rest| rest.is_empty() || rest.starts_with(" ("));
        if let (Some(all), Some(details)) = (self.open, verdict) {
            self.open = None;
            let failed = sum(details, &["failures", "errors", "unexpected successes"]);
            let not_run = sum(details, &["skipped", "expected failures"]);
            self.tally.add(Tally { failed, ..Tally::of_all(all, not_run) });
        }
    }

    fn tally(&self) -> Tally {
        let mut tally = self.tally;
        tally.add(self.open.map(Tally::ran).unwrap_or_default());
        tally
    }
}

/// The sum of these kinds in ` (failures=1, skipped=2, expected failures=1)`.
fn sum(details: &str, kinds: &[&str]) -> u64 {
    let details = details.trim_matches([' ', '(', ')']);
    details
        .split(", ")
        .filter_map(|part| part.split_once('='))
        .filter(|(what, _)| kinds.contains(what))
        .filter_map(|(_, count)| number(count))
        .fold(0, u64::saturating_add)
}
