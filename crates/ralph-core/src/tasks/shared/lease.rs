//! Whether a lease has expired, by the observer's clock alone.
//!
//! A reference that stays unchanged for the lease's length has expired. Only the time between two
//! answered reads counts, and at most two poll intervals of it: while the remote was unreachable,
//! or while all machines slept, the holder could not renew either.
//!
//! A renewal moves another reference than the claim, so it does not stop a take-over that was decided
//! before it. A holder that was stopped for too long may renew and still lose its claim: it sees that
//! at its next read, and its finish cannot land.

use super::chain::ChainState;
use super::text::{Name, ObjectId};
use super::view::View;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

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

#[cfg(test)]
mod tests;
