//! What goes wrong on machines, on the way and on the server, again and again until the loop ends.

use super::field::{Field, LEASE, WORKS};
use crate::size::is_full;
use ralph_test_support::git_server::{Fault, Storage, Transport};
use ralph_test_support::machine::{Machine, When};
use std::time::Duration;

const HTTP: (Transport, Storage) = (Transport::Http, Storage::Files);
const DAEMON: (Transport, Storage) = (Transport::Daemon, Storage::Files);

/// A round that takes some time, so that something can go wrong meanwhile.
const TAKES_TIME: &str = "sleep 0.$(($$ % 9 + 1)); works; closes; ends";

pub(super) fn power() {
    let Some(mut field) = Field::shared(HTTP, TAKES_TIME) else { return };
    field.start_all();
    field.until_end(|field| {
        field.pause(LEASE / 4);
        let n = field.machines.len();
        let at = field.chance.below(n);
        field.machines[at].power_off();
        // Some are back at once, and some later than their lease.
        let is_long = field.chance.below(3) == 0;
        field.pause(LEASE * u32::from(is_long) * 3 / 2);
        field.start_those_that_are_off();
    });
    field.finish();
}

/// All machines but the last die again and again: together, at each number of a call of git that one
/// life reaches.
pub(super) fn every_call() {
    for when in [When::Before, When::After] {
        let Some(mut field) = Field::shared(DAEMON, WORKS) else { return };
        let mortal = field.machines.len() - 1;
        field.start(mortal);
        let mut call = 0;
        field.until_end(|field| {
            for machine in &mut field.machines[..mortal] {
                if !machine.is_running() {
                    call += 1;
                    machine.kill_at(when, call);
                }
            }
            field.start_those_that_are_off();
        });
        let died = field.machines.iter().filter(|machine| machine.was_killed()).count();
        field.machines.iter().for_each(Machine::never_kill);
        field.finish();
        println!("died {when:?} {} calls of git", call - (mortal - died) as u64);
    }
}

pub(super) fn sleep() {
    let Some(mut field) = Field::shared(HTTP, TAKES_TIME) else { return };
    field.start_all();
    let mut round = 0;
    field.until_end(|field| {
        round += 1;
        field.pause(LEASE / 3);
        let n = field.machines.len();
        // Every third time all sleep at once.
        let one = field.chance.below(n);
        let sleepers: Vec<usize> = if round % 3 == 0 { (0..n).collect() } else { vec![one] };
        sleepers.iter().for_each(|at| field.machines[*at].suspend());
        field.pause(LEASE * 3 / 2);
        sleepers.iter().for_each(|at| field.machines[*at].resume());
    });
    field.finish();
}

pub(super) fn gone() {
    let Some(mut field) = Field::shared(HTTP, TAKES_TIME) else { return };
    field.start_all();
    // A minute in the whole proof.
    let gone = if is_full() { LEASE * 10 } else { LEASE * 3 / 2 };
    field.pause(LEASE / 3);
    field.until_end(|field| {
        field.server.set(Fault::Refuse);
        field.pause(gone);
        field.server.set(Fault::Pass);
        // Pauses between attempts have grown to 30 seconds at most.
        field.pause_until_end(LEASE * 6);
    });
    field.finish();
}

pub(super) fn connections() {
    for how in [HTTP, DAEMON] {
        let Some(mut field) = Field::shared(how, TAKES_TIME) else { continue };
        field.start_all();
        field.wait_for("a claim", |field| !field.proof().chains.is_empty());
        field.until_end(|field| {
            let bytes = field.chance.below(4_000) as u64;
            field.server.set(match field.chance.below(5) {
                // Calls that fell silent end at their deadline.
                0 => Fault::Silent,
                1 | 2 => Fault::CutClient(bytes),
                _ => Fault::CutServer(bytes),
            });
            field.pause(Duration::from_millis(500));
            field.server.set(Fault::Pass);
            field.pause(Duration::from_secs(1));
            // A run that cannot read the loop when it begins ends with the reason.
            field.start_those_that_are_off();
        });
        field.finish();
    }
}

pub(super) fn receive_pack() {
    let Some(mut field) = Field::shared(HTTP, TAKES_TIME) else { return };
    field.start_all();
    let mut killed = 0_usize;
    field.until_end(|field| {
        if field.server.has_killed() {
            killed += 1;
            // Each push has a first update, so the first one is cut for certain.
            let others = if killed == 1 { 0 } else { field.chance.below(2) };
            let update = 1 + u32::try_from(others).unwrap();
            field.server.kill_after_updates(update);
        }
        field.pause(Duration::from_millis(300));
    });
    // The last kill may have been the end of the run.
    killed += usize::from(field.server.has_killed());
    field.server.kill_no_more();
    field.finish();
    assert!(killed > 1, "receive-pack was killed");
}

pub(super) fn stale_lock() {
    let Some(mut field) = Field::shared(HTTP, TAKES_TIME) else { return };
    let [task, ledger] = ["t/T-1", "ledger"].map(|name| field.reference(name));
    let lock = field.server.leave_lock(&task);
    field.start_all();
    // Others get on, and the ledger is blocked for a while as well.
    field.wait_for("other tasks", |field| field.proof().finished() > 0);
    let second = field.server.leave_lock(&ledger);
    field.pause(LEASE);
    std::fs::remove_file(second).unwrap();
    field.pause(LEASE);
    std::fs::remove_file(lock).unwrap();
    field.until_end(|_| {});
    field.finish();
}

pub(super) fn full_disk() {
    let Some(mut field) = Field::shared((Transport::Http, Storage::SmallDisk), TAKES_TIME) else {
        return;
    };
    field.start_all();
    field.until_end(|field| {
        field.server.fill_disk();
        field.pause(LEASE / 2);
        field.server.empty_disk();
        field.pause(LEASE / 2);
    });
    field.finish();
}
