use super::*;
use crate::tasks::shared::fixture::{Remote, name, receipt};

fn read(remote: &Remote) -> Ledger {
    Ledger::read(&remote.ledger).unwrap()
}

fn reason(text: &str) -> Text {
    Text::new(text)
}

#[test]
fn a_ledger_begins_with_its_plan() {
    let remote = Remote::new("T-1");
    let ledger = read(&remote);
    assert_eq!(ledger.plan.task_graph.len(), 1);
    assert_eq!(Some(&ledger.branch), remote.ledger[0].work.as_ref());
    assert!(Ledger::read(&[]).is_err());
    let mut bare = remote.ledger[0].clone();
    bare.work = None;
    assert!(Ledger::read(&[bare]).is_err(), "the work starts from a commit");
    let mut remote = remote;
    let pause = remote.commit(&[], "a", LedgerRecord::Pause { reason: reason("x") });
    assert!(Ledger::read(&[pause]).is_err());
    let second = remote.ledger[0].clone();
    assert_eq!(Ledger::read(&[second.clone(), second]), Err(ChainError::Replaced));
}

#[test]
fn the_lease_is_taken_renewed_by_verdicts_and_given_back() {
    let mut remote = Remote::new("T-1\nT-2");
    let finish = remote.finish("T-1", "b");
    let lease = remote.lease("a");
    assert_eq!(
        read(&remote).integrator.map(|held| (held.machine, held.renewed)),
        Some((name("a"), lease))
    );
    let verdict = remote.merge(&[finish], &[]);
    assert_eq!(read(&remote).integrator.map(|held| held.renewed), Some(verdict.clone()));
    remote.ledger("b", LedgerRecord::Signal { info: false, text: reason("hello") });
    remote.ledger("b", LedgerRecord::Integrator { lease_seconds: 0 });
    assert_eq!(
        read(&remote).integrator.map(|held| held.renewed),
        Some(verdict),
        "only the holder renews, and only the holder gives back"
    );
    remote.ledger("a", LedgerRecord::Integrator { lease_seconds: 0 });
    assert_eq!(read(&remote).integrator, None);
}

#[test]
fn a_verdict_moves_the_branch_and_counts_once() {
    let mut remote = Remote::new("T-1\nT-2");
    let (one, two) = (remote.finish("T-1", "a"), remote.finish("T-2", "b"));
    remote.merge(std::slice::from_ref(&one), &[receipt("AC-1", true)]);
    let merged = remote.ledger.last().unwrap().clone();
    remote.give_back(two.clone());
    remote.give_back(two.clone());
    remote.give_back(one);
    let ledger = read(&remote);
    assert_eq!(Some(&ledger.branch), merged.work.as_ref());
    assert_eq!(ledger.receipts, [receipt("AC-1", true)]);
    assert_eq!(ledger.merged, BTreeSet::from(["T-1".to_owned()]));
    assert_eq!(ledger.returns, BTreeMap::from([("T-2".to_owned(), 1)]));
    assert!(ledger.returned.contains_key(&two.finish));
}

#[test]
fn a_loop_pauses_continues_and_ends_once() {
    let mut remote = Remote::new("T-1");
    remote.ledger("a", LedgerRecord::Pause { reason: reason("lunch") });
    assert_eq!(read(&remote).pause, Some(reason("lunch")));
    remote.ledger("b", LedgerRecord::Resume);
    assert_eq!(read(&remote).pause, None);
    remote.ledger("b", LedgerRecord::Cancel { reason: reason("enough") });
    let cancelled = read(&remote);
    assert_eq!(cancelled.end.as_ref().map(|end| &end.ending), Some(&EndingKind::Cancelled));
    let end = End { ending: EndingKind::Complete, reason: reason("done") };
    remote.ledger("a", LedgerRecord::End(end));
    let finish = remote.finish("T-1", "a");
    remote.merge(&[finish], &[]);
    remote.ledger("a", LedgerRecord::Pause { reason: reason("late") });
    let after = read(&remote);
    assert_eq!(
        (&after.end, &after.merged, &after.pause),
        (&cancelled.end, &cancelled.merged, &None)
    );
    assert_eq!(after.tip(), Some(&remote.ledger.last().unwrap().id));
}

#[test]
fn a_malformed_record_ends_no_ledger_and_is_named() {
    let mut remote = Remote::new("T-1");
    let pause = LedgerRecord::Pause { reason: reason("x") };
    let bad = remote.ledger("a", pause.clone());
    remote.ledger[1].message = "Pause by a\n\n{}\n".to_owned();
    let mut ledger = read(&remote);
    assert_eq!((ledger.tip(), &ledger.pause), (Some(&bad), &None));
    remote.ledger("b", pause);
    ledger.extend(&remote.ledger[2..]).unwrap();
    assert_eq!(ledger, read(&remote));
    assert_eq!(ledger.pause, Some(reason("x")));
    let unread = remote.view().unread();
    let says =
        format!("1 record of the ledger skipped, the first {bad:.10}: missing field `schema`");
    assert!(unread.len() == 1 && unread[0].starts_with(&says), "{unread:?}");
    remote.ledger.remove(0);
    assert!(Ledger::read(&remote.ledger).is_err(), "without a plan there is no loop");
}

#[test]
fn a_ledger_is_read_in_parts_and_stops_at_a_newer_record() {
    let mut remote = Remote::new("T-1");
    let finish = remote.finish("T-1", "a");
    remote.lease("a");
    remote.merge(&[finish], &[]);
    let mut parts = Ledger::read(&remote.ledger[..1]).unwrap();
    remote.ledger[1..]
        .iter()
        .for_each(|commit| parts.extend(std::slice::from_ref(commit)).unwrap());
    assert_eq!(parts, read(&remote));
    remote.ledger("b", LedgerRecord::Resume);
    let newest = remote.ledger.last_mut().unwrap();
    newest.message = newest.message.replace("\"schema\":1", "\"schema\":7");
    let newest = newest.clone();
    let before = parts.clone();
    let newer = ChainError::Newer { schema: 7 };
    assert_eq!(parts.extend(&[newest]), Err(newer));
    assert_eq!(parts, before);
}
