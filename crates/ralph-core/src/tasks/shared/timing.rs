//! What depends on time and on an unreliable remote: whether a lease has expired, whether a push landed, and how
//! long a machine waits before the next one.

use super::text::{Name, ObjectId};
use super::view::{ChainState, View};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

// Whether a lease has expired, by the observer's clock alone.
//
// A reference that stays unchanged for the lease's length has expired. Only the time between two
// answered reads counts, and at most two poll intervals of it: while the remote was unreachable,
// or while all machines slept, the holder could not renew either.
//
// A renewal moves another reference than the claim, so it does not stop a take-over that was decided
// before it. A holder that was stopped for too long may renew and still lose its claim: it sees that
// at its next read, and its finish cannot land.

/// The bounds of the time that one call of git may take.
const SHORTEST_CALL: Duration = Duration::from_secs(10);
const LONGEST_CALL: Duration = Duration::from_secs(120);

/// How long one value has stayed unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Watch<V> {
    value: V,
    unchanged: Duration,
}

impl<V: PartialEq> Watch<V> {
    /// Begins with the first answered read.
    pub fn new(value: V) -> Watch<V> {
        Watch { value, unchanged: Duration::ZERO }
    }

    /// An answered read, so long after the answered read before it.
    pub fn answered(&mut self, value: V, elapsed: Duration, poll: Duration) {
        if self.value == value {
            self.unchanged += elapsed.min(poll * 2);
        } else {
            *self = Watch::new(value);
        }
    }

    pub fn has_expired(&self, lease: Duration) -> bool {
        self.unchanged >= lease
    }
}

/// The leases that a machine observes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Leases {
    /// For each claimed task, the claim and the newest renewal of its machine.
    claims: BTreeMap<String, Watch<(ObjectId, Option<ObjectId>)>>,
    integrator: Option<Watch<ObjectId>>,
}

impl Leases {
    /// An answered read, so long after the answered read before it.
    pub fn answered(&mut self, view: &View, elapsed: Duration, poll: Duration) {
        let mut before = std::mem::take(&mut self.claims);
        for (task, chain) in &view.chains {
            let Ok(chain) = chain else { continue };
            if let (ChainState::Claimed { machine, .. }, Some(tip)) = (&chain.state, chain.tip()) {
                let value = (tip.clone(), view.renewals.get(machine).cloned());
                let watch = observed(before.remove(task), value, elapsed, poll);
                self.claims.insert(task.clone(), watch);
            }
        }
        let integrator = view.ledger.integrator.as_ref().map(|held| held.renewed.clone());
        let before = self.integrator.take();
        self.integrator = integrator.map(|value| observed(before, value, elapsed, poll));
    }

    /// The tasks whose claims have expired.
    pub fn expired(&self, lease: Duration) -> BTreeSet<String> {
        let expired = self.claims.iter().filter(|(_, watch)| watch.has_expired(lease));
        expired.map(|(task, _)| task.clone()).collect()
    }

    /// How many machines take part, including this one: those with a claim or the integrator's lease
    /// that has not expired.
    pub fn live(&self, view: &View, own: &Name) -> usize {
        let ledger = &view.ledger;
        let lease = Duration::from_secs(ledger.plan.lease_seconds);
        let claims = self.claims.iter().filter(|(_, watch)| !watch.has_expired(lease));
        let claims =
            claims.filter_map(|(task, _)| match &view.chains.get(task)?.as_ref().ok()?.state {
                ChainState::Claimed { machine, .. } => Some(machine),
                _ => None,
            });
        let integrator = ledger
            .integrator
            .as_ref()
            .filter(|held| !self.has_integrator_expired(Duration::from_secs(held.lease_seconds)));
        let integrator = integrator.map(|held| &held.machine);
        claims.chain(integrator).chain([own]).collect::<BTreeSet<_>>().len()
    }

    pub fn has_integrator_expired(&self, lease: Duration) -> bool {
        self.integrator.as_ref().is_some_and(|watch| watch.has_expired(lease))
    }
}

fn observed<V: PartialEq>(
    watch: Option<Watch<V>>,
    value: V,
    elapsed: Duration,
    poll: Duration,
) -> Watch<V> {
    let Some(mut watch) = watch else { return Watch::new(value) };
    watch.answered(value, elapsed, poll);
    watch
}

/// True if a machine that holds claims has to renew them now: after a third of a lease, so that two
/// more attempts fit in. `since` counts from the start of the last push that renewed.
pub fn is_renewal_due(since: Duration, lease: Duration) -> bool {
    since >= lease / 3
}

/// How long one call of git may take. A call that hangs ends early enough for two more attempts
/// within the lease.
pub fn longest_call(lease: Duration) -> Duration {
    (lease / 6).clamp(SHORTEST_CALL, LONGEST_CALL)
}

// Whether a push landed.
//
// A connection may break after the server has taken the push, and a server may complete a push after
// somebody has read the old value. So neither an exit code nor one read decides: a machine pushes
// the same record again until the record is in the chain or another record is in its place.

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
pub fn retry_pause(attempt: u32, random: f64) -> Duration {
    let doublings = attempt.saturating_sub(2).min(31);
    let full = FIRST_PAUSE.saturating_mul(1 << doublings).min(LONGEST_PAUSE);
    full.mul_f64(0.5 + random.clamp(0.0, 1.0) / 2.0)
}

// How often a machine pushes: hosts recommend a limit for each repository.

/// Pushes to a repository in a minute, unless a setting says otherwise.
pub const PUSHES_PER_MINUTE: u32 = 6;

const MINUTE: Duration = Duration::from_secs(60);

/// How long a machine has to wait before its next push; zero if it may push now. `live` machines
/// share the limit equally. `since` lists how long ago this machine pushed.
pub fn push_wait(per_minute: u32, live: usize, since: &[Duration]) -> Duration {
    let live = u32::try_from(live).unwrap_or(u32::MAX).max(1);
    let per_minute = per_minute.max(1);
    // Either several pushes in a minute, or one in several minutes.
    let (pushes, window) = match per_minute / live {
        0 => (1, MINUTE.saturating_mul(live).div_f64(per_minute.into())),
        share => (share as usize, MINUTE),
    };
    let mut newest = since.to_vec();
    newest.sort_unstable();
    // The push that leaves the window first among the newest `pushes`.
    newest.get(pushes - 1).map_or(Duration::ZERO, |ago| window.saturating_sub(*ago))
}

#[cfg(test)]
mod lease_tests;

#[cfg(test)]
mod settle_tests;

#[cfg(test)]
mod budget_tests;
