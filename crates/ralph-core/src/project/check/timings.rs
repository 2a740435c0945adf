//! Decides from a check's previous runs when it runs after an edit: while the edit waits, beside the
//! work, or at the end of the turn.

use super::{Check, CheckKind, FindingScope};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// After this many missed deadlines in a row, a check is deferred to the end of the turn.
const MISSES: u32 = 2;

/// The durations of a check's previous runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CheckTimes {
    /// Duration of the last run, in milliseconds.
    pub last_ms: u64,
    /// Longest duration so far, usually that of a cold run.
    #[serde(default)]
    longest_ms: u64,
    /// How many times in a row it missed the deadline of an edit.
    missed: u32,
}

/// How much time a run had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Had {
    /// The time that an edit waits. What does not finish runs again, beside the work.
    TimeOfAWait,
    /// The rest of an edit's budget.
    TimeOfAnEdit,
    /// Minutes.
    TimeEnough,
}

impl CheckTimes {
    /// True if the check is deferred to the end of the turn.
    pub fn is_too_slow(&self) -> bool {
        self.missed >= MISSES
    }

    /// True if the check probably finishes within this time. One that was never run counts as slow
    /// if it reads a whole project or runs tests.
    pub fn is_quick(of: Option<CheckTimes>, check: &Check, left: Duration) -> bool {
        match of {
            // The last run may have shared the processor with fewer others.
            Some(times) => left >= Duration::from_millis(times.last_ms + times.last_ms / 2),
            None => check.scope == FindingScope::File && check.kind != CheckKind::Test,
        }
    }

    /// True if the remaining time is enough for a cold run, as far as is known.
    pub fn fits(&self, left: Duration) -> bool {
        left >= Duration::from_millis(self.longest_ms)
    }

    /// Records a run. After a complete run with enough time the tool is warm, so the next edit may
    /// try it once.
    pub fn note(&mut self, took: Duration, finished: bool, had: Had) {
        self.last_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        self.longest_ms = self.longest_ms.max(self.last_ms);
        self.missed = match (finished, had) {
            (true, Had::TimeOfAWait | Had::TimeOfAnEdit) => 0,
            (false, Had::TimeOfAWait) => self.missed,
            (true, Had::TimeEnough) => self.missed.min(MISSES - 1),
            (false, Had::TimeOfAnEdit) => self.missed.saturating_add(1),
            (false, Had::TimeEnough) => MISSES,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::check::parsers::OutputFormat;
    use crate::project::check::{CheckMethod, Parser};
    use std::path::PathBuf;

    /// `+` finished, `-` did not; `F` and `N` are the same for a run with enough time, `w` and `v`
    /// for the time that an edit waits.
    #[track_caller]
    fn check(runs: &str, expected: bool) {
        let mut measured = CheckTimes::default();
        for run in runs.chars() {
            let had = match run {
                '+' | '-' => Had::TimeOfAnEdit,
                'w' | 'v' => Had::TimeOfAWait,
                _ => Had::TimeEnough,
            };
            measured.note(Duration::from_millis(7), matches!(run, '+' | 'F' | 'w'), had);
        }
        assert_eq!(measured.is_too_slow(), expected, "{runs}");
    }

    #[test]
    fn two_misses_in_a_row_are_too_slow_and_a_run_with_time_enough_gives_one_more_try() {
        check("", false);
        check("-", false);
        check("-+-", false);
        check("--", true);
        check("--F", false);
        check("--F-", true);
        check("--F+-", false);
        check("N", true);
        check("F-", false);
        check("vv", false);
        check("--v", true);
        check("-w-", false);
    }

    #[test]
    fn what_was_never_run_is_slow_by_its_nature_and_then_its_last_run_decides() {
        let of = |scope: FindingScope, kind| Check {
            name: String::new(),
            kind,
            by: CheckMethod::Parser(Parser::Json),
            folder: PathBuf::new(),
            scope,
            form: OutputFormat::Plain,
            why: String::new(),
            limit: None,
        };
        let file = of(FindingScope::File, CheckKind::Look);
        let test = of(FindingScope::File, CheckKind::Test);
        let whole = of(FindingScope::Whole("/p".into()), CheckKind::Look);
        let left = Duration::from_millis(900);
        let never_run = [&file, &test, &whole].map(|it| CheckTimes::is_quick(None, it, left));
        assert_eq!(never_run, [true, false, false]);
        let mut times = CheckTimes::default();
        for (ms, expected) in [(600, true), (601, false)] {
            times.note(Duration::from_millis(ms), true, Had::TimeOfAnEdit);
            for check in [&file, &test, &whole] {
                assert_eq!(CheckTimes::is_quick(Some(times), check, left), expected, "{ms}");
            }
        }
    }

    #[test]
    fn a_run_from_nothing_needs_the_longest_time_that_one_took() {
        let mut measured = CheckTimes::default();
        assert!(measured.fits(Duration::ZERO));
        measured.note(Duration::from_millis(9), true, Had::TimeOfAnEdit);
        measured.note(Duration::from_millis(7), true, Had::TimeOfAnEdit);
        assert!(measured.fits(Duration::from_millis(9)));
        assert!(!measured.fits(Duration::from_millis(8)));
    }

    #[test]
    fn the_last_duration_is_kept() {
        let mut measured = CheckTimes::default();
        measured.note(Duration::from_millis(7), true, Had::TimeOfAnEdit);
        measured.note(Duration::from_millis(9), false, Had::TimeOfAnEdit);
        assert_eq!(measured.last_ms, 9);
    }
}
