//! Folds the commits of a loop's references: the chain of each task, the ledger, and both together, which tells how
//! each task stands.

use super::record::{
    ChainError, CriterionReceipt, End, Finish, Kind, LedgerRecord, Plan, Record, TaskRecord,
    Verdict,
};
use super::text::{Name, ObjectId, Text};
use crate::state::signals::SignalKind;
use crate::state::{EndingKind, Task, TaskStatus};
use crate::text::plural::counted;
use std::collections::{BTreeMap, BTreeSet};

// Reads the commits of a reference in order, and the chain of a task.
//
// A chain only grows: a reader that already knows a part of it refuses commits that do not continue
// that part, because somebody has then replaced the reference by force. A malformed record counts as
// none: whoever may push could otherwise end the loop for all by one.

/// A commit as git shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Commit {
    pub id: ObjectId,
    /// The first parent: the record before this one.
    pub parent: Option<ObjectId>,
    /// The second parent: the work, or the tip of the branch.
    pub work: Option<ObjectId>,
    pub message: String,
}

/// The malformed records of a chain.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Skipped {
    pub count: usize,
    /// The first of them, with its flaw.
    pub first: Option<(ObjectId, String)>,
}

impl Skipped {
    fn add(&mut self, commit: &Commit, why: String) {
        self.count += 1;
        self.first.get_or_insert_with(|| (commit.id.clone(), why));
    }
}

/// The records of a chain, oldest first, as far as they continue `ids`. Each record is applied
/// before the next one is read, so that everything before an error counts.
pub(super) fn extend<K: Kind>(
    ids: &mut Vec<ObjectId>,
    skipped: &mut Skipped,
    commits: &[Commit],
    mut apply: impl FnMut(Record<K>, &Commit) -> Result<(), ChainError>,
) -> Result<(), ChainError> {
    for commit in commits {
        if commit.parent.as_ref() != ids.last() {
            return Err(ChainError::Replaced);
        }
        let read = Record::parse(&commit.message).and_then(|record| apply(record, commit));
        match read {
            Err(ChainError::Malformed(why)) => skipped.add(commit, why),
            read => read?,
        }
        ids.push(commit.id.clone());
    }
    Ok(())
}

/// The chain of a task.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Chain {
    /// The commits, oldest first.
    pub ids: Vec<ObjectId>,
    pub state: ChainState,
    /// How many times a holder gave the task up.
    pub releases: u32,
    /// The last reason for that.
    pub reason: Option<Text>,
    pub skipped: Skipped,
}

/// What the chain alone says about the task.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ChainState {
    #[default]
    Released,
    Claimed {
        machine: Name,
        worker: Name,
    },
    Finished {
        machine: Name,
        finish: ObjectId,
        work: ObjectId,
    },
}

impl Chain {
    /// Reads the next commits.
    ///
    /// # Errors
    /// If they do not continue the chain, or a newer version wrote one of them.
    pub fn extend(&mut self, commits: &[Commit]) -> Result<(), ChainError> {
        let Chain { ids, state, releases, reason, skipped } = self;
        extend(ids, skipped, commits, |record: Record<TaskRecord>, commit| {
            let machine = record.machine;
            match record.kind {
                TaskRecord::Claim { worker } => *state = ChainState::Claimed { machine, worker },
                // Only the holder finishes or releases. Nothing else follows from a record of
                // another machine, except that the tip moves.
                TaskRecord::Finish if state.is_held_by(&machine) => {
                    let work = commit.work.clone().ok_or_else(|| {
                        ChainError::Malformed("a finish has no second parent".to_owned())
                    })?;
                    *state = ChainState::Finished { machine, finish: commit.id.clone(), work };
                }
                TaskRecord::Released { reason: given } if state.is_held_by(&machine) => {
                    *state = ChainState::Released;
                    *releases += 1;
                    *reason = Some(given);
                }
                TaskRecord::Finish | TaskRecord::Released { .. } => {}
            }
            Ok(())
        })
    }

    pub fn tip(&self) -> Option<&ObjectId> {
        self.ids.last()
    }
}

impl ChainState {
    fn is_held_by(&self, by: &Name) -> bool {
        matches!(self, ChainState::Claimed { machine, .. } if machine == by)
    }
}

// The ledger: what the machines agree on about the loop as a whole.
//
// The first verdict about a finish and the first end count. The compare-and-swap keeps a machine
// that follows the rules from writing a second one.

/// The state of a shared loop, as its ledger says.
#[derive(Debug, Clone, PartialEq)]
pub struct Ledger {
    /// The commits, oldest first.
    pub ids: Vec<ObjectId>,
    pub plan: Plan,
    /// The commit that the work starts from.
    pub start: ObjectId,
    /// The tip of the integrated branch.
    pub branch: ObjectId,
    /// The tree id of the last merge, and the criteria on it.
    pub tree: Option<ObjectId>,
    pub receipts: Vec<CriterionReceipt>,
    /// How the loop ends if nothing follows that merge.
    pub end_if_last: Option<End>,
    pub integrator: Option<Integrator>,
    /// Merged tasks.
    pub merged: BTreeSet<String>,
    /// Returned finishes, with the reasons.
    pub returned: BTreeMap<ObjectId, Text>,
    /// How many times each task was returned.
    pub returns: BTreeMap<String, u32>,
    /// The last reason for each task that was returned.
    pub reasons: BTreeMap<String, Text>,
    /// The reason, while the loop is paused.
    pub pause: Option<Text>,
    /// Messages of users, oldest first.
    pub signals: Vec<(SignalKind, Text)>,
    pub end: Option<End>,
    pub skipped: Skipped,
}

/// The holder of the integrator's lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Integrator {
    pub machine: Name,
    pub lease_seconds: u64,
    /// The holder's last record in the ledger: every verdict renews the lease too.
    pub renewed: ObjectId,
}

impl Ledger {
    /// Reads a ledger from its first commit.
    ///
    /// # Errors
    /// If it does not begin with a plan, or a newer version wrote a record.
    pub fn read(commits: &[Commit]) -> Result<Ledger, ChainError> {
        let malformed = |why: &str| ChainError::Malformed(why.to_owned());
        let (first, others) = commits.split_first().ok_or_else(|| malformed("it is empty"))?;
        if first.parent.is_some() {
            return Err(ChainError::Replaced);
        }
        let record = Record::parse(&first.message)?;
        let LedgerRecord::Plan(plan) = record.kind else {
            return Err(malformed("the first record is no plan"));
        };
        let branch =
            first.work.clone().ok_or_else(|| malformed("the plan has no second parent"))?;
        let mut ledger = Ledger {
            ids: vec![first.id.clone()],
            plan: *plan,
            start: branch.clone(),
            branch,
            tree: None,
            receipts: Vec::new(),
            end_if_last: None,
            integrator: None,
            merged: BTreeSet::new(),
            returned: BTreeMap::new(),
            returns: BTreeMap::new(),
            reasons: BTreeMap::new(),
            pause: None,
            signals: Vec::new(),
            end: None,
            skipped: Skipped::default(),
        };
        ledger.extend(others)?;
        Ok(ledger)
    }

    /// Reads the next commits.
    ///
    /// # Errors
    /// If they do not continue the ledger, or a newer version wrote one of them.
    pub fn extend(&mut self, commits: &[Commit]) -> Result<(), ChainError> {
        let mut ids = std::mem::take(&mut self.ids);
        let mut skipped = std::mem::take(&mut self.skipped);
        let apply = |record: Record<LedgerRecord>, commit: &Commit| self.apply(record, commit);
        let read = extend(&mut ids, &mut skipped, commits, apply);
        (self.ids, self.skipped) = (ids, skipped);
        read
    }

    /// The first record, which has the plan and the commit that the work starts from.
    pub fn first(&self) -> &ObjectId {
        &self.ids[0]
    }

    /// The newest record. A ledger has at least its plan.
    pub fn tip(&self) -> Option<&ObjectId> {
        self.ids.last()
    }

    fn apply(&mut self, record: Record<LedgerRecord>, commit: &Commit) -> Result<(), ChainError> {
        if self.end.is_some() {
            return Ok(());
        }
        let is_integrator =
            self.integrator.as_ref().is_some_and(|held| held.machine == record.machine);
        match record.kind {
            LedgerRecord::Plan(_) => {}
            LedgerRecord::Integrator { lease_seconds: 0 } if !is_integrator => {}
            LedgerRecord::Integrator { lease_seconds } => {
                self.integrator = (lease_seconds > 0).then(|| Integrator {
                    machine: record.machine,
                    lease_seconds,
                    renewed: commit.id.clone(),
                });
            }
            LedgerRecord::Verdict(verdict) => {
                self.judge(verdict, commit)?;
                if let Some(held) = self.integrator.as_mut().filter(|_| is_integrator) {
                    held.renewed = commit.id.clone();
                }
            }
            LedgerRecord::Pause { reason } => self.pause = Some(reason),
            LedgerRecord::Resume => self.pause = None,
            LedgerRecord::Cancel { reason } => {
                self.end = Some(End { ending: EndingKind::Cancelled, reason });
            }
            LedgerRecord::Signal { info, text } => {
                let kind = if info { SignalKind::Info } else { SignalKind::Steer };
                self.signals.push((kind, text));
            }
            LedgerRecord::End(end) => self.end = Some(end),
        }
        Ok(())
    }

    fn judge(&mut self, verdict: Verdict, commit: &Commit) -> Result<(), ChainError> {
        match verdict {
            Verdict::Merged { finishes, tree, receipts, end } => {
                self.branch = commit.work.clone().ok_or_else(|| {
                    ChainError::Malformed("a merge has no second parent".to_owned())
                })?;
                self.tree = Some(tree);
                self.receipts = receipts;
                self.end_if_last = end;
                self.merged.extend(finishes.into_iter().map(|one| one.task));
            }
            Verdict::Returned { finish, reason } => {
                let is_open = !self.merged.contains(&finish.task);
                if is_open && !self.returned.contains_key(&finish.finish) {
                    *self.returns.entry(finish.task.clone()).or_default() += 1;
                    self.reasons.insert(finish.task, reason.clone());
                    self.returned.insert(finish.finish, reason);
                }
            }
        }
        Ok(())
    }
}

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
            None => Err(ChainError::Malformed(TOO_MANY.to_owned())),
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
        tasks.iter().map(move |task| (task, self.task_standing(task, &done)))
    }

    fn task_standing<'a>(&'a self, task: &Task, done: &BTreeSet<&str>) -> TaskStanding<'a> {
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
mod chain_tests;

#[cfg(test)]
mod ledger_tests;

#[cfg(test)]
mod tests;
