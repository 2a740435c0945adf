//! Whether a check is too slow for an edit, by how its last runs went.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// So many times in a row a check may miss the deadline of edits before it is left for later.
const MISSES: u32 = 2;

/// How the last runs of a check went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CheckTimes {
    /// How long it took last, in milliseconds.
    pub last_ms: u64,
    /// The longest that it took, which is from nothing as a rule.
    #[serde(default)]
    longest_ms: u64,
    /// How many times in a row it missed the deadline of an edit.
    missed: u32,
}

/// How much time a run had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Had {
    /// What is left of an edit's budget.
    TimeOfAnEdit,
    /// Minutes.
    TimeEnough,
}

impl CheckTimes {
    /// True if it is left for the end of the turn.
    pub fn is_too_slow(&self) -> bool {
        self.missed >= MISSES
    }

    /// True if this is time enough for a run from nothing, as far as is known.
    pub fn fits(&self, left: Duration) -> bool {
        left >= Duration::from_millis(self.longest_ms)
    }

    /// Remembers a run. One with time enough leaves the tool warm: the next edit may try it once.
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

    /// `+` finished, `-` did not; upper case is a run with time enough: `F` and `N`.
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
