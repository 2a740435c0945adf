use super::*;
use crate::tasks::shared::fixture::{Remote, receipt};
use crate::tasks::shared::record::LedgerRecord;

#[track_caller]
fn check(remote: &Remote, expected: Option<(EndingKind, &str)>) {
    let end = ending(&remote.view());
    let end = end.as_ref().map(|end| (end.ending.clone(), end.reason.as_str()));
    assert_eq!(end, expected);
}

#[test]
fn a_loop_ends_when_every_task_is_merged_and_proven() {
    let mut remote = Remote::new("T-1\nT-2 done");
    check(&remote, None);
    let finish = remote.finish("T-1", "a");
    check(&remote, None);
    remote.merge(&[finish], &[receipt("AC-1", true)]);
    let reason = "every task is merged and every criterion passes; not compared";
    check(&remote, Some((EndingKind::Complete, reason)));
    let kept = End { ending: EndingKind::CompleteUnverified, reason: Text::new("nothing broke") };
    remote.merge_as_last(&[], &[receipt("AC-1", true)], Some(kept));
    check(&remote, Some((EndingKind::CompleteUnverified, "nothing broke")));
    // A commit of a person, merged later.
    remote.merge(&[], &[receipt("AC-1", false)]);
    let reason = "every task is merged, but not proven: AC-1";
    check(&remote, Some((EndingKind::Stalled, reason)));
    let end = End { ending: EndingKind::Stalled, reason: Text::new("") };
    remote.ledger("a", LedgerRecord::End(end));
    check(&remote, None);
}

#[test]
fn a_loop_ends_when_no_task_is_left_that_a_machine_could_do() {
    let mut remote = Remote::new("T-1 failed\nT-2 after T-1\nT-3");
    check(&remote, None);
    for _ in 0..3 {
        let finish = remote.finish("T-3", "a");
        check(&remote, None);
        remote.give_back(finish);
    }
    let reason = "given up, or waiting for a task that is: T-1, T-2, T-3";
    check(&remote, Some((EndingKind::Stalled, reason)));
}

#[test]
fn a_loop_without_criteria_ends_unverified() {
    let mut remote = Remote::new("T-1 done");
    let mut view = remote.view();
    view.ledger.plan.acceptance_criteria.clear();
    assert_eq!(ending(&view).unwrap().ending, EndingKind::CompleteUnverified);
    remote.claim("T-1", "a");
    check(&remote, Some((EndingKind::Stalled, "every task is merged, but not proven: AC-1")));
}

#[test]
fn a_task_that_only_a_newer_version_can_read_keeps_the_loop_open() {
    let mut remote = Remote::new("T-1");
    remote.claim("T-1", "a");
    remote.chains.get_mut("T-1").unwrap()[0].message.clear();
    check(&remote, None);
}
