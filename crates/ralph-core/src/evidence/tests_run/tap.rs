//! The Test Anything Protocol (bats, vitest's and mocha's reporters, prove), and the summary of
//! Node's test runner, which follows such lines or a tree.
//!
//! The summary is more precise than the lines: it excludes suites and counts their tests. So the
//! lines before a summary are discarded.

use super::words::{counted, number};
use super::{Runner, Tally};

#[derive(Debug, Clone, Default)]
pub(super) struct Tap {
    /// The counts of the summaries.
    summaries: Tally,
    /// Test lines since the last summary.
    points: Tally,
    /// True after a plan (`1..N`): without one, the lines could come from any program. It may come
    /// last.
    planned: bool,
}

impl Runner for Tap {
    fn line(&mut self, line: &str) {
        if let Some(fact) = line.strip_prefix("# ").or_else(|| line.strip_prefix("ℹ ")) {
            return self.fact(fact);
        }
        if let Some(point) = line.strip_prefix("ok ") {
            self.points.add(point_of(point).unwrap_or_default());
        } else if let Some(point) = line.strip_prefix("not ok ") {
            let point = point_of(point).unwrap_or_default();
            self.points.add(Tally { failed: point.ran, ..point });
        } else if let Some(counts) = line.strip_prefix("Files=") {
            // `prove` prints this at the end, and shows the lines of the tests only on request.
            let ran =
                counts.split_once(", Tests=").and_then(|(_, rest)| number(rest.split(',').next()?));
            if let Some(ran) = ran {
                let points = std::mem::take(&mut self.points);
                let not_run = points.skipped.min(ran);
                self.summaries.add(Tally { failed: points.failed, ..Tally::of_all(ran, not_run) });
            }
        } else if line == "Result: FAIL" && self.summaries.spoke {
            self.summaries.failed = self.summaries.failed.max(1);
        } else if let Some(plan) = line.strip_prefix("1..") {
            self.plan(plan);
        }
    }

    fn tally(&self) -> Tally {
        let mut tally = self.summaries;
        if self.planned {
            tally.add(self.points);
        }
        tally
    }
}

impl Tap {
    fn fact(&mut self, fact: &str) {
        let Some((what, count)) = fact.split_once(' ') else { return };
        let Some(count) = number(count.trim_start()) else { return };
        match what {
            "tests" => {
                self.points = Tally::default();
                self.summaries.add(Tally::EMPTY);
            }
            "pass" if self.summaries.spoke => self.summaries.add(Tally::ran(count)),
            "fail" | "cancelled" if self.summaries.spoke => self.summaries.fail(count),
            "skipped" | "todo" if self.summaries.spoke => {
                self.summaries.add(Tally { skipped: count, ..Tally::EMPTY });
            }
            _ => {}
        }
    }

    fn plan(&mut self, plan: &str) {
        let (last, comment) = plan.split_once(' ').unwrap_or((plan, ""));
        match number(last) {
            Some(0) => {
                self.planned = true;
                let skipped = u64::from(has_directive(comment));
                self.points.add(Tally { skipped, ..Tally::EMPTY });
            }
            Some(_) => self.planned = true,
            None => {}
        }
    }
}

/// `3 - a name # SKIP later`
fn point_of(text: &str) -> Option<Tally> {
    let (_, name) = counted(text).or_else(|| Some((number(text)?, "")))?;
    Some(match has_directive(name) {
        true => Tally { skipped: 1, ..Tally::EMPTY },
        false => Tally::ran(1),
    })
}

/// A `todo` test may fail, and so proves nothing.
fn has_directive(text: &str) -> bool {
    text.rsplit_once('#').is_some_and(|(_, directive)| {
        let word = directive.trim_start().as_bytes().get(..4);
        word.is_some_and(|word| {
            word.eq_ignore_ascii_case(b"skip") || word.eq_ignore_ascii_case(b"todo")
        })
    })
}
