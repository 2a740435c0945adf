use super::*;
use crate::tasks::graph::tests::Dice;
use crate::tasks::shared::fixture::Remote;
use crate::tasks::shared::record::{LedgerRecord, TaskRecord};
use crate::tasks::shared::text::Text;

fn take(
    remote: &Remote,
    unattended: &[&ObjectId],
    expired: &[&str],
    machines: usize,
    random: f64,
) -> String {
    let unattended = unattended.iter().copied().cloned().collect();
    let expired = expired.iter().map(|task| (*task).to_owned()).collect();
    let worker = Worker {
        unattended: &unattended,
        expired: &expired,
        taken: &BTreeSet::new(),
        machines,
        random,
    };
    match next(&remote.view(), &worker) {
        Next::Continue { task, .. } => format!("continue {task}"),
        Next::Claim { task, expected } => {
            assert_eq!(expected.as_ref(), remote.view().tip(&task), "what was read is expected");
            format!("claim {task}")
        }
        Next::Wait => "wait".to_owned(),
        Next::Over => "over".to_owned(),
    }
}

#[test]
fn tasks_are_claimed_in_the_graphs_order() {
    let mut remote = Remote::new("T-1\nT-2 after T-1\nT-3");
    assert_eq!(take(&remote, &[], &[], 1, 0.99), "claim T-1");
    remote.claim("T-1", "a");
    assert_eq!(take(&remote, &[], &[], 1, 0.0), "claim T-3");
    let finish = remote.finish("T-3", "b");
    assert_eq!(take(&remote, &[], &[], 1, 0.0), "wait");
    remote.give_back(finish);
    assert_eq!(take(&remote, &[], &[], 1, 0.0), "claim T-3");
}

#[test]
fn machines_spread_over_as_many_tasks_as_there_are_machines() {
    let remote = Remote::new("T-1\nT-2\nT-3\nT-4");
    let taken = [0.0, 0.34, 0.67, 1.0].map(|random| take(&remote, &[], &[], 3, random));
    assert_eq!(taken, ["claim T-1", "claim T-2", "claim T-3", "claim T-3"]);
    assert_eq!(take(&remote, &[], &[], 16, 0.99), "claim T-4");
    assert_eq!(take(&remote, &[], &[], 0, f64::NAN), "claim T-1");
}

#[test]
fn a_machine_continues_its_own_claim_before_it_takes_another_task() {
    let mut remote = Remote::new("T-1\nT-2");
    let claim = remote.claim("T-2", "a");
    assert_eq!(take(&remote, &[&claim], &[], 1, 0.0), "continue T-2");
    let other = remote.claim("T-2", "b");
    assert_eq!(take(&remote, &[&claim], &[], 1, 0.0), "claim T-1", "it was taken over");
    assert_eq!(take(&remote, &[&other], &[], 1, 0.0), "continue T-2");
    remote.task("T-2", "b", TaskRecord::Finish);
    assert_eq!(take(&remote, &[&other], &[], 1, 0.0), "claim T-1");
}

#[test]
fn an_expired_claim_is_free_and_a_finish_is_not() {
    let mut remote = Remote::new("T-1");
    remote.claim("T-1", "a");
    assert_eq!(take(&remote, &[], &[], 1, 0.0), "wait");
    assert_eq!(take(&remote, &[], &["T-1"], 1, 0.0), "claim T-1");
    remote.task("T-1", "a", TaskRecord::Finish);
    assert_eq!(take(&remote, &[], &["T-1"], 1, 0.0), "wait");
}

#[test]
fn nothing_is_claimed_while_the_loop_is_paused_or_after_its_end() {
    let mut remote = Remote::new("T-1\nT-2");
    let claim = remote.claim("T-1", "a");
    remote.ledger("b", LedgerRecord::Pause { reason: Text::new("") });
    assert_eq!(take(&remote, &[&claim], &["T-1"], 1, 0.0), "wait");
    remote.ledger("b", LedgerRecord::Cancel { reason: Text::new("") });
    assert_eq!(take(&remote, &[&claim], &["T-1"], 1, 0.0), "over");
}

#[test]
fn a_record_that_cannot_be_read_is_not_overwritten() {
    let mut remote = Remote::new("T-1");
    remote.claim("T-1", "a");
    let commit = &mut remote.chains.get_mut("T-1").unwrap()[0];
    commit.message = commit.message.replace("\"schema\":1", "\"schema\":2");
    let claim = commit.id.clone();
    assert_eq!(take(&remote, &[&claim], &["T-1"], 1, 0.0), "wait");
}

#[test]
fn whatever_the_graph_and_the_records_only_open_tasks_are_claimed() {
    for seed in 1..=20_u64 {
        let mut dice = Dice(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(seed));
        let lines: Vec<String> = (1..=6)
            .map(|n| match dice.roll(n) {
                0 => format!("T-{n}"),
                on => format!("T-{n} after T-{on}"),
            })
            .collect();
        let mut remote = Remote::new(&lines.join("\n"));
        for _ in 0..30 {
            let machine = ["a", "b", "c"][dice.roll(3)];
            let view = remote.view();
            let random = dice.roll(100) as f64 / 100.0;
            let nothing = (BTreeSet::new(), BTreeSet::new());
            let worker = Worker {
                unattended: &nothing.0,
                expired: &nothing.1,
                taken: &BTreeSet::new(),
                machines: 3,
                random,
            };
            if let Next::Claim { task, .. } = next(&view, &worker) {
                let graph = &view.ledger.plan.task_graph;
                let claimed = graph.iter().find(|one| one.id == task).unwrap();
                assert!(claimed.deps.iter().all(|id| view.ledger.merged.contains(id)));
                assert!(!view.ledger.merged.contains(&task));
                remote.claim(&task, machine);
                if dice.roll(3) > 0 {
                    remote.task(&task, machine, TaskRecord::Finish);
                }
            } else if let Some(finish) = view.finishes().first() {
                match dice.roll(3) {
                    0 => remote.give_back(finish.clone()),
                    _ => remote.merge(std::slice::from_ref(finish), &[]),
                };
            }
        }
    }
}

#[test]
fn a_random_number_picks_a_place_within_the_list() {
    for (random, length, expected) in [
        (0.0, 3, 0),
        (0.33, 3, 0),
        (0.34, 3, 1),
        (0.99, 3, 2),
        (1.0, 3, 2),
        (2.0, 3, 2),
        (-1.0, 3, 0),
        (0.5, 1, 0),
        (0.5, 0, 0),
    ] {
        assert_eq!(pick(random, length), expected, "{random} of {length}");
    }
}
