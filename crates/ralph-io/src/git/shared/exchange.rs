//! One exchange with the remote: pushes what is pending, reads, and settles.

use super::{Keep, SharedRepository, Update};
use anyhow::Result;
use ralph_core::tasks::shared::names::Reference;
use ralph_core::tasks::shared::record::{LedgerRecord, Record};
use ralph_core::tasks::shared::text::ObjectId;
use ralph_core::tasks::shared::timing::{Attempt, Settled, settle};
use ralph_core::tasks::shared::view::Commit;
use ralph_core::tasks::shared::work::Append;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What is exchanged.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Exchange {
    /// New records. One for a reference with a pending record is ignored.
    pub appends: Vec<Append>,
    /// Where the branch has to be.
    pub branch: Option<BranchUpdate>,
    /// False to read only.
    pub pushes: bool,
    /// For how long a lock on the server has been in the way.
    pub locked: Duration,
}

/// A fast-forward of the branch that shows the integrated work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchUpdate {
    pub expected: Option<ObjectId>,
    pub new: ObjectId,
}

/// What an exchange brought.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ExchangeReport {
    pub sent: Vec<Sent>,
    /// True if a push was started.
    pub has_pushed: bool,
    /// True if the remote was read after the push.
    pub is_answered: bool,
    /// True if a lock on the server was in the way.
    pub is_locked: bool,
    /// Why the remote was not read, or refused a record, in git's words; empty if neither.
    pub trouble: String,
}

/// A record that was pending.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    pub reference: String,
    pub record: ObjectId,
    pub settled: Settled,
}

impl SharedRepository {
    /// Stores the new records, pushes what is pending, reads the remote, and settles each record.
    ///
    /// # Errors
    /// If git cannot be started, or the disk fails. Trouble with the remote is reported.
    pub fn exchange(&self, order: &Exchange) -> Result<ExchangeReport> {
        let mut pending = Vec::new();
        for (reference, record) in self.snapshot()?.pending {
            pending.push((reference, self.record(&record)?));
        }
        for append in &order.appends {
            if pending.iter().all(|(reference, _)| *reference != append.reference) {
                let commit = Commit {
                    id: self.store(append)?,
                    parent: append.parent.clone(),
                    work: append.work.clone(),
                    message: append.message.clone(),
                };
                pending.push((append.reference.clone(), commit));
            }
        }
        let mut report = ExchangeReport::default();
        let pushed = match order.pushes {
            true => self.push_all(&pending, order.branch.as_ref(), &mut report)?,
            false => Vec::new(),
        };
        match self.fetch() {
            Ok(()) => report.is_answered = true,
            Err(error) => report.trouble = format!("{error:#}"),
        }
        let tips = self.snapshot()?.references;
        let mut keep = Vec::new();
        for (reference, commit) in &pending {
            let status = pushed.iter().find(|(name, _)| name == reference).map(|(_, flag)| *flag);
            let tip = report.is_answered.then(|| tips.get(reference));
            let settled = self.settle(commit, status, tip, order, &report)?;
            match settled {
                Settled::Landed => {
                    if self.is_held(reference, commit) {
                        keep.push(Keep::Own(reference, &commit.id));
                    }
                    keep.push(Keep::Forgotten(reference));
                }
                Settled::Lost => keep.push(Keep::Forgotten(reference)),
                Settled::Read | Settled::Again | Settled::StaleLock => {}
            }
            let (reference, record) = (reference.clone(), commit.id.clone());
            report.sent.push(Sent { reference, record, settled });
        }
        self.update(&keep)?;
        Ok(report)
    }

    /// Returns the references that git reported, each with the flag of its line.
    fn push_all(
        &self,
        pending: &[(String, Commit)],
        branch: Option<&BranchUpdate>,
        report: &mut ExchangeReport,
    ) -> Result<Vec<(String, char)>> {
        let name = self.space.branch();
        let records = pending.iter().map(|(reference, commit)| Update {
            reference,
            expected: commit.parent.as_ref(),
            new: Some(&commit.id),
        });
        let branch = branch.map(|branch| Update {
            reference: &name,
            expected: branch.expected.as_ref(),
            new: Some(&branch.new),
        });
        let updates: Vec<Update<'_>> = records.chain(branch).collect();
        if updates.is_empty() {
            return Ok(Vec::new());
        }
        let pushed = self.push(&updates)?;
        report.has_pushed = true;
        report.is_locked = pushed.is_locked();
        report.trouble = pushed.refusal();
        Ok(pushed.lines.into_iter().map(|line| (line.reference, line.flag)).collect())
    }

    /// `tip` is the value of the reference in a read after the push; not set if nothing was read.
    fn settle(
        &self,
        commit: &Commit,
        status: Option<char>,
        tip: Option<Option<&ObjectId>>,
        order: &Exchange,
        report: &ExchangeReport,
    ) -> Result<Settled> {
        let expected = commit.parent.as_ref();
        let mut attempt = Attempt {
            record: &commit.id,
            expected,
            status,
            chain: None,
            locked: report.is_locked.then_some(order.locked),
        };
        let settled = settle(&attempt);
        let (Settled::Read, Some(tip)) = (settled, tip) else { return Ok(settled) };
        let chain = self.ids_since(tip, expected)?;
        attempt.chain = Some(&chain);
        Ok(settle(&attempt))
    }

    /// The ids of a chain with this tip, from the expected one on if the chain has it.
    fn ids_since(
        &self,
        tip: Option<&ObjectId>,
        expected: Option<&ObjectId>,
    ) -> Result<Vec<ObjectId>> {
        let Some(tip) = tip else { return Ok(Vec::new()) };
        if Some(tip) == expected {
            return Ok(vec![tip.clone()]);
        }
        let later = self.chain(expected, tip)?.into_iter().map(|commit| commit.id);
        let before = expected.filter(|expected| self.contains(tip, expected).unwrap_or(false));
        Ok(before.cloned().into_iter().chain(later).collect())
    }

    /// True if later decisions depend on who wrote the record. Of the ledger these are the records
    /// that take or renew the integrator's lease.
    fn is_held(&self, reference: &str, commit: &Commit) -> bool {
        if self.space.parse(reference) != Some(Reference::Ledger) {
            return true;
        }
        let record = Record::parse(&commit.message).map(|record| record.kind);
        matches!(record, Ok(LedgerRecord::Integrator { .. } | LedgerRecord::Verdict(_)))
    }
}
