use super::*;
use crate::tasks::graph::tests::Dice;
use crate::tasks::shared::fixture::{Remote, id, name};

const POLL: Duration = Duration::from_secs(30);
const LEASE: Duration = Duration::from_secs(1_800);

fn seconds(number: u64) -> Duration {
    Duration::from_secs(number)
}

#[test]
fn a_lease_expires_after_its_length_without_a_change() {
    let mut watch = Watch::new(1);
    for _ in 0..59 {
        watch.answered(1, POLL, POLL);
    }
    assert!(!watch.has_expired(LEASE));
    watch.answered(1, POLL, POLL);
    assert!(watch.has_expired(LEASE));
    watch.answered(2, POLL, POLL);
    assert!(!watch.has_expired(POLL));
}

#[test]
fn an_outage_or_a_night_counts_as_two_polls() {
    let mut watch = Watch::new(1);
    watch.answered(1, seconds(86_400), POLL);
    assert!(!watch.has_expired(seconds(61)) && watch.has_expired(seconds(60)));
}

#[test]
fn a_holder_that_renews_in_time_is_never_robbed_however_the_observer_reads() {
    for seed in 1..=200_u64 {
        let mut dice = Dice(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(seed));
        let (mut renewals, mut since) = (0, Duration::ZERO);
        let mut watch = Watch::new(renewals);
        for _ in 0..500 {
            // Both sleep, or the remote is gone, for up to a day between two reads.
            let away = if dice.roll(10) == 0 { dice.roll(86_400) } else { dice.roll(90) };
            let away = seconds(away as u64);
            // The holder is as slow as it may be: it attempts a renewal at its next poll only.
            since += away.min(POLL * 2);
            if is_renewal_due(since, LEASE) {
                (renewals, since) = (renewals + 1, Duration::ZERO);
            }
            watch.answered(renewals, away, POLL);
            assert!(!watch.has_expired(LEASE), "seed {seed}");
        }
    }
}

#[test]
fn a_renewal_of_the_machine_renews_all_of_its_claims() {
    let mut remote = Remote::new("T-1\nT-2\nT-3");
    remote.claim("T-1", "a");
    remote.claim("T-2", "a");
    remote.claim("T-3", "b");
    let mut leases = Leases::default();
    leases.answered(&remote.view(), POLL, POLL);
    leases.answered(&remote.view(), POLL, POLL);
    assert_eq!(leases.expired(POLL).len(), 3);
    assert_eq!(leases.expired(POLL * 2).len(), 0, "the first read begins to count");
    remote.renewals.insert(name("a"), id(5));
    leases.answered(&remote.view(), POLL, POLL);
    assert_eq!(leases.expired(POLL * 2), BTreeSet::from(["T-3".to_owned()]));
    remote.task("T-3", "b", crate::tasks::shared::record::TaskRecord::Finish);
    leases.answered(&remote.view(), POLL, POLL);
    assert!(leases.expired(POLL).iter().all(|task| task != "T-3"), "a finish does not expire");
}

#[test]
fn the_integrators_lease_counts_from_its_last_record_in_the_ledger() {
    let mut remote = Remote::new("T-1");
    let mut leases = Leases::default();
    let mut read = |remote: &Remote| {
        leases.answered(&remote.view(), POLL, POLL);
        leases.has_integrator_expired(POLL)
    };
    assert!(!read(&remote) && !read(&remote), "nobody holds it");
    remote.lease("a");
    assert!(!read(&remote) && read(&remote));
    let finish = remote.finish("T-1", "b");
    remote.merge(&[finish], &[]);
    assert!(!read(&remote) && read(&remote));
    remote.renewals.insert(name("a"), id(5));
    assert!(read(&remote), "a renewal of the machine is for its claims");
}

#[test]
fn machines_with_a_lease_are_live() {
    let mut remote = Remote::new("T-1\nT-2");
    let mut leases = Leases::default();
    let live = |leases: &Leases, remote: &Remote| leases.live(&remote.view(), &name("a"));
    assert_eq!(live(&leases, &remote), 1, "a machine counts itself");
    remote.claim("T-1", "a");
    remote.claim("T-2", "b");
    remote.lease("c");
    leases.answered(&remote.view(), POLL, POLL);
    assert_eq!(live(&leases, &remote), 3);
    for _ in 0..60 {
        leases.answered(&remote.view(), POLL, POLL);
    }
    assert_eq!(live(&leases, &remote), 1);
}

#[test]
fn two_more_attempts_to_renew_fit_into_a_lease() {
    assert!(!is_renewal_due(seconds(599), LEASE) && is_renewal_due(seconds(600), LEASE));
    for lease in [60, 300, 1_800].map(seconds) {
        assert!(lease / 3 + 3 * longest_call(lease) < lease, "{lease:?}");
    }
}

#[test]
fn a_call_has_seconds_at_least_and_two_minutes_at_most() {
    assert_eq!(
        [seconds(1), seconds(300), Duration::MAX].map(longest_call),
        [10, 50, 120].map(seconds)
    );
}
