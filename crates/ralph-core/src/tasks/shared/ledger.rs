//! The ledger: what the machines agree on about the loop as a whole.
//!
//! The first verdict about a finish and the first end count. The compare-and-swap keeps a machine
//! that follows the rules from writing a second one.

use super::chain::{ChainError, Commit, Skipped, extend};
use super::plan::Plan;
use super::record::{CriterionReceipt, End, LedgerRecord, Record, Unreadable, Verdict};
use super::text::{Name, ObjectId, Text};
use crate::state::EndingKind;
use crate::state::signals::SignalKind;
use std::collections::{BTreeMap, BTreeSet};

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
        let malformed = |why: &str| ChainError::Unreadable(Unreadable::Malformed(why.to_owned()));
        let (first, others) = commits.split_first().ok_or_else(|| malformed("it is empty"))?;
        if first.parent.is_some() {
            return Err(ChainError::Replaced);
        }
        let record = Record::parse(&first.message).map_err(ChainError::Unreadable)?;
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

    fn apply(&mut self, record: Record<LedgerRecord>, commit: &Commit) -> Result<(), Unreadable> {
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

    fn judge(&mut self, verdict: Verdict, commit: &Commit) -> Result<(), Unreadable> {
        match verdict {
            Verdict::Merged { finishes, tree, receipts, end } => {
                self.branch = commit.work.clone().ok_or_else(|| {
                    Unreadable::Malformed("a merge has no second parent".to_owned())
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

#[cfg(test)]
mod tests;
