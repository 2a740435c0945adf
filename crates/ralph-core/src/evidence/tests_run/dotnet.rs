//! `dotnet test`: VSTest's line per assembly, VSTest's total, and Microsoft.Testing.Platform.
//!
//! One run may be reported in two of these formats, so they are not added up.

use super::words::labelled;
use super::{Runner, Tally};

#[derive(Debug, Clone, Default)]
pub(super) struct Dotnet {
    /// `Passed!  - Failed: 0, Passed: 3, Skipped: 0, Total: 3, …`
    assemblies: Tally,
    /// `Total tests: 3`, `Passed: 2`, `Skipped: 1`, each on its own line.
    totals: Tally,
    /// `Test run summary: Passed!` and a column, or `Test summary: total: 3, …`.
    platform: Tally,
    nothing: Tally,
    column: Column,
}

/// The format whose column the next lines may continue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Column {
    #[default]
    None,
    Totals,
    Platform,
}

impl Runner for Dotnet {
    fn line(&mut self, line: &str) {
        let is_indented = line.starts_with(' ');
        let line = line.trim_start();
        let verdicts = ["Passed!", "Failed!", "Skipped!"];
        if let Some(rest) = verdicts.iter().find_map(|verdict| line.strip_prefix(verdict)) {
            let counts = rest.trim_start().strip_prefix("- ").unwrap_or_default();
            self.assemblies.add(listed(counts, "Total").unwrap_or_default());
        } else if let Some(counts) = line.strip_prefix("Test summary: ") {
            self.platform.add(listed(counts, "total").unwrap_or_default());
        } else if let Some(verdict) = line.strip_prefix("Test run summary: ") {
            self.column = Column::Platform;
            if verdict.starts_with("Zero tests ran") {
                self.platform.add(Tally::EMPTY);
            }
        } else if line.starts_with("No test is available in ") {
            self.nothing.add(Tally::EMPTY);
        } else if line.starts_with("No test matches the given testcase filter") {
            self.nothing.add(Tally { filtered: 1, ..Tally::EMPTY });
        } else {
            // The lines of a column are indented under its heading.
            if !is_indented {
                self.column = Column::None;
            }
            self.cell(line);
        }
    }

    fn tally(&self) -> Tally {
        let forms = [self.assemblies, self.totals, self.platform];
        let mut tally = forms.into_iter().max_by_key(|form| (form.ran, form.skipped, form.spoke));
        tally.get_or_insert_default().add(self.nothing);
        tally.unwrap_or_default()
    }
}

impl Dotnet {
    fn cell(&mut self, line: &str) {
        let Some((label, count)) = labelled(line) else {
            // Blank lines never get here; `duration: 1s` and the like may be between the counts.
            return;
        };
        if label == "Total tests" {
            self.column = Column::Totals;
            return self.totals.add(Tally::EMPTY);
        }
        let column = match self.column {
            Column::None => return,
            Column::Totals => &mut self.totals,
            Column::Platform => &mut self.platform,
        };
        column.add(match label {
            "Passed" | "succeeded" => Tally::ran(count),
            "Failed" | "failed" => Tally::failed(count),
            "Skipped" | "skipped" => Tally { skipped: count, ..Tally::EMPTY },
            "total" => Tally::EMPTY,
            _ => Tally::default(),
        });
    }
}

/// `Failed: 0, Passed: 3, Skipped: 0, Total: 3, Duration: 10 ms - X.dll (net8.0)`
fn listed(counts: &str, total: &str) -> Option<Tally> {
    let (mut all, mut skipped, mut failed) = (None, 0, 0);
    for (label, count) in counts.split(", ").filter_map(labelled) {
        match label {
            "Skipped" | "skipped" => skipped = count,
            "Failed" | "failed" => failed = count,
            _ if label == total => all = Some(count),
            _ => {}
        }
    }
    Some(Tally { failed, ..Tally::of_all(all?, skipped) })
}
