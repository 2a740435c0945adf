//! Whether a push landed.
//!
//! A connection may break after the server has taken the push, and a server may complete a push after
//! somebody has read the old value. So neither an exit code nor one read decides: a machine pushes
//! the same record again until the record is in the chain or another record is in its place.

use super::text::ObjectId;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A lock that has blocked a reference for so long will not go away by itself.
const STALE_LOCK: Duration = Duration::from_secs(60);

/// The first pause before the same record is pushed again, and the longest one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The result of one push, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Settled {
    Landed,
    /// Unknown until the reference has been read after the push.
    Read,
    /// Push the same record with the same expected value again.
    Again,
    /// Another record is in its place.
    Lost,
    /// The reference cannot be updated until somebody removes a lock on the server.
    StaleLock,
}

impl Settled {
    /// True if nothing more has to be pushed or read.
    pub fn is_final(self) -> bool {
        matches!(self, Settled::Landed | Settled::Lost)
    }
}

/// What a machine knows about a push.
#[derive(Debug, Clone, Copy)]
pub struct Attempt<'a> {
    /// The record that was pushed.
    pub record: &'a ObjectId,
    /// The value that the push expected; `None` if the reference did not exist.
    pub expected: Option<&'a ObjectId>,
    /// The first character of git's status line for the reference, if git printed one.
    pub status: Option<char>,
    /// The commits of the reference, oldest first, in a read that began after the push had ended.
    pub chain: Option<&'a [ObjectId]>,
    /// For how long every attempt has failed with `File exists`.
    pub locked: Option<Duration>,
}

/// Settles a push.
pub fn settle(attempt: &Attempt<'_>) -> Settled {
    // A line for a refused reference proves nothing: it also appears when the connection breaks.
    if matches!(attempt.status, Some('*' | '+' | ' ' | '-' | '=')) {
        return Settled::Landed;
    }
    let Some(chain) = attempt.chain else { return Settled::Read };
    if chain.contains(attempt.record) {
        Settled::Landed
    } else if chain.last() != attempt.expected {
        Settled::Lost
    } else if attempt.locked.is_some_and(|locked| locked >= STALE_LOCK) {
        Settled::StaleLock
    } else {
        Settled::Again
    }
}

/// How long to wait before attempt number `attempt` (from 2) at the same push. `random` is between
/// 0 and 1.
pub fn pause(attempt: u32, random: f64) -> Duration {
    let doublings = attempt.saturating_sub(2).min(31);
    let full = FIRST_PAUSE.saturating_mul(1 << doublings).min(LONGEST_PAUSE);
    full.mul_f64(0.5 + random.clamp(0.0, 1.0) / 2.0)
}

#[cfg(test)]
mod tests;
