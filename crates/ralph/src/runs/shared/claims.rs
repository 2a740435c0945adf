//! Which records this machine writes next, and what becomes of a worker whose claim is settled.

use super::SharedRun;
use super::worker::{self, MOST_ROUNDS};
use crate::command::exit::bad_state;
use crate::command::screen::visible;
use crate::runs::engine;
use anyhow::Result;
use ralph_core::modes::shared::{self as member, Held};
use ralph_core::state::{LoopState, Worker};
use ralph_core::tasks::shared::names::Reference;
use ralph_core::tasks::shared::record::{MachineRecord, Record, TaskRecord};
use ralph_core::tasks::shared::text::{Name, ObjectId, Text};
use ralph_core::tasks::shared::timing;
use ralph_core::tasks::shared::work::{self, Append, Done, Next, hand_in, next};
use ralph_core::text::plural::counted;
use ralph_io::git::shared::Exchange;
use ralph_io::process::random;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

/// How many exchanges a run makes at most before it ends.
const LAST_EXCHANGES: usize = 20;

/// What is to be said about a claim.
enum Due {
    Finish(ObjectId),
    Release(String),
    /// A worker works on it, or a round is due.
    Nothing,
}

impl SharedRun<'_> {
    /// The records that are due, as one exchange. A machine that leaves takes nothing new.
    pub(super) fn records_due(&mut self, state: &LoopState, is_leaving: bool) -> Result<Exchange> {
        let Some(known) = &self.known else { return Ok(Exchange::default()) };
        let space = self.order.place.space();
        let mut appends = Vec::new();
        let (mut occupied, mut taken) = (0, BTreeSet::new());
        for reference in known.pending.keys() {
            if let Some(Reference::Task(task)) = space.parse(reference) {
                occupied += usize::from(!self.link.is_stuck(reference));
                taken.insert(task);
            }
        }
        let claims = known.claims();
        let mut finishes = Vec::new();
        for (task, claim) in &claims {
            if taken.contains(task) {
                continue;
            }
            match self.due(state, claim)? {
                Due::Finish(work) => finishes.push((task.clone(), claim.clone(), work)),
                Due::Release(reason) => {
                    let kind = TaskRecord::Released { reason: Text::new(&reason) };
                    appends.push(self.on_task(task, claim, None, kind));
                }
                Due::Nothing => occupied += 1,
            }
            taken.insert(task.clone());
        }
        let mut free = self.order.workers.saturating_sub(occupied);
        if self.order.rounds > 0 {
            // A task that no round could begin is for others.
            free = free.min(self.order.rounds.saturating_sub(self.number) as usize);
        }
        let expired = known.expired(&self.leases);
        let works = finishes.iter().map(|(_, claim, work)| (claim.clone(), work.clone()));
        self.works.extend(works.collect::<Vec<_>>());
        let Some(known) = &self.known else { return Ok(Exchange::default()) };
        let mut finishes = finishes.into_iter();
        let worker = Name::new(&(self.number + 1).to_string());
        let mut machines = known.view.machines();
        machines.insert(&self.machine);
        let machines = machines.len();
        for _ in 0..free.max(finishes.len()) {
            let done = finishes.next();
            let choice = work::Worker {
                unattended: &BTreeSet::new(),
                expired: &expired,
                taken: &taken,
                machines,
                random: random::fraction(),
            };
            // A finished worker's place is free too, while a round is left.
            let has_round = self.order.rounds == 0 || free > 0;
            let may_claim = !is_leaving && has_round && self.link.may_claim();
            let next = if may_claim { next(&known.view, &choice) } else { Next::Wait };
            if let Next::Claim { task, .. } = &next {
                taken.insert(task.clone());
            }
            let done = done.as_ref().map(|(task, claim, work)| Done { task, claim, work });
            appends.extend(hand_in(space, &self.machine, &worker, done, &next, nonce));
        }
        if !is_leaving && !claims.is_empty() {
            appends.extend(self.renewal_due());
        }
        let (ledger, branch) = self.ledger_due(is_leaving)?;
        appends.extend(ledger);
        let known = self.known.as_ref();
        let pending = known.is_some_and(|known| !known.pending.is_empty());
        let pushes = !appends.is_empty() || branch.is_some() || pending;
        Ok(Exchange { appends, branch, pushes, ..Exchange::default() })
    }

    fn on_task(
        &self,
        task: &str,
        parent: &ObjectId,
        work: Option<&ObjectId>,
        kind: TaskRecord,
    ) -> Append {
        let record = Record::new(nonce(), self.machine.clone(), kind);
        let reference = Reference::Task(task.to_owned());
        Append::new(self.order.place.space(), &reference, Some(parent), work, &record)
    }

    fn due(&self, state: &LoopState, claim: &ObjectId) -> Result<Due> {
        Ok(match member::held(state, claim) {
            Held::Done(_) if self.works.contains_key(claim) => {
                Due::Finish(self.works[claim].clone())
            }
            Held::Done(worker) => match worker::work_of(self.order.here, worker)? {
                Ok(work) => Due::Finish(work),
                Err(why) => Due::Release(format!("its work cannot be handed in: {why}")),
            },
            Held::GivenUp(why) => Due::Release(format!("its worker gave up: {why}")),
            Held::Open(_) if member::rounds(state, claim) >= MOST_ROUNDS => {
                Due::Release(format!("left open after {}", counted(MOST_ROUNDS, "round", "rounds")))
            }
            Held::Open(_) | Held::Running => Due::Nothing,
        })
    }

    /// One record renews all claims of the machine.
    fn renewal_due(&self) -> Option<Append> {
        let (known, renewed) = (self.known.as_ref()?, self.link.renewed?);
        let reference = Reference::Machine(self.machine.clone());
        let space = self.order.place.space();
        let is_due = timing::is_renewal_due(renewed.elapsed(), known.lease())
            && !known.pending.contains_key(&space.name(&reference));
        is_due.then(|| {
            let record = Record::new(nonce(), self.machine.clone(), MachineRecord::Renewal);
            let parent = known.view.renewals.get(&self.machine);
            Append::new(space, &reference, parent, None, &record)
        })
    }

    /// Puts away the workers of claims that are settled: what was handed in, and what is kept because
    /// the claim was lost. True if there was one.
    pub(super) fn settle_workers(&mut self, state: &LoopState) -> Result<bool> {
        let Some(known) = &self.known else { return Ok(false) };
        let (mut settled, mut lost) = (None, Vec::new());
        for worker in &state.workers {
            let Some(claim) = member::claim_of(worker) else { continue };
            let is_current = known.view.holds(&worker.task, &claim) && known.owns(&claim);
            if is_current || known.pending_on(self.order.place.space(), &worker.task) {
                continue;
            }
            if worker.is_running() {
                lost.push((worker.task.clone(), claim));
                continue;
            }
            settled = Some((worker.clone(), claim));
            break;
        }
        self.end_lost(&lost);
        let Some((worker, claim)) = settled else { return Ok(false) };
        self.settle_worker(&worker, &claim)?;
        let forget = |state: &mut LoopState| member::forget(state, &claim);
        self.order.file.update(forget).map_err(bad_state)?;
        Ok(true)
    }

    /// Ends the workers of lost claims.
    fn end_lost(&mut self, lost: &[(String, ObjectId)]) {
        for (task, claim) in lost {
            let mut at_work = self.at_work.iter_mut();
            let ours = at_work.find(|(_, one)| one.claim == *claim && !one.is_lost);
            let Some((call, at_work)) = ours else { continue };
            at_work.is_lost = true;
            let call = call.clone();
            self.tell("lost", &format!("{task}: the claim is lost; ending its worker"));
            self.runner.end(&call);
        }
    }

    fn settle_worker(&mut self, worker: &Worker, claim: &ObjectId) -> Result<()> {
        let task = &worker.task;
        let why = match self.record_after(task, claim)? {
            Some(TaskRecord::Finish) => None,
            Some(TaskRecord::Released { .. }) => Some("the task was given back"),
            _ => Some("the claim was lost"),
        };
        if let Some(why) = why {
            let loop_id = self.order.place.space().loop_id();
            let kept = worker::keep(self.order.here, loop_id, worker)?;
            let kept = kept.map(|name| format!("; the work is kept at `{name}`"));
            self.tell("kept", &format!("{task}: {why}{}", kept.unwrap_or_default()));
        }
        self.works.remove(claim);
        worker::remove(self.order.here, worker);
        Ok(())
    }

    /// Keeps what workers have left at the end of the loop, and removes their worktrees.
    pub(super) fn keep_the_rest(&self) -> Result<()> {
        let state = engine::last_state(self.order.here, self.order.file)?;
        for worker in state.workers.iter().filter(|worker| Path::new(&worker.worktree).is_dir()) {
            let kept = worker::keep(self.order.here, self.order.place.space().loop_id(), worker)?;
            if let Some(name) = kept {
                let text = format!("{}: what its worker left is kept at `{name}`", worker.task);
                self.runner.screen.tell(&visible(&text));
            }
            worker::remove(self.order.here, worker);
        }
        Ok(())
    }

    /// What this machine has written after this claim; `None` if another machine has.
    fn record_after(&self, task: &str, claim: &ObjectId) -> Result<Option<TaskRecord>> {
        let Some(known) = &self.known else { return Ok(None) };
        let Some(Ok(chain)) = known.view.chains.get(task) else { return Ok(None) };
        let at = chain.ids.iter().position(|id| id == claim);
        let Some(next) = at.and_then(|at| chain.ids.get(at + 1)) else { return Ok(None) };
        let commit = self.follower.records().record(next)?;
        let record = Record::<TaskRecord>::parse(&commit.message).ok();
        Ok(record.filter(|record| record.machine == self.machine).map(|record| record.kind))
    }

    /// Hands in what is done and gives the integrator's lease back, before the run ends. What the
    /// remote does not take now stays pending.
    pub(super) fn leave(&mut self, state: &LoopState) -> Result<()> {
        let mut state = state.clone();
        for n in 0..LAST_EXCHANGES {
            let exchange = self.records_due(&state, true)?;
            if !exchange.pushes {
                return Ok(());
            }
            if n == 0 {
                self.runner.screen.tell("handing in what is done");
            }
            let began = Instant::now();
            let order = self.exchange_order(exchange);
            self.answered(began, order.carry_out())?;
            if self.link.is_troubled() {
                return Ok(());
            }
            match self.order.file.read().map_err(bad_state)? {
                Some(loaded) => state = loaded.state,
                None => return Ok(()),
            }
            while self.settle_workers(&state)? {
                match self.order.file.read().map_err(bad_state)? {
                    Some(loaded) => state = loaded.state,
                    None => return Ok(()),
                }
            }
        }
        Ok(())
    }
}

pub(super) fn nonce() -> Name {
    Name::new(&random::uuid())
}
