//! `swift test`: XCTest and swift-testing, which run in sequence.
//!
//! XCTest prints a count after each class, each bundle and the whole run. Only the outermost count
//! is used, which is the last one before another run begins (even if the start of the output was
//! cut off). An empty XCTest run before swift-testing's is normal and does not mean that there are
//! no tests.

use super::words::{counted, number, singular};
use super::{Runner, Tally};

#[derive(Debug, Clone, Default)]
pub(super) struct Swift {
    depth: u32,
    /// XCTest's most recent count.
    closed: Tally,
    /// Tests skipped by swift-testing; its total includes them.
    skipped: u64,
    tally: Tally,
}

impl Runner for Swift {
    fn line(&mut self, line: &str) {
        let line = line.trim_start();
        if let Some(suite) = line.strip_prefix("Test Suite '") {
            if suite.contains("' started at ") {
                if self.depth == 0 {
                    self.tally.add(std::mem::take(&mut self.closed));
                }
                self.depth = self.depth.saturating_add(1);
            } else if suite.contains("' passed at ") || suite.contains("' failed at ") {
                self.depth = self.depth.saturating_sub(1);
            }
        } else if let Some(counts) = line.strip_prefix("Executed ") {
            self.closed = xctest(counts).unwrap_or(self.closed);
        } else if let Some((_, run)) = line.split_once("Test run with ") {
            if let Some(all) = testing(run) {
                let failed = u64::from(run.contains(" failed after "));
                let skipped = std::mem::take(&mut self.skipped);
                self.tally.add(Tally { failed, ..Tally::of_all(all, skipped) });
            }
        } else if line.contains(" Test ") && is_skipped(line) {
            self.skipped = self.skipped.saturating_add(1);
        }
    }

    fn tally(&self) -> Tally {
        let mut tally = self.tally;
        tally.add(self.closed);
        tally
    }
}

/// `3 tests, with 1 test skipped and 0 failures (0 unexpected) in 0.001 (0.001) seconds`
fn xctest(counts: &str) -> Option<Tally> {
    let (tests, rest) = counts.split_once(", with ")?;
    let (all, word) = counted(tests)?;
    let skipped = match rest.split_once(" skipped and ") {
        Some((skipped, _)) => counted(skipped)?.0,
        None => 0,
    };
    let failed = rest.split([' ', ',']).collect::<Vec<_>>();
    let failed = failed.windows(2).find_map(|pair| match pair {
        [count, "failure" | "failures"] => number(count),
        _ => None,
    });
    let tally = Tally { failed: failed.unwrap_or_default(), ..Tally::of_all(all, skipped) };
    (singular(word) == "test" && rest.contains(" failure")).then_some(tally)
}

/// `3 tests passed after 0.001 seconds.`, `3 tests in 1 suite passed after …`
fn testing(run: &str) -> Option<u64> {
    let (count, rest) = counted(run)?;
    let word = rest.split(' ').next()?;
    (singular(word) == "test" && rest.contains(" after ")).then_some(count)
}

/// `➜ Test later() skipped: "…"`
fn is_skipped(line: &str) -> bool {
    line.ends_with(" skipped.") || line.contains(" skipped: ")
}
