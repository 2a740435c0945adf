//! What may happen, and how each happening is carried out by the rules.

use super::git::{id, number};
use super::{Flight, Mistake, Shared, State, Unsettled};
use ralph_core::tasks::shared::names::Reference;
use ralph_core::tasks::shared::record::{CriterionReceipt, LedgerRecord, Record, Verdict};
use ralph_core::tasks::shared::text::{Name, ObjectId, Text};
use ralph_core::tasks::shared::timing::{Attempt, Settled, settle};
use ralph_core::tasks::shared::view::{Chain, ChainState, Ledger, TaskStanding, View};
use ralph_core::tasks::shared::work::{
    Append, Batch, Candidate, Done, Integration, Next, Worker, hand_in, integration, next,
};
use std::collections::BTreeSet;
use std::time::Duration;

/// One happening.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Act {
    /// A machine reads the remote, and settles its pushes.
    Read(u8),
    /// An idle worker looks for a task; it may take the other's claims for expired.
    Next(u8, bool),
    /// A worker hands in its work, together with the claim of its next task.
    HandIn(u8),
    /// A machine integrates; it may take the lease for expired, and return work.
    Integrate { machine: u8, expired: bool, returns: bool },
    /// A person cancels the loop at a machine.
    Cancel(u8),
    /// A push reaches the server, and the client gets the answer or not.
    Arrive(usize, bool),
    /// A push is cut off before it reaches the server.
    Cut(usize),
    /// A client loses its connection while its push is on the way.
    Detach(usize),
    /// A machine is killed.
    Kill(u8),
    /// A killed machine starts again.
    Restart(u8),
}

/// What may happen now.
pub(super) fn possible(model: &Shared, state: &State, acts: &mut Vec<Act>) {
    for (at, flight) in state.flights.iter().enumerate() {
        acts.extend([Act::Arrive(at, false), Act::Cut(at)]);
        if flight.is_heard {
            acts.extend([Act::Arrive(at, true), Act::Detach(at)]);
        }
    }
    for (number, machine) in (0..).zip(&state.machines) {
        if !machine.is_alive {
            acts.push(Act::Restart(number));
            continue;
        }
        if state.kills < model.kills {
            acts.push(Act::Kill(number));
        }
        if machine.unsettled.iter().any(|push| push.has_ended) {
            acts.push(Act::Read(number));
            continue;
        }
        if machine.seen != state.remote {
            acts.push(Act::Read(number));
        }
        // Its decisions wait for the results of its pushes, and for room in the model.
        let is_full = state.made.len() >= model.records || state.flights.len() >= model.flights;
        if !machine.unsettled.is_empty() || is_full && machine.own == 0 {
            continue;
        }
        let claims = || machine.seen.tasks.iter().flatten().filter_map(|tip| state.chain(*tip));
        let is_claimed = |chain: &Chain| matches!(chain.state, ChainState::Claimed { .. });
        match machine.works_on {
            None => {
                acts.push(Act::Next(number, false));
                acts.extend(claims().any(is_claimed).then_some(Act::Next(number, true)));
            }
            Some(_) => acts.push(Act::HandIn(number)),
        }
        // The holder needs no lease, and a lease that nobody holds cannot expire.
        let is_held = state.ledger(&machine.seen).integrator.is_some();
        let is_holder = is_holder(state, number, state.ledger(&machine.seen));
        acts.push(Act::Integrate {
            machine: number,
            expired: is_held && !is_holder,
            returns: false,
        });
        if model.refusals && is_holder {
            acts.push(Act::Integrate { machine: number, expired: false, returns: true });
        }
        if model.refusals {
            acts.push(Act::Cancel(number));
        }
    }
}

/// Does it; false if nothing comes of it.
pub(super) fn carry_out(model: &Shared, state: &mut State, act: Act) -> bool {
    match act {
        Act::Read(machine) => read(model, state, machine),
        Act::Next(machine, expired) => take_task(model, state, machine, expired),
        Act::HandIn(machine) => finish(model, state, machine),
        Act::Integrate { machine, expired, returns } => {
            integrate(model, state, machine, expired, returns)
        }
        Act::Cancel(machine) => {
            let kind = LedgerRecord::Cancel { reason: Text::new("enough") };
            let is_over = state.ledger(&state.machines[usize::from(machine)].seen).end.is_some();
            !is_over && append(model, state, machine, kind, None)
        }
        Act::Arrive(at, is_answered) => {
            arrive(state, at, is_answered);
            true
        }
        Act::Cut(at) => {
            let flight = state.flights.remove(at);
            hear(state, flight, None);
            true
        }
        Act::Detach(at) => {
            let flight = state.flights[at];
            state.flights[at].is_heard = false;
            hear(state, flight, None);
            true
        }
        Act::Kill(machine) => {
            state.kills += 1;
            state.flights.iter_mut().filter(|one| one.machine == machine).for_each(|flight| {
                flight.is_heard = false;
            });
            let machine = &mut state.machines[usize::from(machine)];
            machine.is_alive = false;
            machine.works_on = None;
            machine.unsettled.iter_mut().for_each(|push| push.has_ended = true);
            true
        }
        Act::Restart(machine) => {
            let machine = &mut state.machines[usize::from(machine)];
            machine.is_alive = true;
            machine.seen = state.remote;
            true
        }
    }
}

/// A push reaches the server, which compares unless it is forced.
fn arrive(state: &mut State, at: usize, is_answered: bool) {
    let flight = state.flights.remove(at);
    let made = &state.made[usize::from(flight.record)];
    let (task, parent) = (made.task, made.parent);
    let value = state.remote.get(task);
    // Git does not compare a value that is already there.
    let status = if value == Some(flight.record) {
        '='
    } else if value == parent || flight.forced {
        state.remote.set(task, flight.record);
        ' '
    } else {
        '!'
    };
    hear(state, flight, is_answered.then_some(status));
}

/// The client of a push ends with this status line.
fn hear(state: &mut State, flight: Flight, status: Option<char>) {
    if flight.is_heard {
        let pushes = &mut state.machines[usize::from(flight.machine)].unsettled;
        let push = pushes.iter_mut().find(|push| push.record == flight.record);
        if let Some(push) = push {
            (push.status, push.has_ended) = (status, true);
        }
    }
}

/// Reads the references, and settles the pushes that have ended.
fn read(model: &Shared, state: &mut State, number: u8) -> bool {
    let at = usize::from(number);
    let before = (state.machines[at].seen, state.machines[at].unsettled.clone());
    state.machines[at].seen = state.remote;
    for push in before.1.iter().copied().filter(|push| push.has_ended) {
        let made = &state.made[usize::from(push.record)];
        let settled = settle(&Attempt {
            record: &made.commit.id,
            expected: made.commit.parent.as_ref(),
            status: push.status,
            chain: Some(state.ids(&state.remote, push.record)),
            locked: None,
        });
        let bit = 1 << push.record;
        match settled {
            Settled::Again if state.flights.len() < model.flights => {
                send(state, number, push.record, push.forced);
            }
            // As soon as there is room.
            Settled::Again | Settled::Read | Settled::StaleLock => continue,
            Settled::Landed => state.machines[at].landed |= bit,
            Settled::Lost => state.machines[at].lost |= bit,
        }
        let is_claim = made_claim(state, push.record);
        let machine = &mut state.machines[at];
        if settled != Settled::Again {
            machine.unsettled.retain(|one| one.record != push.record);
        }
        // A worker begins only on a claim that still counts.
        if settled == Settled::Landed && is_claim && machine.works_on.is_none() {
            let task = state.made[usize::from(push.record)].task;
            if state.remote.get(task) == Some(push.record) {
                state.machines[at].works_on = Some(push.record);
            }
        }
    }
    (state.machines[at].seen, &state.machines[at].unsettled) != (before.0, &before.1)
}

fn made_claim(state: &State, record: u8) -> bool {
    state.made[usize::from(record)].commit.message.starts_with("Claim")
}

/// Pushes a record that was stored before.
fn send(state: &mut State, machine: u8, record: u8, forced: bool) {
    state.flights.push(Flight { record, machine, is_heard: true, forced });
    let pushes = &mut state.machines[usize::from(machine)].unsettled;
    pushes.retain(|push| push.record != record);
    pushes.push(Unsettled { record, status: None, has_ended: false, forced });
}

/// Stores the records and pushes them; false beyond the bounds of the model.
fn push(model: &Shared, state: &mut State, machine: u8, appends: Vec<(Append, bool)>) -> bool {
    let is_room = state.made.len() + appends.len() <= model.records
        && state.flights.len() + appends.len() <= model.flights;
    if !is_room || appends.is_empty() {
        return false;
    }
    for (append, forced) in appends {
        let record = state.store(model, append);
        state.machines[usize::from(machine)].own |= 1 << record;
        send(state, machine, record, forced);
    }
    true
}

/// A nonce that no other record has.
fn nonce(model: &Shared, state: &State, number: usize) -> Name {
    match model.mistake {
        Some(Mistake::Repeats) => Name::new("0"),
        _ => Name::new(&(state.made.len() + number).to_string()),
    }
}

/// The claims of a machine that no worker works on.
fn unattended(state: &State, machine: u8) -> BTreeSet<ObjectId> {
    let machine = &state.machines[usize::from(machine)];
    let own = (0..state.made.len()).filter(|at| machine.own & (1 << at) != 0);
    let works_on = machine.works_on.map(usize::from);
    own.filter(|at| Some(*at) != works_on).map(id).collect()
}

/// What an idle worker does next; it may take every claim of others for expired.
pub(super) fn next_of(state: &State, view: &View, machine: u8, expired: bool) -> Next {
    let claimed = view.tasks().filter_map(|(task, standing)| match standing {
        TaskStanding::Claimed { .. } if expired => Some(task.id.clone()),
        _ => None,
    });
    let (unattended, expired) = (unattended(state, machine), claimed.collect());
    // Both go for the same task: that is the worst.
    let taken = BTreeSet::new();
    let worker = Worker {
        unattended: &unattended,
        expired: &expired,
        taken: &taken,
        machines: 1,
        random: 0.0,
    };
    next(view, &worker)
}

fn take_task(model: &Shared, state: &mut State, number: u8, expired: bool) -> bool {
    let view = state.view(&state.machines[usize::from(number)].seen);
    let next = next_of(state, &view, number, expired);
    if let Next::Continue { claim, .. } = &next {
        state.machines[usize::from(number)].works_on = Some(super::git::number(claim));
        return true;
    }
    let takes_over = matches!(&next, Next::Claim { task, .. }
        if view.tasks().any(|(one, standing)| one.id == *task && matches!(standing, TaskStanding::Claimed { .. })));
    if expired && !takes_over {
        return false;
    }
    let forced = takes_over && model.mistake == Some(Mistake::ForcedTakeOver);
    let made = make(model, state, number, None, &next);
    push(model, state, number, made.into_iter().map(|one| (one, forced)).collect())
}

fn finish(model: &Shared, state: &mut State, number: u8) -> bool {
    let at = usize::from(number);
    let Some(works_on) = state.machines[at].works_on else { return false };
    let view = state.view(&state.machines[at].seen);
    let Some(task) = state.made[usize::from(works_on)].task else { return false };
    let (task, claim, work) = (format!("T-{task}"), id(works_on.into()), id(901 + at));
    let done = Done { task: &task, claim: &claim, work: &work };
    let next = next_of(state, &view, number, false);
    let forced = model.mistake == Some(Mistake::UnfencedFinish);
    let made = make(model, state, number, Some(done), &next);
    let sent = made.into_iter().map(|one| (one.work.is_some() && forced, one));
    let sent = push(model, state, number, sent.map(|(forced, one)| (one, forced)).collect());
    if sent {
        state.machines[at].works_on = None;
    }
    sent
}

fn make(
    model: &Shared,
    state: &State,
    machine: u8,
    done: Option<Done<'_>>,
    next: &Next,
) -> Vec<Append> {
    let (mut n, worker) = (0, Name::new("1"));
    hand_in(&model.space(), &model.machine(machine), &worker, done, next, || {
        n += 1;
        nonce(model, state, n)
    })
}

/// Whether a machine took the integrator's lease itself: it knows its records by their ids.
fn is_holder(state: &State, machine: u8, ledger: &Ledger) -> bool {
    let own = state.machines[usize::from(machine)].own;
    ledger.integrator.as_ref().is_some_and(|held| own & (1 << number(&held.renewed)) != 0)
}

/// What a machine does for the integration.
pub(super) fn integration_of(
    state: &State,
    view: &View,
    machine: u8,
    expired: bool,
) -> Integration {
    let is_holder = is_holder(state, machine, &view.ledger);
    let poll = Duration::from_secs(30);
    integration(
        view,
        &Candidate {
            is_holder,
            expired,
            has_commits: false,
            has_finished: true,
            poll,
            random: 0.0,
        },
    )
}

fn integrate(model: &Shared, state: &mut State, machine: u8, expired: bool, returns: bool) -> bool {
    let view = state.view(&state.machines[usize::from(machine)].seen);
    let (kind, work) = match integration_of(state, &view, machine, expired) {
        Integration::Nothing => return false,
        Integration::Take(_) => {
            let lease_seconds = view.ledger.plan.lease_seconds;
            (LedgerRecord::Integrator { lease_seconds }, None)
        }
        Integration::Merge(finishes) => {
            let mut batch = Batch::new(finishes);
            // Red: halved until one finish is left, which is returned.
            let red = returns.then(|| std::iter::from_fn(|| Some(batch.red())).find_map(|one| one));
            match red {
                Some(Some(finish)) => {
                    let reason = Text::new("a criterion is red");
                    (LedgerRecord::Verdict(Verdict::Returned { finish, reason }), None)
                }
                Some(None) => return false,
                None => {
                    let finishes = batch.part().unwrap_or_default().to_vec();
                    let receipt =
                        CriterionReceipt { criterion: "AC-1".into(), holds: true, tests_run: None };
                    let (tree, receipts) = (id(800), vec![receipt]);
                    (
                        LedgerRecord::Verdict(Verdict::Merged {
                            finishes,
                            tree,
                            receipts,
                            end: None,
                        }),
                        Some(id(810 + usize::from(machine))),
                    )
                }
            }
        }
        Integration::End(_) if returns => return false,
        Integration::End(end) => (LedgerRecord::End(end), None),
    };
    append(model, state, machine, kind, work)
}

/// Appends to the ledger as this machine has read it.
fn append(
    model: &Shared,
    state: &mut State,
    machine: u8,
    kind: LedgerRecord,
    work: Option<ObjectId>,
) -> bool {
    let record = Record::new(nonce(model, state, 1), model.machine(machine), kind);
    let tip = id(state.machines[usize::from(machine)].seen.ledger.into());
    let append =
        Append::new(&model.space(), &Reference::Ledger, Some(&tip), work.as_ref(), &record);
    push(model, state, machine, vec![(append, false)])
}
