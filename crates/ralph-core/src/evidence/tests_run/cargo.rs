//! `cargo test`, any program with Rust's test harness, and `cargo nextest`.
//!
//! nextest runs each test in a process with that harness and may show its output, so harness output
//! between nextest's first and last line is not counted again.

use super::words::{counted, number};
use super::{Runner, Tally};

#[derive(Debug, Clone, Default)]
pub(super) struct Cargo {
    in_nextest: bool,
    tally: Tally,
}

impl Runner for Cargo {
    fn line(&mut self, line: &str) {
        if let Some(result) = line.strip_prefix("test result: ") {
            if !self.in_nextest {
                self.tally.add(harness(result).unwrap_or_default());
            }
            return;
        }
        let line = line.trim_start();
        if let Some(starting) = line.strip_prefix("Starting ") {
            self.in_nextest |= counted(starting)
                .is_some_and(|(_, rest)| rest.starts_with("test") && rest.contains(" across "));
        } else if let Some(tally) = line.strip_prefix("Summary [").and_then(nextest) {
            self.tally.add(tally);
            self.in_nextest = false;
        }
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}

/// `ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s`
fn harness(result: &str) -> Option<Tally> {
    let (_, counts) = result.split_once(". ")?;
    let mut tally = Tally::default();
    for (count, word) in counts.split(';').filter_map(counted) {
        match word {
            "passed" => tally.add(Tally::ran(count)),
            "failed" => tally.fail(count),
            "measured" => tally.ran = tally.ran.saturating_add(count),
            "ignored" => tally.skipped = count,
            "filtered out" => tally.filtered = count,
            _ => {}
        }
    }
    tally.spoke.then_some(tally)
}

/// `   0.018s] 3 tests run: 3 passed, 1 skipped`; `1/3 tests run: …` if the run was cut short.
fn nextest(summary: &str) -> Option<Tally> {
    let (_, summary) = summary.split_once(']')?;
    let (run, counts) = summary.split_once(" run: ")?;
    let (ran, word) = run.trim().split_once(' ')?;
    let ran = number(ran.split('/').next()?)?;
    let mut tally = Tally::ran(ran);
    for (count, word) in counts.split(',').filter_map(counted) {
        match word {
            "skipped" => tally.skipped = count,
            "failed" | "timed out" => tally.failed = tally.failed.saturating_add(count),
            _ => {}
        }
    }
    word.starts_with("test").then_some(tally)
}
