//! Runs in which nothing fails but the work itself, and those that begin or end in an unusual way.

use super::field::{Field, LEASE, WORKS};
use crate::size::{is_full, size};
use ralph_test_support::git_server::{Storage, Transport};
use std::time::Instant;

const USUAL: (Transport, Storage) = (Transport::Http, Storage::Files);

pub(super) fn finished() {
    over(&[USUAL]);
}

pub(super) fn over_other_transports() {
    over(&[
        (Transport::Daemon, Storage::Files),
        (Transport::Ssh, Storage::Files),
        (Transport::Http, Storage::Reftable),
    ]);
}

fn over(all: &[(Transport, Storage)]) {
    for how in all {
        let Some(mut field) = Field::shared(*how, WORKS) else { continue };
        field.start_all();
        field.until_end(|_| {});
        let proof = field.finish();
        assert_eq!(proof.returns(), 0, "{proof:#?}");
    }
}

/// Tasks a minute and their cost, by the number of machines, with one worker each and rounds of two
/// seconds. It checks nothing that the other tests do not.
pub(super) fn figures() {
    let mut machines = 1;
    while machines <= size().machines {
        let tasks = (5 * machines).min(50);
        let Some(mut field) =
            Field::shared_by(machines, tasks, USUAL, "sleep 2; works; closes; ends")
        else {
            return;
        };
        let began = Instant::now();
        field.start_with(&["--workers", "1"]);
        field.until_end(|_| {});
        let minutes = began.elapsed().as_secs_f64() / 60.0;
        let traffic = field.server.traffic();
        let (calls, pushes, lost) = field.machines.iter().fold((0, 0, 0), |sum, machine| {
            let lost = machine.output().matches("another machine was faster").count();
            (sum.0 + machine.git_calls(), sum.1 + machine.git_pushes(), sum.2 + lost)
        });
        field.finish();
        let each = |n: f64| n / tasks as f64;
        println!(
            "{machines} machines: {:.1} tasks and {:.0} pushes a minute; for each task {:.1} pushes, \
             {:.0} calls of git, {:.1} KB sent, {:.1} KB received; {lost} claims lost",
            tasks as f64 / minutes,
            pushes as f64 / minutes,
            each(pushes as f64),
            each(calls as f64),
            each(traffic.sent as f64) / 1e3,
            each(traffic.received as f64) / 1e3,
        );
        machines *= 2;
    }
}

/// Two tasks write one file, and one breaks a criterion; both do better when they are done again.
pub(super) fn returned() {
    let client = "case $id in
  T-2|T-3) once conflict-$id && echo $id >shared;;
  T-4) if once breaks; then touch broken; else rm -f broken; fi;;
esac
works; closes; ends";
    let Some(mut field) = Field::shared(USUAL, client) else { return };
    field.start_all();
    field.until_end(|_| {});
    let proof = field.finish();
    assert!(proof.returns() > 0, "{proof:#?}");
}

/// Machines share loops of their own in the same moment, and each shares its loop twice; then they carry
/// two of these loops out.
pub(super) fn shared_at_once() {
    let Some(mut field) = Field::new(USUAL, WORKS) else { return };
    field.share_by_all(size().tasks / 2);
    for loop_id in field.shared_loops().into_iter().take(2) {
        field.choose(&loop_id);
        field.start_all();
        field.until_end(|_| {});
        field.finish();
    }
}

/// A machine sleeps with a claim. No machine that lives for half a lease takes it.
pub(super) fn short_observers() {
    let Some(mut field) = Field::shared(USUAL, "once first && sleep 2\nworks; closes; ends") else {
        return;
    };
    field.start(0);
    field.wait_for("a claim", |field| !field.proof().chains.is_empty());
    field.machines[0].suspend();
    let claimed = |field: &Field| -> Vec<(String, usize)> {
        field.proof().chains.iter().map(|(id, chain)| (id.clone(), chain.len())).collect()
    };
    let before = claimed(&field);
    for _ in 0..3 {
        let at = field.machines.len();
        field.add_machine();
        field.trust(&field.machines[at]);
        field.start(at);
        let began = Instant::now();
        while began.elapsed() < LEASE / 2 {
            field.pause(LEASE / 20);
        }
        field.machines[at].power_off();
    }
    let after = claimed(&field);
    assert!(before.iter().all(|claim| after.contains(claim)), "{before:?}, then {after:?}");
    field.machines[0].resume();
    // Of the runners, one stays.
    field.until_end(|field| field.start_those_that_are_off());
    field.finish();
}

/// The integrator dies for good, and the others finish tasks until its lease is over.
pub(super) fn backlog() {
    let Some(mut field) = Field::new(USUAL, WORKS) else { return };
    // Long enough for a backlog that needs several batches.
    let (lease, backlog) = if is_full() { (LEASE * 15, 50) } else { (LEASE, 2) };
    field.set_lease(lease);
    field.share(0, size().tasks);
    field.start_all();
    field.wait_for("an integrator", |field| !field.proof().integrators().is_empty());
    let name = field.proof().integrators()[0].as_str().to_owned();
    let dead = field.machine_named(&name);
    field.machines[dead].power_off();
    let waiting = |field: &Field| {
        let proof = field.proof();
        proof.finished() - proof.ledger.merged.len()
    };
    field.wait_for("the backlog", |field| waiting(field) >= backlog);
    println!("{} finishes wait for an integrator", waiting(&field));
    field.until_end(|_| {});
    let proof = field.finish();
    assert!(proof.integrators().len() > 1, "{proof:#?}");
}
