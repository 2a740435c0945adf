//! What is due: the task that a worker takes, the records that one push carries, what the integrator merges, and when
//! the loop ends.

use super::names::{Namespace, Reference};
use super::record::{CriterionReceipt, End, Finish, Kind, LARGEST_BATCH, Record, TaskRecord};
use super::text::{Name, ObjectId, Text};
use super::view::{TaskStanding, View};
use crate::state::EndingKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::time::Duration;

// Which task a worker takes.

/// What a worker without a task does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Continues a claim of this machine that no worker works on, as after a crash.
    Continue { task: String, claim: ObjectId },
    /// Claims a task whose reference has this value.
    Claim { task: String, expected: Option<ObjectId> },
    /// Other machines hold the tasks, or the loop is paused.
    Wait,
    /// The loop has ended.
    Over,
}

/// What a machine knows when it looks for a task.
#[derive(Debug, Clone, Copy)]
pub struct Worker<'a> {
    /// Claims of this machine that no worker works on. A machine knows its claims by their ids, which
    /// it stores before it pushes, and not by its name: two clones may have the same name.
    pub unattended: &'a BTreeSet<ObjectId>,
    /// Tasks whose claims have expired.
    pub expired: &'a BTreeSet<String>,
    /// Tasks that other workers of this machine are about to claim.
    pub taken: &'a BTreeSet<String>,
    /// Machines that may compete for tasks, including this one.
    pub machines: usize,
    /// Between 0 and 1.
    pub random: f64,
}

/// The next task. Machines choose at random among as many tasks as there are machines, so that they
/// do not all push for the same one and yet keep to the graph's order.
pub fn next(view: &View, worker: &Worker<'_>) -> Next {
    if view.ledger.end.is_some() {
        return Next::Over;
    }
    if view.ledger.pause.is_some() {
        return Next::Wait;
    }
    let mut free = Vec::new();
    for (task, standing) in view.tasks() {
        if worker.taken.contains(&task.id) {
            continue;
        }
        match standing {
            TaskStanding::Claimed { claim, .. } if worker.unattended.contains(claim) => {
                return Next::Continue { task: task.id.clone(), claim: claim.clone() };
            }
            TaskStanding::Ready => free.push(&task.id),
            TaskStanding::Claimed { .. } if worker.expired.contains(&task.id) => {
                free.push(&task.id);
            }
            _ => {}
        }
    }
    free.truncate(worker.machines.max(1));
    match free.get(pick(worker.random, free.len())) {
        Some(task) => Next::Claim { task: (*task).clone(), expected: view.tip(task).cloned() },
        None => Next::Wait,
    }
}

/// A position below `length` for a number between 0 and 1.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
fn pick(random: f64, length: usize) -> usize {
    let place = (random.clamp(0.0, 1.0) * length as f64) as usize;
    place.min(length.saturating_sub(1))
}

// Which records one push carries.
//
// A push may name several references. The server decides about each of them alone, and each has a
// result of its own: a lost claim does not affect the finish.

/// A record that is ready to be stored and pushed: a commit on the empty tree. The push expects the
/// reference at `parent`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Append {
    /// The full name.
    pub reference: String,
    /// The first parent, and the value that the push expects; `None` if the reference must not exist.
    pub parent: Option<ObjectId>,
    /// The second parent.
    pub work: Option<ObjectId>,
    pub message: String,
}

impl Append {
    /// A record after `parent` on a reference.
    pub fn new<K: Kind>(
        space: &Namespace,
        reference: &Reference,
        parent: Option<&ObjectId>,
        work: Option<&ObjectId>,
        record: &Record<K>,
    ) -> Append {
        Append {
            reference: space.name(reference),
            parent: parent.cloned(),
            work: work.cloned(),
            message: record.message(space.is_below_heads()),
        }
    }
}

/// A worker's finished task.
#[derive(Debug, Clone, Copy)]
pub struct Done<'a> {
    pub task: &'a str,
    /// The worker's claim.
    pub claim: &'a ObjectId,
    pub work: &'a ObjectId,
}

/// The finish of the task that a worker has done, and the claim of its next one. Each record needs a
/// nonce of its own.
pub fn hand_in(
    space: &Namespace,
    machine: &Name,
    worker: &Name,
    done: Option<Done<'_>>,
    next: &Next,
    mut nonce: impl FnMut() -> Name,
) -> Vec<Append> {
    let mut record = |kind| Record::new(nonce(), machine.clone(), kind);
    let task = |id: &str| Reference::Task(id.to_owned());
    let finish = done.map(|done| {
        let record = record(TaskRecord::Finish);
        Append::new(space, &task(done.task), Some(done.claim), Some(done.work), &record)
    });
    let claim = match next {
        // The finish and a claim of the same task would be two values of one reference.
        Next::Claim { task: id, expected } if done.is_none_or(|done| done.task != id) => {
            let record = record(TaskRecord::Claim { worker: worker.clone() });
            Some(Append::new(space, &task(id), expected.as_ref(), None, &record))
        }
        _ => None,
    };
    finish.into_iter().chain(claim).collect()
}

// When a machine tries to become the integrator, and what the integrator does next.
//
// One machine merges at a time. The lease saves work; the compare-and-swap of the ledger makes it
// safe. Every verdict renews the lease. Between two verdicts the integrator renews it while it works
// (`lease::is_renewal_due`), and an idle one does not: after the lease, the next machine with work takes over.

/// What a machine does for the integration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Integration {
    /// Nothing is due, or another machine integrates.
    Nothing,
    /// Takes the lease after this time, if the ledger is then still the same.
    Take(Duration),
    /// Merges the commits of a person on the branch, then these finishes, and runs the criteria once
    /// for all of them.
    Merge(Vec<Finish>),
    /// Ends the loop.
    End(End),
}

/// What a machine knows when it decides.
#[derive(Debug, Clone, Copy)]
pub struct Candidate {
    /// True if this process took the lease that the ledger shows: it knows the record by its id.
    pub is_holder: bool,
    /// True if the lease in the ledger has expired.
    pub expired: bool,
    /// True if the branch has commits of a person that no verdict contains.
    pub has_commits: bool,
    /// True if this machine has just handed in work.
    pub has_finished: bool,
    pub poll: Duration,
    /// Between 0 and 1.
    pub random: f64,
}

/// The next step. A machine that handed in work tries at once; the others follow after one to two
/// poll intervals, or they would all try at the same time.
pub fn integration(view: &View, candidate: &Candidate) -> Integration {
    if view.ledger.end.is_some() || view.ledger.pause.is_some() {
        return Integration::Nothing;
    }
    let finishes = next_batch(view);
    let end = ending(view).filter(|_| !candidate.has_commits);
    if finishes.is_empty() && end.is_none() && !candidate.has_commits {
        return Integration::Nothing;
    }
    match &view.ledger.integrator {
        Some(_) if candidate.is_holder => match end {
            Some(end) => Integration::End(end),
            None => Integration::Merge(finishes),
        },
        Some(_) if !candidate.expired => Integration::Nothing,
        _ if candidate.has_finished => Integration::Take(Duration::ZERO),
        _ => Integration::Take(candidate.poll.mul_f64(1.0 + candidate.random.clamp(0.0, 1.0))),
    }
}

// Which finishes are merged together, and how a red batch is halved.

/// The first finishes in the graph's order.
pub fn next_batch(view: &View) -> Vec<Finish> {
    let mut finishes = view.finishes();
    finishes.truncate(LARGEST_BATCH);
    finishes
}

/// The criteria that held before a merge and do not hold after it. A merge is red if there are any:
/// a criterion that was red before says nothing about the merge.
pub fn broken<'a>(before: &'a [CriterionReceipt], after: &[CriterionReceipt]) -> Vec<&'a str> {
    let holds = |id: &str| after.iter().any(|one| one.criterion == id && one.holds);
    let before = before.iter().filter(|one| one.holds).map(|one| one.criterion.as_str());
    before.filter(|id| !holds(id)).collect()
}

/// A batch that is being integrated: the parts that are still to be merged, the next one last.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Batch {
    parts: Vec<Vec<Finish>>,
}

impl Batch {
    pub fn new(finishes: Vec<Finish>) -> Batch {
        let parts = if finishes.is_empty() { Vec::new() } else { vec![finishes] };
        Batch { parts }
    }

    /// The part to merge now, on top of what is merged.
    pub fn part(&self) -> Option<&[Finish]> {
        self.parts.last().map(Vec::as_slice)
    }

    /// The part is merged, or its only finish is returned.
    pub fn settled(&mut self) {
        self.parts.pop();
    }

    /// A finish of the part conflicts with the branch and is returned.
    pub fn conflicts(&mut self, finish: &Finish) {
        for part in &mut self.parts {
            part.retain(|one| one != finish);
        }
        self.parts.retain(|part| !part.is_empty());
    }

    /// A criterion is red with the part. Returns the finish to return if the part is that finish
    /// alone; otherwise the halves are merged one after the other.
    pub fn red(&mut self) -> Option<Finish> {
        let mut part = self.parts.pop()?;
        if part.len() == 1 {
            return part.pop();
        }
        let second = part.split_off(part.len().div_ceil(2));
        self.parts.extend([second, part]);
        None
    }
}

// When a shared loop ends by itself.

/// The end that is due: every task is merged, or no machine can continue.
pub fn ending(view: &View) -> Option<End> {
    if view.ledger.end.is_some() {
        return None;
    }
    let mut stuck = Vec::new();
    for (task, standing) in view.tasks() {
        match standing {
            TaskStanding::Merged => {}
            TaskStanding::GivenUp | TaskStanding::Waiting => stuck.push(task.id.as_str()),
            // A machine with a newer version may continue an unreadable task.
            TaskStanding::Ready
            | TaskStanding::Claimed { .. }
            | TaskStanding::Finished { .. }
            | TaskStanding::Unreadable(_) => return None,
        }
    }
    let end = |ending, reason: &str| Some(End { ending, reason: Text::new(reason) });
    if !stuck.is_empty() {
        let reason = format!("given up, or waiting for a task that is: {}", stuck.join(", "));
        return end(EndingKind::Stalled, &reason);
    }
    let ledger = &view.ledger;
    let criteria = ledger.plan.acceptance_criteria.iter().map(|one| one.id.as_str());
    let holds = |id: &str| ledger.receipts.iter().any(|one| one.criterion == id && one.holds);
    let red: Vec<&str> = criteria.filter(|id| !holds(id)).collect();
    match red.as_slice() {
        [] if ledger.plan.acceptance_criteria.is_empty() => {
            end(EndingKind::CompleteUnverified, "every task is merged")
        }
        [] => ledger.end_if_last.clone().or_else(|| {
            // Merged by a machine that compares nothing.
            end(
                EndingKind::Complete,
                "every task is merged and every criterion passes; not compared",
            )
        }),
        red => {
            let reason = format!("every task is merged, but not proven: {}", red.join(", "));
            end(EndingKind::Stalled, &reason)
        }
    }
}

#[cfg(test)]
mod next_task_tests;

#[cfg(test)]
mod hand_in_tests {
    use super::*;
    use crate::tasks::shared::fixture::{id, name};

    #[test]
    fn one_push_carries_a_finish_and_the_next_claim() {
        let space = Namespace::new(&name("l"), true);
        let mut n = 0;
        let mut push = |done, next: &Next| {
            hand_in(&space, &name("a"), &name("1"), done, next, || {
                n += 1;
                name(&format!("n{n}"))
            })
        };
        let done = Done { task: "T-1", claim: &id(1), work: &id(2) };
        let next = Next::Claim { task: "T-2".to_owned(), expected: Some(id(3)) };
        let both = push(Some(done), &next);
        let parents: Vec<_> =
            both.iter().map(|one| (one.parent.clone(), one.work.clone())).collect();
        assert_eq!(parents, [(Some(id(1)), Some(id(2))), (Some(id(3)), None)]);
        assert_eq!(both[0].reference, "refs/heads/ralph/shared/l/t/T-1");
        assert_eq!(
            both[1].message,
            "Claim for worker 1 by a [skip ci]\n\n\
             {\"schema\":1,\"nonce\":\"n2\",\"machine\":\"a\",\"kind\":\"claim\",\"worker\":\"1\"}\n"
        );
        assert_eq!(push(Some(done), &Next::Wait).len(), 1);
        assert_eq!(push(None, &next).len(), 1);
        let same = Next::Claim { task: "T-1".to_owned(), expected: None };
        assert_eq!(push(Some(done), &same).len(), 1, "one reference, one value");
    }
}

#[cfg(test)]
mod integrate_tests;

#[cfg(test)]
mod batch_tests;

#[cfg(test)]
mod ending_tests;
