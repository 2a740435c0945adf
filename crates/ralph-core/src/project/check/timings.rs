//! Decides from a check's previous runs whether it is too slow for an edit.

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
            (true, Had::TimeOfAnEdit) => 0,
            (true, Had::TimeEnough) => self.missed.min(MISSES - 1),
            (false, Had::TimeOfAnEdit) => self.missed.saturating_add(1),
            (false, Had::TimeEnough) => MISSES,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `+` finished, `-` did not; `F` and `N` are the same for a run with enough time.
    #[track_caller]
    fn check(runs: &str, expected: bool) {
        let mut measured = CheckTimes::default();
        for run in runs.chars() {
            let had = if matches!(run, '+' | '-') { Had::TimeOfAnEdit } else { Had::TimeEnough };
            measured.note(Duration::from_millis(7), matches!(run, '+' | 'F'), had);
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
