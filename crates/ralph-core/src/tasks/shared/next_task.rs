//! Which task a worker takes.

use super::text::ObjectId;
use super::view::{TaskStanding, View};
use std::collections::BTreeSet;

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

#[cfg(test)]
mod tests;
