//! The ledger, the chains and the renewals together: how each task stands.

use super::chain::{Chain, ChainError, ChainState, Commit};
use super::ledger::Ledger;
use super::record::{Finish, Unreadable};
use super::text::{Name, ObjectId, Text};
use crate::state::{Task, TaskStatus};
use crate::text::plural::counted;
use std::collections::{BTreeMap, BTreeSet};

/// A shared loop as one machine has read it.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    pub ledger: Ledger,
    /// The chains of tasks that were claimed at least once.
    pub chains: BTreeMap<String, Result<Chain, ChainError>>,
    /// The newest renewal of each machine.
    pub renewals: BTreeMap<Name, ObjectId>,
    /// The number of references of tasks that the plan does not have; they are not read.
    pub strangers: usize,
}

/// Why a chain is not read.
const TOO_MANY: &str = "its records are too many to be read, or another task's";

/// How a task stands.
#[derive(Debug, PartialEq, Eq)]
pub enum TaskStanding<'a> {
    /// A dependency is not merged.
    Waiting,
    /// A machine may claim the task.
    Ready,
    Claimed {
        machine: &'a Name,
        /// The tip of the chain: a finish or a take-over expects it.
        claim: &'a ObjectId,
    },
    /// Waits for the integrator.
    Finished {
        finish: &'a ObjectId,
        work: &'a ObjectId,
    },
    Merged,
    /// Returned and released too many times, or closed in the plan.
    GivenUp,
    /// This version cannot read the chain and leaves the task alone.
    Unreadable(&'a ChainError),
}

impl View {
    /// A loop of which only the ledger has been read.
    pub fn new(ledger: Ledger) -> View {
        View { ledger, chains: BTreeMap::new(), renewals: BTreeMap::new(), strangers: 0 }
    }

    /// Reads the next commits of a task; `None` are too many. A chain that once could not be read is left
    /// alone from then on.
    pub fn extend_task(&mut self, task: &str, commits: Option<&[Commit]>) {
        let chain = self.chains.entry(task.to_owned()).or_insert_with(|| Ok(Chain::default()));
        let read = chain.as_mut().map(|known| match commits {
            Some(commits) => known.extend(commits),
            None => Err(ChainError::Unreadable(Unreadable::Malformed(TOO_MANY.to_owned()))),
        });
        if let Ok(Err(error)) = read {
            *chain = Err(error);
        }
    }

    /// The plan's tasks in its order, with their standings.
    pub fn tasks(&self) -> impl Iterator<Item = (&Task, TaskStanding<'_>)> {
        let tasks = &self.ledger.plan.task_graph;
        let done = tasks.iter().filter(|task| task.status == TaskStatus::Done);
        let mut done: BTreeSet<&str> = done.map(|task| task.id.as_str()).collect();
        done.extend(self.ledger.merged.iter().map(String::as_str));
        tasks.iter().map(move |task| (task, self.standing(task, &done)))
    }

    fn standing<'a>(&'a self, task: &Task, done: &BTreeSet<&str>) -> TaskStanding<'a> {
        if done.contains(task.id.as_str()) {
            return TaskStanding::Merged;
        }
        if !matches!(task.status, TaskStatus::Pending | TaskStatus::InProgress) {
            return TaskStanding::GivenUp;
        }
        let mut releases = 0;
        match self.chains.get(&task.id) {
            Some(Err(error)) => return TaskStanding::Unreadable(error),
            Some(Ok(chain)) => {
                match (&chain.state, chain.tip()) {
                    (ChainState::Claimed { machine, .. }, Some(claim)) => {
                        return TaskStanding::Claimed { machine, claim };
                    }
                    (ChainState::Finished { finish, work, .. }, _)
                        if !self.ledger.returned.contains_key(finish) =>
                    {
                        return TaskStanding::Finished { finish, work };
                    }
                    _ => {}
                }
                releases = chain.releases;
            }
            None => {}
        }
        let returns = self.ledger.returns.get(&task.id).copied().unwrap_or(0);
        if returns.saturating_add(releases) >= self.ledger.plan.attempts {
            TaskStanding::GivenUp
        } else if task.deps.iter().all(|id| done.contains(id.as_str())) {
            TaskStanding::Ready
        } else {
            TaskStanding::Waiting
        }
    }

    /// What was not read, and why, in sentences; none for a loop that only Ralph has written.
    pub fn unread(&self) -> Vec<String> {
        let of_tasks = self.chains.iter().filter_map(|(task, chain)| {
            chain.as_ref().ok().map(|chain| (format!("task {task}"), &chain.skipped))
        });
        let mut all = vec![("the ledger".to_owned(), &self.ledger.skipped)];
        all.extend(of_tasks);
        let skipped = all.into_iter().filter_map(|(of, skipped)| {
            let (id, why) = skipped.first.as_ref()?;
            let n = counted(skipped.count, "record", "records");
            Some(format!("{n} of {of} skipped, the first {id:.10}: {why}"))
        });
        let mut unread: Vec<String> = skipped.collect();
        if self.strangers > 0 {
            let n = counted(self.strangers, "reference", "references");
            unread.push(format!("{n} of tasks that are not in the plan, skipped"));
        }
        unread
    }

    /// The tip of a task's chain, which the next record of the task expects.
    pub fn tip(&self, task: &str) -> Option<&ObjectId> {
        self.chains.get(task)?.as_ref().ok()?.tip()
    }

    /// The machines that have claimed or finished a task, or integrate, as far as it can be seen.
    pub fn machines(&self) -> BTreeSet<&Name> {
        let chains = self.chains.values().filter_map(|chain| chain.as_ref().ok());
        let of_chains = chains.filter_map(|chain| match &chain.state {
            ChainState::Claimed { machine, .. } | ChainState::Finished { machine, .. } => {
                Some(machine)
            }
            ChainState::Released => None,
        });
        of_chains.chain(self.ledger.integrator.as_ref().map(|held| &held.machine)).collect()
    }

    /// Why the last attempt at a task was not merged; `None` if there was none.
    pub fn last_reason(&self, task: &str) -> Option<&str> {
        let released = || self.chains.get(task)?.as_ref().ok()?.reason.as_ref();
        self.ledger.reasons.get(task).or_else(released).map(Text::as_str)
    }

    /// True if the claim still counts. A machine reads this before each round.
    pub fn holds(&self, task: &str, claim: &ObjectId) -> bool {
        let is_open = self.ledger.end.is_none() && !self.ledger.merged.contains(task);
        let chain = self.chains.get(task).and_then(|chain| chain.as_ref().ok());
        let is_claimed = |chain: &Chain| matches!(chain.state, ChainState::Claimed { .. });
        is_open && chain.is_some_and(|chain| is_claimed(chain) && chain.tip() == Some(claim))
    }

    /// The work that waits for the integrator, in the graph's order.
    pub fn finishes(&self) -> Vec<Finish> {
        self.tasks()
            .filter_map(|(task, standing)| match standing {
                TaskStanding::Finished { finish, .. } => {
                    Some(Finish { task: task.id.clone(), finish: finish.clone() })
                }
                _ => None,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;
