use super::*;
use crate::tasks::shared::fixture::{Remote, receipt};
use crate::tasks::shared::record::LedgerRecord;
use crate::tasks::shared::text::Text;

const POLL: Duration = Duration::from_secs(30);

fn decide(remote: &Remote, change: impl Fn(&mut Candidate)) -> Integration {
    let mut candidate = Candidate {
        is_holder: false,
        expired: false,
        has_commits: false,
        has_finished: false,
        poll: POLL,
        random: 0.5,
    };
    change(&mut candidate);
    integration(&remote.view(), &candidate)
}

#[test]
fn nobody_takes_the_lease_while_nothing_is_due() {
    let mut remote = Remote::new("T-1");
    remote.claim("T-1", "a");
    assert_eq!(decide(&remote, |_| {}), Integration::Nothing);
    assert_eq!(decide(&remote, |one| one.has_finished = true), Integration::Nothing);
}

#[test]
fn a_finisher_tries_first_and_the_others_after_a_poll_or_two() {
    let mut remote = Remote::new("T-1");
    remote.finish("T-1", "a");
    let after = |seconds| Integration::Take(Duration::from_secs(seconds));
    assert_eq!(decide(&remote, |one| one.has_finished = true), after(0));
    assert_eq!(decide(&remote, |_| {}), after(45));
    assert_eq!(decide(&remote, |one| one.random = 2.0), after(60));
}

#[test]
fn the_holder_merges_and_the_others_leave_it_alone_until_its_lease_expires() {
    let mut remote = Remote::new("T-1");
    let finish = remote.finish("T-1", "a");
    remote.lease("b");
    assert_eq!(decide(&remote, |one| one.is_holder = true), Integration::Merge(vec![finish]));
    assert_eq!(decide(&remote, |_| {}), Integration::Nothing);
    assert_eq!(decide(&remote, |one| one.has_finished = true), Integration::Nothing);
    assert!(matches!(decide(&remote, |one| one.expired = true), Integration::Take(_)));
}

#[test]
fn the_holder_ends_the_loop() {
    let mut remote = Remote::new("T-1");
    let finish = remote.finish("T-1", "a");
    remote.lease("a");
    remote.merge(&[finish], &[receipt("AC-1", true)]);
    let end = decide(&remote, |one| one.is_holder = true);
    assert!(matches!(&end, Integration::End(_)), "{end:?}");
    assert_eq!(decide(&remote, |_| {}), Integration::Nothing);
    assert!(matches!(decide(&remote, |one| one.expired = true), Integration::Take(_)));
    let commits = decide(&remote, |one| (one.is_holder, one.has_commits) = (true, true));
    assert_eq!(commits, Integration::Merge(Vec::new()), "a person's commit comes before the end");
    let Integration::End(end) = end else { return };
    remote.ledger("a", LedgerRecord::End(end));
    assert_eq!(decide(&remote, |one| one.is_holder = true), Integration::Nothing);
}

#[test]
fn nothing_is_merged_while_the_loop_is_paused() {
    let mut remote = Remote::new("T-1");
    remote.finish("T-1", "a");
    remote.lease("a");
    remote.ledger("b", LedgerRecord::Pause { reason: Text::new("") });
    assert_eq!(decide(&remote, |one| one.is_holder = true), Integration::Nothing);
}
