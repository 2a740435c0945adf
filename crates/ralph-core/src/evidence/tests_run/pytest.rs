//! pytest: its last line, with or without the line of `=` around it.

use super::words::{counted, singular};
use super::{Runner, Tally};

#[derive(Debug, Clone, Default)]
pub(super) struct Pytest {
    tally: Tally,
}

impl Runner for Pytest {
    fn line(&mut self, line: &str) {
        let line = line.trim_matches(|letter| letter == '=' || letter == ' ');
        // `0.02s`, `0.02 seconds`, `61.20s (0:01:01)`
        if let Some((counts, time)) = line.rsplit_once(" in ")
            && time.starts_with(|letter: char| letter.is_ascii_digit())
            && time.contains('s')
        {
            self.tally.add(summary(counts).unwrap_or_default());
        }
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}

/// `1 failed, 2 passed, 3 deselected`; `None` if any word is not pytest's.
fn summary(counts: &str) -> Option<Tally> {
    if counts == "no tests ran" {
        return Some(Tally::EMPTY);
    }
    let mut tally = Tally::default();
    for part in counts.split(", ") {
        let (count, word) = counted(part)?;
        let found = match singular(word) {
            "passed" | "xpassed" => Tally::ran(count),
            "failed" | "error" => Tally::failed(count),
            "skipped" | "xfailed" => Tally { skipped: count, ..Tally::EMPTY },
            "deselected" => Tally { filtered: count, ..Tally::EMPTY },
            // On their own they may come from another tool: `1 warning in 0.2s`.
            "warning" | "rerun" | "subtests passed" | "subtests failed" => Tally::default(),
            _ => return None,
        };
        tally.add(found);
    }
    Some(tally)
}
