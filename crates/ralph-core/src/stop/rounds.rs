//! What follows when a client has ended: the round is over, or it is tried again, and when.
//!
//! The client itself has tried up to ten times by then, for some minutes. So an attempt here is a new
//! process, and the pauses between two are long.

use crate::transcript::stream::{Account, Reason};
use jiff::{SignedDuration, Timestamp};
use std::time::Duration;

/// How patient a loop is.
#[derive(Debug, Clone, Copy)]
pub struct Policy {
    /// How many processes a round may take, the first one included.
    pub attempts: u32,
    /// The pause before the second attempt; each later one is twice as long.
    pub first_pause: Duration,
    /// No pause is longer.
    pub longest_pause: Duration,
    /// A subscription's limit is waited out.
    pub waits_for_limits: bool,
    /// A limit that is reset later than this is not waited for.
    pub longest_wait: Duration,
    /// How long after the time of reset the next attempt is made: clocks differ.
    pub margin: Duration,
    /// How long after its last result the client, and what it started, may live on.
    pub grace: Duration,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            attempts: 5,
            first_pause: Duration::from_secs(20),
            longest_pause: Duration::from_secs(600),
            waits_for_limits: false,
            // A weekly limit, and a day.
            longest_wait: Duration::from_secs(8 * 24 * 3600),
            margin: Duration::from_secs(30),
            grace: Duration::from_secs(5),
        }
    }
}

/// How a client's process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    /// By itself.
    Code(i32),
    /// By a signal that was not ours.
    Signal(i32),
    /// By us, after its last result: it, or what it had started, lived on.
    Leftovers,
    /// By us, because a person wanted it at once.
    Interrupted,
}

/// What an attempt came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Showed {
    /// The model had its turn, or the client said why it could not have one.
    Finished,
    /// The subscription's limit is reached, or the money is used up; until then, where it is known.
    Limited(Option<Timestamp>),
    /// The API does not answer, for now.
    Busy(Busy),
    /// The client ended without a result.
    Crashed(String),
    /// A person ended it.
    Interrupted,
}

/// Why the API does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Busy {
    /// It is overloaded, fails, or cannot be reached.
    Overloaded,
    /// There were too many requests.
    RateLimited,
}

/// What is to be done next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextRound {
    /// Nothing: the round is over.
    Over,
    /// Another attempt, after this long.
    AgainAfter(Duration),
    /// Another attempt, at this time.
    AgainAt(Timestamp),
}

/// What the attempt came to, by its lines, its end, and the last words of its standard error.
pub fn showed(account: &Account, exit: &Exit, last_words: &str) -> Showed {
    match (account.reason(), exit) {
        (_, Exit::Interrupted) => Showed::Interrupted,
        (Some(Reason::Own), _) => Showed::Finished,
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

/// What follows on attempt number `attempt` (from 1). `chance` is from 0 to 1: builders that were
/// refused together must not come back together.
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
        // How often it is waited for is not counted: each time costs hours, and the loop has a clock.
        Showed::Limited(Some(until)) if policy.waits_for_limits => {
            let wait = until.duration_since(now).max(SignedDuration::ZERO);
            let far = SignedDuration::try_from(policy.longest_wait).unwrap_or(SignedDuration::MAX);
            // Twice the margin at most, by chance.
            let late = policy.margin.mul_f64(1.0 + chance.clamp(0.0, 1.0));
            match until.checked_add(late) {
                Ok(at) if wait <= far => NextRound::AgainAt(at.max(now)),
                _ => NextRound::Over,
            }
        }
        Showed::Limited(_) => NextRound::Over,
    }
}

/// Doubling, between half and all of its full length.
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
        // It was reset before we heard of it.
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
