//! `ralph run --shared`: the part of a machine in a shared loop, as a loop of its own. That loop's tasks follow the shared
//! ones, so that everything that shows or counts tasks works for both.

use super::parallel::OWNER;
use crate::state::{LoopState, Phase, Receipt, TaskStatus, Worker, WorkerStanding};
use crate::tasks::shared::text::ObjectId;
use crate::tasks::shared::view::{TaskStanding, View};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What a machine does next with a task that it has claimed.
#[derive(Debug, Clone, PartialEq)]
pub enum Held<'a> {
    /// A worker is at work.
    Running,
    /// The worker's commit is to be handed in.
    Done(&'a Worker),
    /// The worker says that the task cannot be done, for this reason.
    GivenUp(&'a str),
    /// A round is due: in this worker's worktree, or in a new one.
    Open(Option<&'a Worker>),
}

/// The member of a worker that names the claim for which it works.
const CLAIM: &str = "claim";

/// Records for which claim a worker works.
pub fn set_claim(worker: &mut Worker, claim: &ObjectId) {
    worker.extra.insert(CLAIM.to_owned(), claim.as_str().into());
}

/// The claim for which a worker works; `None` if it works for none.
pub fn claim_of(worker: &Worker) -> Option<ObjectId> {
    ObjectId::try_from(worker.extra.get(CLAIM)?.as_str()?.to_owned()).ok()
}

fn is_of_claim(worker: &Worker, claim: &ObjectId) -> bool {
    claim_of(worker).as_ref() == Some(claim)
}

/// How a claimed task stands in this machine's loop.
pub fn held<'a>(state: &'a LoopState, claim: &ObjectId) -> Held<'a> {
    let of_claim = |worker: &&Worker| is_of_claim(worker, claim);
    let Some(worker) = state.workers.iter().rev().find(of_claim) else { return Held::Open(None) };
    match worker.standing {
        WorkerStanding::Running => Held::Running,
        WorkerStanding::Done => Held::Done(worker),
        WorkerStanding::Blocked => {
            let task = state.task_graph.iter().find(|one| one.id == worker.task);
            Held::GivenUp(task.and_then(|task| task.result.as_deref()).unwrap_or("no reason given"))
        }
        _ => Held::Open(Some(worker)),
    }
}

/// How many rounds this machine has begun for a claim.
pub fn rounds(state: &LoopState, claim: &ObjectId) -> usize {
    state.workers.iter().filter(|worker| is_of_claim(worker, claim)).count()
}

/// Forgets the workers of a claim that is settled.
pub fn forget(state: &mut LoopState, claim: &ObjectId) {
    state.workers.retain(|worker| worker.is_running() || !is_of_claim(worker, claim));
}

/// Brings the tasks of this machine's loop to the shared ones. `held` are the tasks that this machine
/// has claimed: their workers decide.
pub fn follow(state: &mut LoopState, view: &View, held: &BTreeSet<String>) {
    for (shared, standing) in view.tasks() {
        let Some(own) = state.task_graph.iter_mut().find(|task| task.id == shared.id) else {
            continue;
        };
        let by = |owner: &str| (TaskStatus::InProgress, Some(owner.to_owned()));
        let (status, owner) = match standing {
            TaskStanding::Merged => (TaskStatus::Done, None),
            TaskStanding::Claimed { .. } if held.contains(&shared.id) => {
                let is_at_work = |worker: &Worker| {
                    worker.task == shared.id
                        && (worker.is_running() || worker.standing == WorkerStanding::Done)
                };
                if state.workers.iter().any(is_at_work) {
                    by(OWNER)
                } else {
                    (TaskStatus::Pending, None)
                }
            }
            TaskStanding::Claimed { machine, .. } => by(&format!("machine {machine}")),
            TaskStanding::Finished { .. } => by("the integrator"),
            TaskStanding::Waiting | TaskStanding::Ready => (TaskStatus::Pending, None),
            TaskStanding::GivenUp => (TaskStatus::Failed, None),
            TaskStanding::Unreadable(_) => (TaskStatus::Blocked, None),
        };
        let is_open = status == TaskStatus::Pending;
        (own.status, own.owner, own.lease_expires_at) = (status, owner, None);
        if is_open && let Some(reason) = view.last_reason(&shared.id) {
            own.result = Some(quoted(reason));
        }
    }
}

/// Ends this machine's loop as the shared one has ended, with the criteria as they are on the merged
/// branch. Changes nothing while that has not ended.
pub fn end(state: &mut LoopState, view: &View, now: Timestamp) {
    let ledger = &view.ledger;
    let Some(end) = &ledger.end else { return };
    let tree = ledger.tree.as_ref().map(ToString::to_string).unwrap_or_default();
    for criterion in &mut state.acceptance_criteria {
        let merged = ledger.receipts.iter().find(|one| one.criterion == criterion.id);
        let Some(merged) = merged else { continue };
        criterion.verified = merged.holds;
        criterion.receipt = Some(Receipt {
            command: criterion.verification_command.clone(),
            passed: merged.holds,
            ended: "on the merged branch".to_owned(),
            tests_run: merged.tests_run,
            tree_before: tree.clone(),
            tree_after: tree.clone(),
            ..Receipt::default()
        });
    }
    state.end(end.ending.clone(), one_line(end.reason.as_str()), now);
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text of another machine, so that no reader takes it for one of the user.
fn quoted(reason: &str) -> String {
    let line = one_line(reason).replace('"', "'");
    format!("an earlier attempt was not merged; the reason, quoted: \"{line}\"")
}

/// The shared loop of which a loop is a machine's part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Membership {
    /// The id of the shared loop.
    pub loop_id: String,
    /// The git remote that has it.
    pub remote: String,
    /// How many messages of users this machine has passed on to its workers.
    #[serde(default)]
    pub messages: usize,
}

/// The member of the state that names the shared loop. No hook needs it, so it is an unknown member to
/// the reader of states.
const SHARED: &str = "shared";

/// The shared loop of which a loop is a part; `None` for a loop of this machine alone.
pub fn read_membership(state: &LoopState) -> Option<Membership> {
    Membership::deserialize(state.extra.get(SHARED)?).ok()
}

/// Makes a loop a part of this shared loop.
pub fn set(state: &mut LoopState, membership: &Membership) {
    let value = serde_json::to_value(membership).unwrap_or_default();
    state.extra.insert(SHARED.to_owned(), value);
}

/// The loop of a machine that begins to take part.
pub fn begin(view: &View, membership: &Membership) -> LoopState {
    let plan = view.ledger.plan.clone();
    let mut state = LoopState {
        phase: Phase::Implementation,
        prompt: plan.prompt,
        acceptance_criteria: plan.acceptance_criteria,
        frozen: plan.frozen,
        task_graph: plan.task_graph.into(),
        context_report: plan.context_report,
        max_iterations: plan.max_iterations,
        limits: plan.limits,
        parallel: true,
        ..LoopState::default()
    };
    set(&mut state, membership);
    state
}

#[cfg(test)]
mod tests;
