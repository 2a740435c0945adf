//! Which of many alike cases a run plays: all of them with `RALPH_PROOF`, as in `tests/prove`; otherwise a part of them
//! by `RALPH_SEED`, or by the day.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::Location;
use std::time::{SystemTime, UNIX_EPOCH};

/// `RALPH_SEED`, or the number of the day.
pub fn seed() -> u64 {
    let given = std::env::var("RALPH_SEED").ok().and_then(|seed| seed.parse().ok());
    let today =
        || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs() / 86_400);
    given.unwrap_or_else(today)
}

/// Whether everything is played.
pub fn is_proof() -> bool {
    std::env::var_os("RALPH_PROOF").is_some()
}

/// Says of each case in turn whether it is played: one in so many.
pub fn one_in(many: u64) -> impl FnMut() -> bool {
    let (is_proof, mut n) = (is_proof(), seed() % many);
    move || {
        n += 1;
        is_proof || n.is_multiple_of(many)
    }
}

/// Keeps the cases that are played.
pub fn sample<T>(cases: Vec<T>, many: u64) -> Vec<T> {
    let mut is_played = one_in(many);
    cases.into_iter().filter(|_| is_played()).collect()
}

/// Whether the test that asks, one of a group of long ones, is left out: all but one in so many are. What is named on the
/// command line is played.
#[track_caller]
pub fn is_left_out(many: u64) -> bool {
    let mut place = DefaultHasher::new();
    let caller = Location::caller();
    (seed(), caller.file(), caller.line()).hash(&mut place);
    let is_named = std::env::args().skip(1).any(|argument| !argument.starts_with('-'));
    let is_out = !is_proof() && !is_named && !place.finish().is_multiple_of(many);
    if is_out {
        eprintln!(
            "left out: RALPH_SEED={} repeats the choice, RALPH_PROOF=short plays all",
            seed()
        );
    }
    is_out
}
