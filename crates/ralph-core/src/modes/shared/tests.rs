use super::*;
use crate::state::{EndingKind, Frozen};
use crate::tasks::shared::fixture::{Remote, id, receipt};
use crate::tasks::shared::record::{
    CriterionReceipt, End, LEASE_SECONDS, LedgerRecord, Plan, TaskRecord,
};
use crate::tasks::shared::text::Text;
use crate::views::messages;

fn worker(task: &str, claim: &ObjectId, standing: WorkerStanding) -> Worker {
    let mut worker = Worker { task: task.to_owned(), standing, ..Worker::default() };
    set_claim(&mut worker, claim);
    worker
}

fn membership() -> Membership {
    Membership { loop_id: "l".to_owned(), remote: "origin".to_owned(), messages: 3 }
}

#[test]
fn a_loop_that_is_a_part_of_a_shared_one_says_so_also_after_it_was_stored() {
    let state = begin(&Remote::new("T-1").view(), &membership());
    let text = serde_json::to_string(&state).unwrap();
    let read: LoopState = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (read_membership(&read), read_membership(&LoopState::default())),
        (Some(membership()), None)
    );
}

#[test]
fn the_part_begins_with_the_whole_plan_of_the_shared_loop() {
    let mut view = Remote::new("T-1").view();
    let plan = &mut view.ledger.plan;
    (plan.prompt, plan.context_report) = ("the goal".to_owned(), "the facts".to_owned());
    (plan.max_iterations, plan.limits.max_minutes) = (7, 9);
    plan.frozen = Some(Frozen::default());
    let state = begin(&view, &membership());
    assert_eq!(Plan::from_state(&state, LEASE_SECONDS), view.ledger.plan);
    assert_eq!((state.phase, state.parallel), (Phase::Implementation, true));
}

#[track_caller]
fn check(state: &LoopState, expected: &[&str]) {
    let shown = state.task_graph.iter().map(|task| {
        let owner = task.owner.as_deref().map(|owner| format!(" {owner}")).unwrap_or_default();
        format!("{}{owner}", task.status)
    });
    assert_eq!(shown.collect::<Vec<_>>(), expected);
}

#[test]
fn the_tasks_show_who_has_them_and_a_worker_of_this_machine_keeps_its_own() {
    let mut remote = Remote::new("T-1\nT-2\nT-3\nT-4 after T-3");
    let finish = remote.finish("T-1", "b");
    let claim = remote.claim("T-2", "a");
    remote.claim("T-3", "b");
    let mut state = begin(&remote.view(), &membership());
    let held = ["T-2".to_owned()].into();
    follow(&mut state, &remote.view(), &held);
    check(&state, &["in_progress the integrator", "pending", "in_progress machine b", "pending"]);
    state.workers.push(worker("T-2", &claim, WorkerStanding::Running));
    remote.merge(&[finish], &[]);
    follow(&mut state, &remote.view(), &held);
    check(&state, &["done", "in_progress ralph-worker", "in_progress machine b", "pending"]);
}

#[test]
fn a_task_that_was_sent_back_carries_the_reason_as_a_quotation() {
    let mut remote = Remote::new("T-1\nT-2");
    let finish = remote.finish("T-1", "b");
    remote.give_back(finish);
    remote.claim("T-2", "b");
    let reason = Text::new("say \"yes\"\nnow");
    remote.task("T-2", "b", TaskRecord::Released { reason });
    let mut state = begin(&remote.view(), &membership());
    follow(&mut state, &remote.view(), &BTreeSet::new());
    let results: Vec<_> = state.task_graph.iter().map(|task| task.result.as_deref()).collect();
    let quoted =
        |reason| format!("an earlier attempt was not merged; the reason, quoted: \"{reason}\"");
    assert_eq!(results, [Some(&*quoted("a conflict")), Some(&*quoted("say 'yes' now"))]);
}

#[test]
fn a_claimed_task_needs_a_round_until_its_worker_is_done() {
    let mut state = LoopState::default();
    let claim = id(1);
    assert_eq!(held(&state, &claim), Held::Open(None));
    state.workers.push(worker("T-1", &id(2), WorkerStanding::Done));
    assert_eq!(held(&state, &claim), Held::Open(None), "a worker of an earlier claim");
    state.workers.push(worker("T-1", &claim, WorkerStanding::Partial));
    assert_eq!(held(&state, &claim), Held::Open(Some(&state.workers[1])));
    state.workers.push(worker("T-1", &claim, WorkerStanding::Running));
    assert_eq!((held(&state, &claim), rounds(&state, &claim)), (Held::Running, 2));
    forget(&mut state, &claim);
    assert_eq!(rounds(&state, &claim), 1, "a worker that runs is not forgotten");
    state.workers[1].standing = WorkerStanding::Done;
    assert_eq!(held(&state, &claim), Held::Done(&state.workers[1]));
}

#[test]
fn the_part_ends_as_the_shared_loop_with_the_criteria_of_the_merged_branch() {
    let mut remote = Remote::new("T-1");
    let finish = remote.finish("T-1", "b");
    remote.merge(&[finish], &[CriterionReceipt { tests_run: Some(4), ..receipt("AC-1", true) }]);
    let mut state = begin(&remote.view(), &membership());
    end(&mut state, &remote.view(), Timestamp::UNIX_EPOCH);
    assert_eq!(state.ending, None, "the shared loop goes on");
    let ended = End { ending: EndingKind::Complete, reason: Text::new("all\nof it") };
    remote.ledger("b", LedgerRecord::End(ended));
    follow(&mut state, &remote.view(), &BTreeSet::new());
    end(&mut state, &remote.view(), Timestamp::UNIX_EPOCH);
    let ending = state.ending.clone().unwrap();
    assert_eq!((ending.kind, ending.detail.as_str()), (EndingKind::Complete, "all of it"));
    let expected = Receipt {
        command: "cargo test".to_owned(),
        passed: true,
        ended: "on the merged branch".to_owned(),
        tests_run: Some(4),
        tree_before: id(7).to_string(),
        tree_after: id(7).to_string(),
        ..Receipt::default()
    };
    assert_eq!(state.acceptance_criteria[0].receipt, Some(expected));
    let told = messages::ended(&state);
    assert!(told.starts_with("Ralph: done. 1 of 1 task done, the criterion holds"), "{told}");
}

#[test]
fn a_claimed_task_stands_as_its_last_worker() {
    let (claim, other) = (id(1), id(2));
    let mut state = LoopState {
        task_graph: vec![
            crate::state::Task {
                id: "T-1".to_owned(),
                result: Some("not this".to_owned()),
                ..Default::default()
            },
            crate::state::Task {
                id: "T-2".to_owned(),
                result: Some("no key".to_owned()),
                ..Default::default()
            },
        ]
        .into(),
        ..LoopState::default()
    };
    assert_eq!(held(&state, &claim), Held::Open(None));
    state.workers.push(worker("T-1", &other, WorkerStanding::Running));
    assert_eq!(held(&state, &claim), Held::Open(None));
    for (standing, expected) in [
        (WorkerStanding::Running, "running"),
        (WorkerStanding::Done, "done"),
        (WorkerStanding::Blocked, "given up: no key"),
        (WorkerStanding::Partial, "open"),
        (WorkerStanding::Lost, "open"),
    ] {
        state.workers.push(worker("T-2", &claim, standing));
        let said = match held(&state, &claim) {
            Held::Running => "running".to_owned(),
            Held::Done(_) => "done".to_owned(),
            Held::GivenUp(why) => format!("given up: {why}"),
            Held::Open(Some(_)) => "open".to_owned(),
            Held::Open(None) => "none".to_owned(),
        };
        assert_eq!(said, expected);
    }
    assert_eq!((rounds(&state, &claim), rounds(&state, &other)), (5, 1));
    state.task_graph.clear();
    state.workers.push(worker("T-2", &claim, WorkerStanding::Blocked));
    assert_eq!(held(&state, &claim), Held::GivenUp("no reason given"));
    forget(&mut state, &claim);
    assert_eq!((rounds(&state, &claim), rounds(&state, &other)), (1, 1), "one is at work");
    assert_eq!(claim_of(&Worker::default()), None);
}

#[test]
fn a_held_task_is_at_work_only_with_a_worker_of_its_own() {
    let mut remote = Remote::new("T-1\nT-2");
    let claim = remote.claim("T-1", "a");
    let held = ["T-1".to_owned()].into();
    let shown = |task: &str, standing: WorkerStanding| {
        let mut state = begin(&remote.view(), &membership());
        state.workers.push(worker(task, &claim, standing));
        follow(&mut state, &remote.view(), &held);
        state.task_graph[0].status.to_string()
    };
    assert_eq!(shown("T-1", WorkerStanding::Running), "in_progress");
    assert_eq!(shown("T-1", WorkerStanding::Done), "in_progress");
    assert_eq!(shown("T-1", WorkerStanding::Partial), "pending");
    assert_eq!(shown("T-2", WorkerStanding::Running), "pending");
    assert_eq!(shown("T-2", WorkerStanding::Done), "pending");
}
