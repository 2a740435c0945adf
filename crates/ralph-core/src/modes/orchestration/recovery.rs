//! What follows a call that timed out or failed: the same call after a growing wait, and finally
//! none.
//!
//! The waits are data and the time is an argument: this module never sleeps. Its count is separate
//! from the attempts at a task that was executed and judged as failed; a guardrail limits those.

use super::invocation::CallKey;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// How long to wait before the call is made again: after the first failure, the second, and so on.
/// One failure more than there are waits gives the call up.
pub const WAITS: [SignedDuration; 4] = [
    SignedDuration::ZERO,
    SignedDuration::from_secs(30),
    SignedDuration::from_secs(60),
    SignedDuration::from_secs(60),
];

/// What follows a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// Make the same call now.
    Again,
    /// Make the same call, but not before this time.
    NotBefore(Timestamp),
    /// Do not make the call again: a task is split, and anything else needs the user.
    GiveUp,
}

/// What follows this many consecutive failures, the last of which was at `last`.
pub fn after(failures: u32, last: Timestamp, now: Timestamp) -> Recovery {
    let Some(place) = failures.checked_sub(1) else { return Recovery::Again };
    let Some(wait) = usize::try_from(place).ok().and_then(|place| WAITS.get(place)) else {
        return Recovery::GiveUp;
    };
    match last.checked_add(*wait) {
        Ok(moment) if moment > now => Recovery::NotBefore(moment),
        _ => Recovery::Again,
    }
}

/// The history of the calls.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tries(Vec<Try>);

/// The history of one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Try {
    pub key: CallKey,
    /// How often in a row the call timed out, failed, or ended without its result.
    pub failures: u32,
    /// How often the call ended with its result.
    pub ends: u32,
    /// For the execution of a task: how often a call about the task left it as failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_failed: u32,
    /// For the execution of a task: how often `ralph session mark` marked it as failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub marked_failed: u32,
    /// For the execution of a task: the number of the last attempt, counted in its iteration, that the
    /// user began by hand.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub begun: u32,
    /// The time of the last change to this record.
    pub last: Timestamp,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallEnd {
    /// With its result.
    Met,
    /// It timed out, failed, or ended without its result.
    Failed,
}

impl Tries {
    pub fn get(&self, key: &CallKey) -> Option<&Try> {
        self.0.iter().find(|one| one.key == *key)
    }

    pub fn ended(&mut self, key: &CallKey, how: CallEnd, now: Timestamp) {
        let one = self.entry(key, now);
        one.last = now;
        match how {
            CallEnd::Met => (one.failures, one.ends) = (0, one.ends.saturating_add(1)),
            CallEnd::Failed => one.failures = one.failures.saturating_add(1),
        }
    }

    /// The history of a call, which begins now if there is none.
    pub fn entry(&mut self, key: &CallKey, now: Timestamp) -> &mut Try {
        let place = self.0.iter().position(|one| one.key == *key).unwrap_or_else(|| {
            let (failures, ends, left_failed, marked_failed, begun) = (0, 0, 0, 0, 0);
            let key = key.clone();
            self.0.push(Try { key, failures, ends, left_failed, marked_failed, begun, last: now });
            self.0.len() - 1
        });
        &mut self.0[place]
    }

    /// How many calls for which `holds` returns true ended with their result.
    pub fn met(&self, holds: impl Fn(&CallKey) -> bool) -> usize {
        self.0.iter().filter(|one| one.ends > 0 && holds(&one.key)).count()
    }

    /// What follows for this call.
    pub fn recovery(&self, key: &CallKey, now: Timestamp) -> Recovery {
        self.get(key).map_or(Recovery::Again, |one| after(one.failures, one.last, now))
    }
}

#[cfg(test)]
mod tests {
    use super::super::agents::Mode;
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).unwrap()
    }

    fn key(task: &str) -> CallKey {
        CallKey { mode: Mode::Execute, task: task.to_owned(), iteration: 1, cycle: 0 }
    }

    #[track_caller]
    fn check(failures: u32, seconds_since: i64, expected: Recovery) {
        assert_eq!(after(failures, at(0), at(seconds_since)), expected);
    }

    #[test]
    fn the_waits_are_none_thirty_sixty_and_sixty_seconds_and_then_it_is_given_up() {
        check(0, 0, Recovery::Again);
        check(1, 0, Recovery::Again);
        check(2, 0, Recovery::NotBefore(at(30)));
        check(2, 29, Recovery::NotBefore(at(30)));
        check(2, 30, Recovery::Again);
        for failures in [3, 4] {
            check(failures, 30, Recovery::NotBefore(at(60)));
            check(failures, 60, Recovery::Again);
        }
        for failures in [5, 6, u32::MAX] {
            check(failures, 100_000, Recovery::GiveUp);
        }
    }

    #[test]
    fn a_clock_that_was_set_back_only_makes_it_wait() {
        check(2, -3_600, Recovery::NotBefore(at(30)));
    }

    #[test]
    fn failures_count_in_a_row_and_each_call_for_itself() {
        let mut tries = Tries::default();
        let one = tries.entry(&key("task-1"), at(2));
        one.failures = 3;
        assert_eq!(tries.recovery(&key("task-1"), at(3)), Recovery::NotBefore(at(62)));
        assert_eq!(tries.recovery(&key("task-2"), at(3)), Recovery::Again);
        tries.entry(&key("task-1"), at(5)).failures = 1;
        assert_eq!(tries.recovery(&key("task-1"), at(5)), Recovery::Again);
    }

    #[test]
    fn what_is_noted_can_be_stored() {
        let mut tries = Tries::default();
        let one = tries.entry(&key("task-1"), at(0));
        (one.failures, one.left_failed, one.marked_failed, one.begun) = (1, 2, 3, 4);
        let json = serde_json::to_string(&tries).unwrap();
        assert_eq!(serde_json::from_str::<Tries>(&json).unwrap(), tries);
    }
}
