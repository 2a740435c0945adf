//! CTest. Its total includes skipped tests, which are listed below it, but not disabled ones.

use super::words::{counted, number};
use super::{Runner, Tally};

#[derive(Debug, Clone, Default)]
pub(super) struct Ctest {
    all: u64,
    failed: u64,
    skipped: u64,
    disabled: u64,
    spoke: bool,
}

impl Runner for Ctest {
    fn line(&mut self, line: &str) {
        if let Some((counts, total)) = line.rsplit_once(" failed out of ") {
            if let Some((_, failed)) = counts.split_once("% tests passed, ")
                && let Some(count) = number(total)
            {
                let failed = counted(failed).map_or(0, |(failed, _)| failed);
                self.failed = self.failed.saturating_add(failed);
                self.all = self.all.saturating_add(count);
                self.spoke = true;
            }
        } else if line.starts_with("No tests were found!!!") {
            self.spoke = true;
        } else if line.ends_with(" (Disabled)") || line.contains("***Not Run (Disabled)") {
            self.disabled = self.disabled.saturating_add(1);
        } else if line.ends_with(" (Skipped)") && is_listed(line) && self.spoke {
            self.skipped = self.skipped.saturating_add(1);
        }
    }

    fn tally(&self) -> Tally {
        let of_all = Tally::of_all(self.all, self.skipped);
        let skipped = of_all.skipped.saturating_add(self.disabled);
        if self.spoke { Tally { skipped, failed: self.failed, ..of_all } } else { Tally::default() }
    }
}

/// `3 - name (Skipped)`, indented.
fn is_listed(line: &str) -> bool {
    counted(line).is_some_and(|(_, rest)| rest.starts_with("- "))
}
