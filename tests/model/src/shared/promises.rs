//! What is promised of every happening, and what has to be reached.

use super::act::{integration_of, next_of};
use super::{Shared, State, Step};
use crate::explore::Promise;
use ralph_core::state::EndingKind;
use ralph_core::tasks::shared::record::{LedgerRecord, Record, TaskRecord, Verdict};
use ralph_core::tasks::shared::view::TaskStanding;
use ralph_core::tasks::shared::work::{Integration, Next};
use stateright::Property;

type P<'a> = Promise<Step<'a>>;

pub(crate) const ONE_FINISH: &str = "no two machines finish one task";
pub(crate) const NOTHING_VANISHES: &str = "no record that landed vanishes";
pub(crate) const ONE_HOLDER: &str = "no two machines hold one claim";

/// All of them.
pub(super) fn promises<'a>() -> [P<'a>; 8] {
    [
        P { name: ONE_FINISH, kept: one_finish },
        P { name: NOTHING_VANISHES, kept: nothing_vanishes },
        P { name: ONE_HOLDER, kept: one_holder },
        P { name: "a push that was taken for landed did land", kept: landed_is_true },
        P { name: "a push that was taken for lost never lands", kept: lost_is_true },
        P { name: "a task is merged once, by a finish that was not returned", kept: merged_once },
        P { name: "the loop ends once, and by itself only when no task is open", kept: ends_once },
        P { name: "no task is lost: while one is open, a machine can continue", kept: goes_on },
    ]
}

/// What the exploration has to reach, so that no promise holds only because nothing happens.
pub(super) fn reached(model: &Shared) -> Vec<Property<Shared>> {
    let mut reached = vec![
        Property::sometimes("a claim is taken over", |_: &Shared, state: &State| {
            let claims = |task: usize| {
                let kinds = kinds(state, state.remote.tasks[task]);
                kinds.windows(2).any(|pair| {
                    matches!(pair, [TaskRecord::Claim { .. }, TaskRecord::Claim { .. }])
                })
            };
            claims(0)
        }),
        Property::sometimes("a push is lost", |_: &Shared, state: &State| {
            state.machines.iter().any(|machine| machine.lost != 0)
        }),
    ];
    // The plan, a claim and a finish for each task, the lease, a verdict and the end.
    if model.records >= 4 + 2 * model.tasks {
        reached.push(Property::sometimes("a loop completes", |_, state: &State| {
            let end = &state.ledger(&state.remote).end;
            end.as_ref().is_some_and(|end| end.ending == EndingKind::Complete)
        }));
    }
    if model.refusals {
        reached.push(Property::sometimes("a returned task is claimed", |_, state: &State| {
            let kinds = kinds(state, state.remote.tasks[0]);
            kinds
                .windows(2)
                .any(|pair| matches!(pair, [TaskRecord::Finish, TaskRecord::Claim { .. }]))
        }));
    }
    reached
}

/// The numbers of the records from the first to this one.
fn chain(state: &State, tip: Option<u8>) -> Vec<u8> {
    let parent = |record: &u8| state.made[usize::from(*record)].parent;
    let mut chain: Vec<u8> = std::iter::successors(tip, parent).collect();
    chain.reverse();
    chain
}

/// The records of a task up to this one.
fn kinds(state: &State, tip: Option<u8>) -> Vec<TaskRecord> {
    let read = |record: u8| Record::parse(&state.made[usize::from(record)].commit.message);
    chain(state, tip).into_iter().filter_map(|one| read(one).ok()).map(|one| one.kind).collect()
}

/// The records of the ledger, oldest first.
fn verdicts(state: &State) -> Vec<LedgerRecord> {
    let read = |record: u8| Record::parse(&state.made[usize::from(record)].commit.message);
    let chain = chain(state, Some(state.remote.ledger));
    chain.into_iter().skip(1).filter_map(|one| read(one).ok()).map(|one| one.kind).collect()
}

fn has_moved(step: &Step<'_>) -> bool {
    step.before.remote != step.after.remote
}

fn one_finish(step: &Step<'_>) -> bool {
    if !has_moved(step) {
        return true;
    }
    // What this step replaces by force is still finished.
    let returned = &step.after.ledger(&step.after.remote).returned;
    (0..step.model.tasks).all(|task| {
        let mut all = chain(step.before, step.before.remote.tasks[task]);
        all.extend(chain(step.after, step.after.remote.tasks[task]));
        all.sort_unstable();
        all.dedup();
        let is_finish = |record: &&u8| {
            let commit = &step.after.made[usize::from(**record)].commit;
            commit.message.starts_with("Finish") && !returned.contains_key(&commit.id)
        };
        all.iter().filter(is_finish).count() <= 1
    })
}

fn nothing_vanishes(step: &Step<'_>) -> bool {
    let tasks = (0..step.model.tasks).map(Some).chain([None]);
    let mut moved =
        tasks.filter(|task| step.before.remote.get(*task) != step.after.remote.get(*task));
    moved.all(|task| {
        let after = chain(step.after, step.after.remote.get(task));
        step.before.remote.get(task).is_none_or(|before| after.contains(&before))
    })
}

fn one_holder(step: &Step<'_>) -> bool {
    let [a, b] = &step.after.machines;
    a.works_on.is_none() || a.works_on != b.works_on
}

fn has_landed(state: &State, record: u8) -> bool {
    let tip = state.remote.get(state.made[usize::from(record)].task);
    chain(state, tip).contains(&record)
}

fn records(bits: u32) -> impl Iterator<Item = u8> {
    (0..32).filter(move |at| bits & (1 << at) != 0)
}

fn landed_is_true(step: &Step<'_>) -> bool {
    let mut both = step.before.machines.iter().zip(&step.after.machines);
    both.all(|(before, after)| {
        records(after.landed & !before.landed).all(|record| has_landed(step.after, record))
    })
}

fn lost_is_true(step: &Step<'_>) -> bool {
    let lost = step.after.machines.iter().fold(0, |all, machine| all | machine.lost);
    records(lost).all(|record| !has_landed(step.after, record))
}

fn merged_once(step: &Step<'_>) -> bool {
    if step.before.remote.ledger == step.after.remote.ledger {
        return true;
    }
    let (mut merged, mut returned) = (Vec::new(), Vec::new());
    for record in verdicts(step.after) {
        match record {
            LedgerRecord::Verdict(Verdict::Merged { finishes, .. }) => {
                for one in finishes {
                    if merged.contains(&one.task) || returned.contains(&one.finish) {
                        return false;
                    }
                    merged.push(one.task);
                }
            }
            LedgerRecord::Verdict(Verdict::Returned { finish, .. }) => {
                if merged.contains(&finish.task) || returned.contains(&finish.finish) {
                    return false;
                }
                returned.push(finish.finish);
            }
            _ => {}
        }
    }
    true
}

fn ends_once(step: &Step<'_>) -> bool {
    if step.before.remote.ledger == step.after.remote.ledger {
        return true;
    }
    let records = verdicts(step.after);
    let is_end = |record: &LedgerRecord| {
        matches!(record, LedgerRecord::End(_) | LedgerRecord::Cancel { .. })
    };
    let first = records.iter().position(is_end);
    let ledger = step.after.ledger(&step.after.remote);
    let complete = ledger.end.as_ref().is_some_and(|end| end.ending == EndingKind::Complete);
    let view = step.after.view(&step.after.remote);
    let is_open = |(_, standing)| {
        use TaskStanding::{Claimed, Finished, Ready};
        matches!(standing, Ready | Claimed { .. } | Finished { .. })
    };
    let by_itself = matches!(records.last(), Some(LedgerRecord::End(_)));
    // Nothing follows the end.
    first.is_none_or(|at| at + 1 == records.len())
        && (!complete || ledger.merged.len() == step.model.tasks)
        && (!by_itself || !view.tasks().any(is_open))
}

/// Where nothing is on the way, every machine has read everything and no worker works, some machine
/// can take a step, at the latest when all leases have expired.
fn goes_on(step: &Step<'_>) -> bool {
    let state = step.after;
    let is_quiet = state.flights.is_empty()
        && state.machines.iter().all(|machine| {
            machine.is_alive
                && machine.unsettled.is_empty()
                && machine.works_on.is_none()
                && machine.seen == state.remote
        });
    if !is_quiet {
        return true;
    }
    let view = state.view(&state.remote);
    view.ledger.end.is_some()
        || (0..2).any(|machine| {
            let next = next_of(state, &view, machine, true);
            matches!(next, Next::Claim { .. } | Next::Continue { .. })
                || integration_of(state, &view, machine, true) != Integration::Nothing
        })
}
