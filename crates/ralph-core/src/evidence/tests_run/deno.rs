//! `deno test`.

use super::words::counted;
use super::{Runner, Tally};

#[derive(Debug, Clone, Default)]
pub(super) struct Deno {
    tally: Tally,
}

impl Runner for Deno {
    fn line(&mut self, line: &str) {
        if let Some(counts) = line.strip_prefix("ok | ").or_else(|| line.strip_prefix("FAILED | "))
        {
            self.tally.add(summary(counts).unwrap_or_default());
        }
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}

/// `2 passed (1 step) | 0 failed | 1 ignored (24ms)`
fn summary(counts: &str) -> Option<Tally> {
    let mut tally = Tally::default();
    for part in counts.split(" | ") {
        let (count, rest) = counted(part)?;
        match rest.split(" (").next()? {
            "passed" => tally.add(Tally::ran(count)),
            "failed" => tally.fail(count),
            "ignored" => tally.skipped = count,
            "filtered out" => tally.filtered = count,
            _ => {}
        }
    }
    tally.spoke.then_some(tally)
}
