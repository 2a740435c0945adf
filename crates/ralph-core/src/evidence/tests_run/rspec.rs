//! RSpec.

use super::words::{counted, singular};
use super::{Runner, Tally};

#[derive(Debug, Clone, Default)]
pub(super) struct Rspec {
    filtered: bool,
    tally: Tally,
}

impl Runner for Rspec {
    fn line(&mut self, line: &str) {
        self.filtered |= line.starts_with("All examples were filtered out");
        if line.contains(" example") {
            self.tally.add(summary(line).unwrap_or_default());
        }
    }

    fn tally(&self) -> Tally {
        Tally { filtered: u64::from(self.filtered), ..self.tally }
    }
}

/// `3 examples, 0 failures, 1 pending`
fn summary(line: &str) -> Option<Tally> {
    let mut parts = line.split(", ").map(counted);
    let (all, word) = parts.next()??;
    let (failed, failures) = parts.next()??;
    if singular(word) != "example" || singular(failures) != "failure" {
        return None;
    }
    let pending = parts.flatten().find_map(|(count, word)| (word == "pending").then_some(count));
    Some(Tally { failed, ..Tally::of_all(all, pending.unwrap_or_default()) })
}
