use super::*;
use crate::tasks::shared::fixture::Remote;
use crate::tasks::shared::record::TaskRecord;
use crate::tasks::shared::text::Text;

#[track_caller]
fn check(remote: &Remote, expected: &str) {
    let view = remote.view();
    let words: Vec<&str> = view
        .tasks()
        .map(|(_, standing)| match standing {
            TaskStanding::Waiting => "waiting",
            TaskStanding::Ready => "ready",
            TaskStanding::Claimed { .. } => "claimed",
            TaskStanding::Finished { .. } => "finished",
            TaskStanding::Merged => "merged",
            TaskStanding::GivenUp => "given-up",
            TaskStanding::Unreadable(_) => "unreadable",
        })
        .collect();
    assert_eq!(words.join(" "), expected);
}

#[test]
fn a_task_is_ready_when_all_it_depends_on_is_merged() {
    let mut remote = Remote::new("T-1\nT-2 after T-1\nT-3 done\nT-4 after T-3\nT-5 failed");
    check(&remote, "ready waiting merged ready given-up");
    remote.claim("T-1", "a");
    check(&remote, "claimed waiting merged ready given-up");
    let finish = Finish { task: "T-1".into(), finish: remote.task("T-1", "a", TaskRecord::Finish) };
    check(&remote, "finished waiting merged ready given-up");
    assert_eq!(remote.view().finishes(), std::slice::from_ref(&finish));
    remote.merge(&[finish], &[]);
    check(&remote, "merged ready merged ready given-up");
}

#[test]
fn a_returned_task_is_ready_again_until_it_is_given_up() {
    let mut remote = Remote::new("T-1");
    for _ in 0..2 {
        let finish = remote.finish("T-1", "a");
        check(&remote, "finished");
        remote.give_back(finish);
        check(&remote, "ready");
    }
    remote.claim("T-1", "b");
    check(&remote, "claimed");
    remote.task("T-1", "b", TaskRecord::Released { reason: Text::new("") });
    check(&remote, "given-up");
}

#[test]
fn a_chain_that_cannot_be_read_is_left_alone() {
    let mut remote = Remote::new("T-1\nT-2");
    remote.claim("T-1", "a");
    let message = &mut remote.chains.get_mut("T-1").unwrap()[0].message;
    *message = message.replace("\"schema\":1", "\"schema\":2");
    check(&remote, "unreadable ready");
    let mut view = remote.view();
    assert_eq!(view.tip("T-1"), None);
    let read = remote.chains["T-1"].clone();
    view.extend_task("T-1", Some(&read));
    assert!(view.chains["T-1"].is_err());
}

#[test]
fn a_claim_holds_until_another_record_follows_or_the_loop_ends() {
    let mut remote = Remote::new("T-1");
    let claim = remote.claim("T-1", "a");
    assert!(remote.view().holds("T-1", &claim));
    assert!(!remote.view().holds("T-2", &claim));
    assert_eq!(remote.view().tip("T-1"), Some(&claim));
    let other = remote.claim("T-1", "b");
    assert!(!remote.view().holds("T-1", &claim) && remote.view().holds("T-1", &other));
    remote.task("T-1", "b", TaskRecord::Finish);
    assert!(!remote.view().holds("T-1", &other));
    let mut remote = Remote::new("T-1");
    let claim = remote.claim("T-1", "a");
    let reason = Text::new("enough");
    remote.ledger("b", crate::tasks::shared::record::LedgerRecord::Cancel { reason });
    assert!(!remote.view().holds("T-1", &claim));
}

#[test]
fn machines_are_seen_by_their_claims_and_finishes_also_when_these_are_merged() {
    let mut remote = Remote::new("T-1\nT-2\nT-3");
    let finish = remote.finish("T-1", "b");
    remote.merge(&[finish], &[]);
    remote.claim("T-2", "c");
    remote.task("T-2", "c", TaskRecord::Released { reason: Text::new("") });
    remote.claim("T-3", "b");
    remote.lease("d");
    let view = remote.view();
    let names: Vec<&str> = view.machines().into_iter().map(Name::as_str).collect();
    assert_eq!(names, ["b", "d"]);
}

#[test]
fn what_was_not_read_is_told_in_sentences() {
    let mut remote = Remote::new("T-1\nT-2");
    remote.claim("T-1", "a");
    remote.finish("T-2", "a");
    let mut view = remote.view();
    assert_eq!(view.unread(), [""; 0]);
    view.strangers = 1;
    assert_eq!(view.unread(), ["1 reference of tasks that are not in the plan, skipped"]);
    view.strangers = 2;
    let first = Some((crate::tasks::shared::fixture::id(1), "it has no JSON".to_owned()));
    view.ledger.skipped = Skipped { count: 1, first: first.clone() };
    view.chains.get_mut("T-2").unwrap().as_mut().unwrap().skipped = Skipped { count: 2, first };
    assert_eq!(
        view.unread(),
        [
            "1 record of the ledger skipped, the first 0000000000: it has no JSON",
            "2 records of task T-2 skipped, the first 0000000000: it has no JSON",
            "2 references of tasks that are not in the plan, skipped",
        ]
    );
}
