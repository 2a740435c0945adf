//! Follows a shared loop: reads the records that are new since the last look.

use super::{Records, Snapshot};
use anyhow::{Context, Result, bail};
use ralph_core::tasks::shared::names::Reference;
use ralph_core::tasks::shared::view::{Ledger, View};
use std::collections::HashSet;

/// A reader that remembers what it has read.
#[derive(Debug)]
pub struct Follower {
    records: Records,
    view: Option<View>,
    /// The references at the last look.
    seen: Snapshot,
}

impl Follower {
    pub fn new(records: Records) -> Follower {
        Follower { records, view: None, seen: Snapshot::default() }
    }

    pub fn records(&self) -> &Records {
        &self.records
    }

    /// The references at the last look.
    pub fn snapshot(&self) -> &Snapshot {
        &self.seen
    }

    /// The loop as of the last fetch.
    ///
    /// # Errors
    /// If the ledger is gone, was replaced, or has a record that this version cannot read.
    pub fn look(&mut self) -> Result<&View> {
        let now = self.records.snapshot()?;
        let references = &now.references;
        let ledger = self.records.space().name(&Reference::Ledger);
        let loop_id = self.records.space().loop_id().clone();
        let Some(tip) = references.get(&ledger) else {
            bail!("the remote has no shared loop {loop_id}");
        };
        let view = self.view.take();
        let seen = self.seen.references.get(&ledger).filter(|_| view.is_some());
        let commits = match seen == Some(tip) {
            true => Vec::new(),
            false => self.records.chain(seen, tip)?,
        };
        let error = || format!("could not read the ledger of loop {loop_id}");
        let mut view = match view {
            Some(mut view) => {
                view.ledger.extend(&commits).with_context(error)?;
                view
            }
            None => View::new(Ledger::read(&commits).with_context(error)?),
        };
        let plan = view.ledger.plan.task_graph.iter().map(|task| task.id.clone());
        let plan: HashSet<String> = plan.collect();
        let (mut tasks, mut wanted) = (Vec::new(), Vec::new());
        view.strangers = 0;
        for (name, tip) in references {
            let reference = self.records.space().parse(name);
            let is_stranger =
                matches!(&reference, Some(Reference::Task(task)) if !plan.contains(task));
            view.strangers += usize::from(is_stranger);
            let seen = self.seen.references.get(name);
            if is_stranger || seen == Some(tip) {
                continue;
            }
            match reference {
                Some(Reference::Task(task)) => {
                    tasks.push(task);
                    wanted.push((seen, tip));
                }
                Some(Reference::Machine(machine)) => {
                    view.renewals.insert(machine, tip.clone());
                }
                Some(Reference::Ledger) | None => {}
            }
        }
        for (task, commits) in tasks.iter().zip(self.records.chains(&wanted)?) {
            view.extend_task(task, commits.as_deref());
        }
        self.seen = now;
        Ok(self.view.insert(view))
    }

    /// The loop as of the last fetch.
    ///
    /// # Errors
    /// As [`Follower::look`].
    pub fn into_view(mut self) -> Result<View> {
        self.look()?;
        self.view.context("the loop was not read")
    }
}
