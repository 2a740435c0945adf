//! The integration: when this machine takes the lease, and how a decision becomes a verdict.

use super::claims::nonce;
use super::integrate::{self, Decision, FinishedWork, IntegrateOrder};
use super::{KnownRemote, SharedRun};
use anyhow::Result;
use ralph_core::tasks::shared::names::Reference;
use ralph_core::tasks::shared::record::{LedgerRecord, Record, Verdict};
use ralph_core::tasks::shared::text::{ObjectId, Text};
use ralph_core::tasks::shared::timing;
use ralph_core::tasks::shared::view::TaskStanding;
use ralph_core::tasks::shared::work::{Append, Candidate, Integration, integration};
use ralph_io::git::shared::{BRANCH, BranchUpdate};
use ralph_io::process::process_pool::MemberEvent;
use ralph_io::process::random;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// What this machine does for the integration.
#[derive(Default)]
pub(super) struct Integrating {
    /// True while the process that merges runs.
    is_running: bool,
    /// Its decisions, which are not in the ledger yet.
    decisions: VecDeque<Decision>,
    /// When the lease is taken, if the ledger is then still at this record.
    take: Option<(ObjectId, Instant)>,
    /// True if this machine has handed in work since the lease was last decided on.
    pub(super) has_finished: bool,
    /// The branch, while it is moved.
    branch: Option<MovingBranch>,
    /// Not before this moment is a failed integration tried again.
    not_before: Option<Instant>,
}

/// How often the branch is pushed for one merge, and for the last one.
const BRANCH_ATTEMPTS: u32 = 2;
const LAST_BRANCH_ATTEMPTS: u32 = 5;

/// A move of the branch to this tip.
struct MovingBranch {
    tip: ObjectId,
    attempts: u32,
    /// Not before this moment is the next attempt.
    next: Instant,
}

/// How long a machine waits after git or the disk failed in an integration.
const AFTER_FAILURE: Duration = Duration::from_secs(20);

impl SharedRun<'_> {
    /// Starts the process that merges if this machine has to, and ends it if it lost the lease.
    pub(super) fn integrate(&mut self) -> Result<()> {
        self.link.integrate_at = None;
        self.drop_settled();
        let Some(known) = &self.known else { return Ok(()) };
        if !known.integrates() {
            if self.integrating.is_running {
                self.runner.end(integrate::COMMAND);
            }
            self.integrating.decisions.clear();
            return Ok(());
        }
        let is_early = self.integrating.not_before.is_some_and(|moment| Instant::now() < moment);
        let is_busy = self.integrating.is_running || !self.integrating.decisions.is_empty();
        if is_busy || is_early {
            self.link.integrate_at = self.integrating.not_before.filter(|_| is_early);
            return Ok(());
        }
        let Integration::Merge(finishes) = self.next_integration() else { return Ok(()) };
        let works = known.view.tasks().filter_map(|(_, standing)| match standing {
            TaskStanding::Finished { finish, work } => Some((finish.clone(), work.clone())),
            _ => None,
        });
        let works: Vec<(ObjectId, ObjectId)> = works.collect();
        let finishes: Vec<FinishedWork> = finishes
            .into_iter()
            .filter_map(|finish| {
                let (_, work) = works.iter().find(|(known, _)| *known == finish.finish)?;
                Some(FinishedWork { work: work.clone(), finish })
            })
            .collect();
        let space = self.order.place.space();
        let tasks = finishes.iter().map(|one| Reference::Task(one.finish.task.clone()));
        let mut references: Vec<String> =
            tasks.chain([Reference::Ledger]).map(|one| space.name(&one)).collect();
        let commit = known.branch.clone().filter(|_| known.has_commits);
        references.extend(commit.iter().map(|_| BRANCH.to_owned()));
        let is_merged = |(_, standing): &(_, TaskStanding)| *standing == TaskStanding::Merged;
        let n_open = known.view.tasks().filter(|one| !is_merged(one)).count() - finishes.len();
        let order = IntegrateOrder {
            start: known.view.ledger.start.clone(),
            n_open,
            place: self.order.place.clone(),
            state: self.order.file.path().to_owned(),
            branch: known.view.ledger.branch.clone(),
            receipts: known.view.ledger.receipts.clone(),
            commit,
            finishes,
            references,
        };
        let names: Vec<&str> = order.finishes.iter().map(|one| one.finish.task.as_str()).collect();
        let about = if names.is_empty() { "commits".to_owned() } else { names.join(", ") };
        self.runner.screen.add(integrate::COMMAND, "integration", &about);
        self.runner.start_helper(integrate::COMMAND, integrate::COMMAND, &order)?;
        self.integrating.is_running = true;
        Ok(())
    }

    fn next_integration(&self) -> Integration {
        let Some(known) = &self.known else { return Integration::Nothing };
        let candidate = Candidate {
            is_holder: known.integrates(),
            expired: known.view.ledger.integrator.as_ref().is_some_and(|held| {
                self.leases.has_integrator_expired(Duration::from_secs(held.lease_seconds))
            }),
            has_commits: known.has_commits,
            has_finished: self.integrating.has_finished,
            poll: self.order.settings.poll(),
            random: random::fraction(),
        };
        integration(&known.view, &candidate)
    }

    /// The next record of the ledger, and where the branch has to be.
    pub(super) fn ledger_due(
        &mut self,
        is_leaving: bool,
    ) -> Result<(Option<Append>, Option<BranchUpdate>)> {
        let (branch, end_waits) = self.branch_due();
        let Some(known) = &self.known else { return Ok((None, None)) };
        let reference = self.order.place.space().name(&Reference::Ledger);
        if known.pending.contains_key(&reference) {
            return Ok((None, branch));
        }
        let (kind, work) = match known.integrates() {
            true => self.as_integrator(is_leaving, end_waits),
            false if is_leaving => (None, None),
            false => (self.take_due(), None),
        };
        let Some(known) = &self.known else { return Ok((None, None)) };
        let append = kind.map(|kind| {
            let record = Record::new(nonce(), self.machine.clone(), kind);
            let (space, tip) = (self.order.place.space(), known.view.ledger.tip());
            Append::new(space, &Reference::Ledger, tip, work.as_ref(), &record)
        });
        Ok((append, branch))
    }

    /// Where the branch has to be, and whether the end waits for that. A server that refuses it, as one
    /// may that protects branches, is asked a few times: more often before the end, after which nobody
    /// moves the branch.
    fn branch_due(&mut self) -> (Option<BranchUpdate>, bool) {
        let Some(known) = self.known.as_ref().filter(|known| known.integrates()) else {
            return (None, false);
        };
        let Some(update) = known.branch_due() else { return (None, false) };
        let is_end = matches!(self.next_integration(), Integration::End(_));
        let most = if is_end { LAST_BRANCH_ATTEMPTS } else { BRANCH_ATTEMPTS };
        let before = self.integrating.branch.take().filter(|before| before.tip == update.new);
        let mut moving = before.unwrap_or_else(|| MovingBranch {
            tip: update.new.clone(),
            attempts: 0,
            next: Instant::now(),
        });
        let is_due = moving.attempts < most && moving.next <= Instant::now();
        if is_due {
            moving.attempts += 1;
            moving.next =
                Instant::now() + timing::retry_pause(moving.attempts + 1, random::fraction());
        }
        let waits = moving.attempts < most || moving.next > Instant::now();
        if !is_due && waits {
            self.link.integrate_at = Some(moving.next);
        }
        if is_end && !waits {
            let name = self.order.place.space().branch();
            let text = format!("the remote does not take `{name}`; the ledger names the work");
            self.tell("branch", &text);
        }
        self.integrating.branch = Some(moving);
        (is_due.then_some(update), is_end && waits)
    }

    fn as_integrator(
        &mut self,
        is_leaving: bool,
        end_waits: bool,
    ) -> (Option<LedgerRecord>, Option<ObjectId>) {
        if let Some(decision) = self.integrating.decisions.front() {
            return verdict(decision);
        }
        if let Integration::End(end) = self.next_integration() {
            return ((!end_waits).then_some(LedgerRecord::End(end)), None);
        }
        let Some(known) = &self.known else { return (None, None) };
        let lease_seconds = known.view.ledger.plan.lease_seconds;
        if is_leaving {
            return (Some(LedgerRecord::Integrator { lease_seconds: 0 }), None);
        }
        let since = self.link.lease_since(known.view.ledger.integrator.as_ref());
        let is_due = self.integrating.is_running && timing::is_renewal_due(since, known.lease());
        (is_due.then_some(LedgerRecord::Integrator { lease_seconds }), None)
    }

    /// Takes the lease once it is time.
    fn take_due(&mut self) -> Option<LedgerRecord> {
        let Integration::Take(delay) = self.next_integration() else {
            self.integrating.take = None;
            return None;
        };
        let ledger = &self.known.as_ref()?.view.ledger;
        let tip = ledger.tip()?.clone();
        let known = self.integrating.take.take().filter(|(seen, _)| *seen == tip);
        let (tip, at) = known.unwrap_or_else(|| (tip, Instant::now() + delay));
        let lease_seconds = ledger.plan.lease_seconds;
        if at > Instant::now() {
            self.link.integrate_at = Some(at);
            self.integrating.take = Some((tip, at));
            return None;
        }
        Some(LedgerRecord::Integrator { lease_seconds })
    }

    /// Forgets the decisions that are in the ledger, and those that no longer hold.
    fn drop_settled(&mut self) {
        let Some(known) = &self.known else { return };
        let ledger = &known.view.ledger;
        while let Some(decision) = self.integrating.decisions.front() {
            let is_settled = match decision {
                Decision::Merged { tip, .. } => ledger.branch == *tip && ledger.tree.is_some(),
                Decision::Returned { finish, .. } => {
                    ledger.returned.contains_key(&finish.finish)
                        || ledger.merged.contains(&finish.task)
                }
                Decision::Stuck(_) => ledger.pause.is_some(),
                Decision::Failed(_) => true,
            };
            if !is_settled {
                // Another machine has merged meanwhile.
                if matches!(decision, Decision::Merged { base, .. } if ledger.branch != *base) {
                    self.integrating.decisions.clear();
                }
                return;
            }
            self.integrating.decisions.pop_front();
        }
    }

    /// Takes an event of the process that merges. False if the display takes it.
    pub(super) fn integration_heard(&mut self, event: &MemberEvent) -> Result<bool> {
        match event {
            MemberEvent::Line(line) => {
                let Ok(decision) = serde_json::from_slice::<Decision>(line) else {
                    return Ok(false);
                };
                match decision {
                    Decision::Failed(why) => {
                        self.integrating.not_before = Some(Instant::now() + AFTER_FAILURE);
                        self.tell("integration", &format!("could not integrate: {why}"));
                    }
                    decision => self.integrating.decisions.push_back(decision),
                }
                Ok(true)
            }
            MemberEvent::Gone(_) => {
                self.integrating.is_running = false;
                self.runner.screen.remove(integrate::COMMAND);
                Ok(true)
            }
        }
    }
}

/// The record of a decision, and the commit that it carries.
fn verdict(decision: &Decision) -> (Option<LedgerRecord>, Option<ObjectId>) {
    match decision {
        Decision::Merged { tip, finishes, tree, receipts, end, .. } => {
            let merged = Verdict::Merged {
                finishes: finishes.clone(),
                tree: tree.clone(),
                receipts: receipts.clone(),
                end: end.clone(),
            };
            (Some(LedgerRecord::Verdict(merged)), Some(tip.clone()))
        }
        Decision::Returned { finish, reason } => {
            let (finish, reason) = (finish.clone(), Text::new(reason));
            (Some(LedgerRecord::Verdict(Verdict::Returned { finish, reason })), None)
        }
        Decision::Stuck(reason) => (Some(LedgerRecord::Pause { reason: Text::new(reason) }), None),
        Decision::Failed(_) => (None, None),
    }
}

impl KnownRemote {
    /// The branch follows the ledger, unless a person has added to it.
    fn branch_due(&self) -> Option<BranchUpdate> {
        let tip = &self.view.ledger.branch;
        let has_moved = self.view.ledger.tree.is_some() && self.branch.as_ref() != Some(tip);
        let update = || BranchUpdate { expected: self.branch.clone(), new: tip.clone() };
        (has_moved && !self.has_commits).then(update)
    }
}
