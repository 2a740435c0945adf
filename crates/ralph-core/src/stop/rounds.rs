//! Decides what follows when a headless client has exited: the round is over, or is retried, and
//! when.
//!
//! By then the client itself has retried up to ten times, for some minutes. An attempt here is a
//! new process, so the pauses between attempts are long.

use crate::transcript::stream::{Account, Reason};
use jiff::{SignedDuration, Timestamp};
use std::time::Duration;

/// How patiently a loop retries.
#[derive(Debug, Clone, Copy)]
pub struct Policy {
    /// Maximum number of processes per round, including the first.
    pub attempts: u32,
    /// The pause before the second attempt; doubles for each later one.
    pub first_pause: Duration,
    /// Maximum length of a pause.
    pub longest_pause: Duration,
    /// Whether to wait until a subscription's limit resets.
    pub waits_for_limits: bool,
    /// Limits that reset later than this are not waited for.
    pub longest_wait: Duration,
    /// Delay between the reset time and the next attempt: clocks differ.
    pub margin: Duration,
    /// How long the client and its child processes may run after the last result.
    pub grace: Duration,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            attempts: 5,
            first_pause: Duration::from_secs(20),
            longest_pause: Duration::from_secs(600),
            waits_for_limits: true,
            // A weekly limit plus one day.
            longest_wait: Duration::from_secs(8 * 24 * 3600),
            margin: Duration::from_secs(30),
            grace: Duration::from_secs(5),
        }
    }
}

/// How a client's process exited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    /// It exited by itself.
    Code(i32),
    /// A signal that was not ours killed it.
    Signal(i32),
    /// We ended it after its last result: it, or its child processes, kept running.
    Leftovers,
    /// We ended it because the user wanted to stop at once.
    Interrupted,
}

/// The result of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Showed {
    /// The model had its turn, or the client reported why not.
    Finished,
    /// The subscription's limit or the credit is used up; with the reset time, if known.
    Limited(Option<Timestamp>),
    /// The API is temporarily unavailable.
    Busy(Busy),
    /// The client exited without a result.
    Crashed(String),
    /// The user ended it.
    Interrupted,
}

/// Why the API is unavailable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Busy {
    /// It is overloaded, failed, or unreachable.
    Overloaded,
    /// Too many requests.
    RateLimited,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextRound {
    /// Nothing: the round is over.
    Over,
    /// Retry after this time.
    AgainAfter(Duration),
    /// Retry at this time.
    AgainAt(Timestamp),
}

/// The result of an attempt, from its lines, its exit and the end of its standard error.
pub fn showed(account: &Account, exit: &Exit, last_words: &str) -> Showed {
    match (account.reason(), exit) {
        (_, Exit::Interrupted) => Showed::Interrupted,
        (Some(Reason::Own | Reason::Refused { .. }), _) => Showed::Finished,
        (Some(Reason::Overloaded), _) => Showed::Busy(Busy::Overloaded),
        (Some(Reason::RateLimited), _) => Showed::Busy(Busy::RateLimited),
        (Some(Reason::UsedUp(until)), _) => Showed::Limited(*until),
        (None, exit) => Showed::Crashed(why_crashed(exit, last_words)),
    }
}

fn why_crashed(exit: &Exit, last_words: &str) -> String {
    let how = match exit {
        Exit::Code(code) => format!("the client ended with exit code {code} and no result"),
        Exit::Signal(signal) => format!("the client was ended by signal {signal}"),
        Exit::Leftovers | Exit::Interrupted => "the client was ended".to_owned(),
    };
    let words = last_words.trim();
    if words.is_empty() { how } else { format!("{how}: {words}") }
}

/// The next step after attempt number `attempt` (from 1). `chance` is between 0 and 1: builders
/// that were refused at the same time must not retry at the same time.
pub fn next(
    showed: &Showed,
    attempt: u32,
    now: Timestamp,
    policy: &Policy,
    chance: f64,
) -> NextRound {
    match showed {
        Showed::Finished | Showed::Crashed(_) | Showed::Interrupted => NextRound::Over,
        Showed::Busy(_) if attempt >= policy.attempts => NextRound::Over,
        Showed::Busy(_) => NextRound::AgainAfter(pause(attempt, policy, chance)),
        // These waits are not counted: each takes hours, and the loop has a time limit.
        Showed::Limited(Some(until)) if policy.waits_for_limits => {
            let wait = until.duration_since(now).max(SignedDuration::ZERO);
            let far = SignedDuration::try_from(policy.longest_wait).unwrap_or(SignedDuration::MAX);
            // Between one and two margins late, at random.
            let late = policy.margin.mul_f64(1.0 + chance.clamp(0.0, 1.0));
            match until.checked_add(late) {
                Ok(at) if wait <= far => NextRound::AgainAt(at.max(now)),
                _ => NextRound::Over,
            }
        }
        Showed::Limited(_) => NextRound::Over,
    }
}

/// Doubles with each attempt; at random between half and all of its full length.
fn pause(attempt: u32, policy: &Policy, chance: f64) -> Duration {
    let doublings = attempt.saturating_sub(1).min(31);
    let full = policy.first_pause.saturating_mul(1 << doublings).min(policy.longest_pause);
    full.mul_f64(0.5 + chance.clamp(0.0, 1.0) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-01-01T12:00:00Z";

    fn policy() -> Policy {
        Policy { waits_for_limits: true, ..Policy::default() }
    }

    #[track_caller]
    fn check(showed: Showed, attempt: u32, chance: f64, expected: NextRound) {
        let now = NOW.parse().unwrap();
        assert_eq!(next(&showed, attempt, now, &policy(), chance), expected, "{showed:?}");
    }

    #[test]
    fn what_is_over_is_not_tried_again() {
        for showed in [Showed::Finished, Showed::Crashed("x".to_owned()), Showed::Interrupted] {
            check(showed, 1, 0.5, NextRound::Over);
        }
    }

    #[test]
    fn pauses_double_up_to_a_bound_and_chance_moves_each_within_its_half() {
        let again = |seconds| NextRound::AgainAfter(Duration::from_secs(seconds));
        for busy in [Busy::Overloaded, Busy::RateLimited] {
            check(Showed::Busy(busy), 1, 0.0, again(10));
            check(Showed::Busy(busy), 1, 1.0, again(20));
            check(Showed::Busy(busy), 3, 1.0, again(80));
            check(Showed::Busy(busy), 5, 1.0, NextRound::Over);
        }
        let many = Policy { attempts: u32::MAX, ..policy() };
        let now = NOW.parse().unwrap();
        let far = next(&Showed::Busy(Busy::Overloaded), 4_000_000, now, &many, 7.0);
        assert_eq!(far, again(600));
    }

    #[test]
    fn a_limit_is_waited_out_to_a_little_after_its_reset() {
        let limited = |until: &str| Showed::Limited(Some(until.parse().unwrap()));
        let at = |time: &str| NextRound::AgainAt(time.parse().unwrap());
        check(limited("2026-01-01T14:00:00Z"), 1, 0.0, at("2026-01-01T14:00:30Z"));
        check(limited("2026-01-01T14:00:00Z"), 99, 1.0, at("2026-01-01T14:01:00Z"));
        // The limit was reset before we read about it.
        check(limited("2026-01-01T11:00:00Z"), 1, 0.0, at(NOW));
        check(limited("2026-01-10T12:00:00Z"), 1, 0.0, NextRound::Over);
        check(Showed::Limited(None), 1, 0.0, NextRound::Over);
        let impatient = Policy { waits_for_limits: false, ..policy() };
        let limited = limited("2026-01-01T12:00:01Z");
        assert_eq!(next(&limited, 1, NOW.parse().unwrap(), &impatient, 0.0), NextRound::Over);
    }

    #[test]
    fn a_client_without_a_result_has_crashed_and_its_last_words_say_why() {
        let account = Account::default();
        let crashed = |exit, words| match showed(&account, &exit, words) {
            Showed::Crashed(why) => why,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            crashed(Exit::Code(1), " Session ID x is already in use.\n"),
            "the client ended with exit code 1 and no result: Session ID x is already in use."
        );
        assert_eq!(crashed(Exit::Signal(9), ""), "the client was ended by signal 9");
        assert_eq!(showed(&account, &Exit::Interrupted, ""), Showed::Interrupted);
    }
}
