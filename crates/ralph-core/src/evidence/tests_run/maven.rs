//! JUnit and TestNG under Maven Surefire and Failsafe, and under Ant.
//!
//! Each class has a line, followed by the total of its module. The class lines count only if no
//! total was printed.

use super::words::labelled;
use super::{Runner, Tally};

#[derive(Debug, Clone, Default)]
pub(super) struct Maven {
    classes: Tally,
    totals: Tally,
}

impl Runner for Maven {
    fn line(&mut self, line: &str) {
        let line = without_level(line.trim_start());
        if line.starts_with("Tests run:") {
            let is_class = line.contains("Time elapsed:");
            let which = if is_class { &mut self.classes } else { &mut self.totals };
            which.add(summary(line).unwrap_or_default());
        } else if line == "No tests to run." || line == "There are no tests to run." {
            self.classes.add(Tally::EMPTY);
        } else if line == "Tests are skipped." {
            self.classes.add(Tally { skipped: 1, ..Tally::EMPTY });
        }
    }

    fn tally(&self) -> Tally {
        if self.totals.spoke { self.totals } else { self.classes }
    }
}

/// `[INFO] `, `[ERROR] `, Ant's `[junit] `
fn without_level(line: &str) -> &str {
    let level = line.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    level.map_or(line, |(_, rest)| rest.trim_start())
}

/// `Tests run: 3, Failures: 0, Errors: 0, Skipped: 1, Time elapsed: …`
fn summary(line: &str) -> Option<Tally> {
    let mut parts = line.split(',').map(labelled);
    let (_, all) = parts.next()??;
    let ("Failures", mut failed) = parts.next()?? else { return None };
    let mut skipped = 0;
    for (what, count) in parts.flatten() {
        match what {
            "Errors" => failed = failed.saturating_add(count),
            "Skipped" => skipped = count,
            _ => {}
        }
    }
    Some(Tally { failed, ..Tally::of_all(all, skipped) })
}
