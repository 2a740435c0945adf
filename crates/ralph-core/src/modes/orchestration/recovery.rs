//! What follows a call that timed out or failed: the same call again, later and later, and then less.
//!
//! The waits are data, and the time is given: nobody sleeps here. This count is not the one of a task
//! that was carried out and judged as failed; that one is a guardrail of the session.

use super::invocation::CallKey;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// How long is waited before the call is made again: after the first failure, the second, and so on.
/// After one failure more than there are waits the call is given up.
pub const WAITS: [SignedDuration; 4] = [
    SignedDuration::ZERO,
    SignedDuration::from_secs(30),
    SignedDuration::from_secs(60),
    SignedDuration::from_secs(60),
];

/// What follows a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// The same call now.
    Again,
    /// The same call, not before this moment.
    NotBefore(Timestamp),
    /// Not this call any more: a task is split, anything else is for a person.
    GiveUp,
}

/// What follows so many failures in a row, of which the last was then.
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

/// How calls went, for as long as it matters.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tries(Vec<Try>);

/// How one call went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Try {
    /// Which.
    pub key: CallKey,
    /// How often in a row it timed out, failed, or ended without what it was made for.
    pub failures: u32,
    /// How often it ended with it.
    pub ends: u32,
    /// For the execution of a task: how often a call about the task left it as failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_failed: u32,
    /// For the execution of a task: how often `ralph session mark` has marked it as failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub marked_failed: u32,
    /// When something of this was noted last.
    pub last: Timestamp,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallEnd {
    /// With what it was made for.
    Met,
    /// It timed out, failed, or ended without.
    Failed,
}

impl Tries {
    /// How this call went so far.
    pub fn get(&self, key: &CallKey) -> Option<&Try> {
        self.0.iter().find(|one| one.key == *key)
    }

    /// Notes an end.
    pub fn ended(&mut self, key: &CallKey, how: CallEnd, now: Timestamp) {
        let one = self.of(key, now);
        one.last = now;
        match how {
            CallEnd::Met => (one.failures, one.ends) = (0, one.ends.saturating_add(1)),
            CallEnd::Failed => one.failures = one.failures.saturating_add(1),
        }
    }

    /// Notes that a call about the task of an execution has left it as failed.
    pub fn left_failed(&mut self, key: &CallKey, now: Timestamp) {
        let one = self.of(key, now);
        one.left_failed = one.left_failed.saturating_add(1);
    }

    /// Notes that the task of an execution was marked as failed.
    pub fn marked_failed(&mut self, key: &CallKey, now: Timestamp) {
        let one = self.of(key, now);
        one.marked_failed = one.marked_failed.saturating_add(1);
    }

    fn of(&mut self, key: &CallKey, now: Timestamp) -> &mut Try {
        let place = self.0.iter().position(|one| one.key == *key).unwrap_or_else(|| {
            let (failures, ends, left_failed, marked_failed) = (0, 0, 0, 0);
            let key = key.clone();
            self.0.push(Try { key, failures, ends, left_failed, marked_failed, last: now });
            self.0.len() - 1
        });
        &mut self.0[place]
    }

    /// How many calls that hold ended with what they were made for.
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
        for second in 0..3 {
            tries.ended(&key("task-1"), CallEnd::Failed, at(second));
        }
        assert_eq!(tries.recovery(&key("task-1"), at(3)), Recovery::NotBefore(at(62)));
        assert_eq!(tries.recovery(&key("task-2"), at(3)), Recovery::Again);
        tries.ended(&key("task-1"), CallEnd::Met, at(4));
        tries.ended(&key("task-1"), CallEnd::Failed, at(5));
        assert_eq!(tries.recovery(&key("task-1"), at(5)), Recovery::Again);
        let one = tries.get(&key("task-1")).unwrap();
        assert_eq!((one.failures, one.ends, one.last), (1, 1, at(5)));
    }

    #[test]
    fn what_is_noted_can_be_stored() {
        let mut tries = Tries::default();
        tries.ended(&key("task-1"), CallEnd::Failed, at(0));
        let json = serde_json::to_string(&tries).unwrap();
        assert_eq!(serde_json::from_str::<Tries>(&json).unwrap(), tries);
    }
}
