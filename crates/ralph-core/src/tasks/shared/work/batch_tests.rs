use super::*;
use crate::tasks::shared::fixture::{Remote, id, receipt};
use std::collections::BTreeSet;

fn finish(number: usize) -> Finish {
    Finish { task: format!("T-{number}"), finish: id(number as u64) }
}

#[test]
fn a_batch_has_at_most_sixteen_finishes_in_the_graphs_order() {
    let lines: Vec<String> = (1..=20).map(|n| format!("T-{n}")).collect();
    let mut remote = Remote::new(&lines.join("\n"));
    let mut finishes: Vec<Finish> =
        (1..=20).rev().map(|n| remote.finish(&format!("T-{n}"), "a")).collect();
    finishes.reverse();
    assert_eq!(next_batch(&remote.view()), finishes[..16]);
    remote.merge(&finishes[..16], &[]);
    assert_eq!(next_batch(&remote.view()), finishes[16..]);
}

/// Carries out a batch in which these finishes are red; returns the parts that were tested.
fn carry_out(length: usize, red: &BTreeSet<usize>) -> (Vec<Vec<Finish>>, Vec<Finish>, usize) {
    let mut batch = Batch::new((0..length).map(finish).collect());
    let (mut merged, mut returned, mut tests) = (Vec::new(), Vec::new(), 0);
    while let Some(part) = batch.part() {
        tests += 1;
        let part = part.to_vec();
        if part.iter().any(|one| red.iter().any(|number| *one == finish(*number))) {
            returned.extend(batch.red());
        } else {
            merged.push(part);
            batch.settled();
        }
    }
    (merged, returned, tests)
}

#[test]
fn a_red_batch_is_halved_until_each_red_finish_is_alone() {
    for length in 0..=16 {
        for mask in (0..1_u32 << length).step_by(1 + (1 << length) / 60) {
            let red: BTreeSet<usize> = (0..length).filter(|at| mask & (1 << at) != 0).collect();
            let (merged, returned, tests) = carry_out(length, &red);
            let green: Vec<Finish> =
                (0..length).filter(|at| !red.contains(at)).map(finish).collect();
            assert_eq!(merged.concat(), green, "in order, and none is lost");
            assert_eq!(returned, red.iter().map(|at| finish(*at)).collect::<Vec<_>>());
            assert!(tests <= 1 + 2 * red.len() * 4, "{tests} tests for {} red ones", red.len());
        }
    }
}

#[test]
fn a_conflict_leaves_the_others_in_the_batch() {
    let mut batch = Batch::new((0..4).map(finish).collect());
    batch.conflicts(&finish(2));
    assert_eq!(batch.part(), Some([0, 1, 3].map(finish).as_slice()));
    assert_eq!(batch.red(), None);
    assert_eq!(batch.part(), Some([0, 1].map(finish).as_slice()));
    batch.settled();
    batch.conflicts(&finish(3));
    assert_eq!(batch.part(), None);
}

#[test]
fn a_merge_is_red_only_for_a_criterion_that_held_before() {
    let before = [receipt("AC-1", true), receipt("AC-2", false), receipt("AC-3", true)];
    let after = [receipt("AC-1", true), receipt("AC-2", false), receipt("AC-3", false)];
    assert_eq!(broken(&before, &after), ["AC-3"]);
    assert_eq!(broken(&before, &before), Vec::<&str>::new());
    assert_eq!(broken(&before, &[]), ["AC-1", "AC-3"], "what was not run does not hold");
}
