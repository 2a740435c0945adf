//! What the whole run did, for the one line at its end.

use std::sync::Mutex;
use std::time::Duration;

/// What was done so far.
struct Tally {
    processes: usize,
    largest_crowd: usize,
    loops: usize,
    holders: usize,
    gave_up: usize,
    longest: Duration,
    slowest: String,
    beside: Duration,
    broken: usize,
    shared_tasks: usize,
}

static TALLY: Mutex<Tally> = Mutex::new(Tally {
    processes: 0,
    largest_crowd: 0,
    loops: 0,
    holders: 0,
    gave_up: 0,
    longest: Duration::ZERO,
    slowest: String::new(),
    beside: Duration::ZERO,
    broken: 0,
    shared_tasks: 0,
});

fn change(change: impl FnOnce(&mut Tally)) {
    change(&mut TALLY.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
}

/// So many processes have run, all of them on one loop at once.
pub(crate) fn crowd(processes: usize) {
    change(|tally| {
        tally.processes += processes;
        tally.largest_crowd = tally.largest_crowd.max(processes);
    });
}

/// One process of a crowd took so long, from its start to its end.
pub(crate) fn waited(what: &str, time: Duration) {
    change(|tally| {
        if time > tally.longest {
            (tally.longest, tally.slowest) = (time, what.to_owned());
        }
    });
}

/// A process did not get the lock in time, and said so.
pub(crate) fn gave_up() {
    change(|tally| tally.gave_up += 1);
}

/// So many loops have run on one home.
pub(crate) fn loops(count: usize) {
    change(|tally| tally.loops += count);
}

/// A process was stopped or killed while it held a lock.
pub(crate) fn holder() {
    change(|tally| tally.holders += 1);
}

/// A process beside a stopped one took so long.
pub(crate) fn beside(time: Duration) {
    change(|tally| tally.beside = tally.beside.max(time));
}

/// The connection of a push broke.
pub(crate) fn broken() {
    change(|tally| tally.broken += 1);
}

/// Machines that share a loop have finished so many tasks.
pub(crate) fn shared(tasks: usize) {
    change(|tally| tally.shared_tasks += tasks);
}

/// Prints the line.
pub(crate) fn print() {
    change(|tally| {
        println!(
            "crowd: {} at most at once; {} gave up at a lock; the slowest was `{}`; beside a \
             stopped holder none took longer than {} ms",
            tally.largest_crowd,
            tally.gave_up,
            tally.slowest,
            tally.beside.as_millis()
        );
        println!(
            "proof | crowd | {} processes on one loop, {} loops, {} stopped holders, {} broken pushes, \
             {} shared tasks | nothing lost, nothing twice; longest wait {} ms",
            tally.processes,
            tally.loops,
            tally.holders,
            tally.broken,
            tally.shared_tasks,
            tally.longest.as_millis()
        );
    });
}
