//! Many processes at once: on one loop, on one home, beside a process that was stopped while it
//! held a lock, and on one git remote. Nothing is lost, nothing is counted twice, and nobody waits
//! without a bound.
//!
//! The short form runs with `cargo test`; `RALPH_PROOF=full` makes all of it larger. Which calls
//! come together is drawn from a seed, which is printed; `RALPH_SEED` sets it.

// Tests start the programs they test, and clippy does not see that a binary without harness is a test.
#![allow(clippy::disallowed_methods, clippy::unwrap_used)]

mod answers;
mod calls;
mod cancels;
mod chance;
mod endings;
mod held;
mod holders;

mod loops;
mod mix;
mod one_loop;
mod remote;
mod shared;
mod signals;
mod size;
mod tally;
mod workers;
mod written;

use libtest_mimic::{Arguments, Failed, Trial};
use ralph_test_support::sample::seed;
use ralph_test_support::session as world;
use std::process::ExitCode;

/// A named test.
type Test = (&'static str, fn());

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // One after another: each starts more processes than the machine has cores.
    arguments.test_threads = Some(1);
    if !arguments.list {
        println!("crowd: RALPH_SEED={} {}", seed(), size::describe());
    }
    let conclusion = libtest_mimic::run(&arguments, trials(&GROUPS));
    // These wait most of the time: for a deadline, a connection, a poll, a lease.
    arguments.test_threads = Some(if size::is_full() { 1 } else { 4 });
    let shared = shared::tests(arguments.filter.is_some());
    let waiting =
        [("holders", holders::TESTS), ("remote", remote::tests()), ("shared", &shared[..])];
    let waited = libtest_mimic::run(&arguments, trials(&waiting));
    if arguments.list {
        return ExitCode::SUCCESS;
    }
    if conclusion.num_passed + waited.num_passed > 0 && !conclusion.has_failed() {
        tally::print();
    }
    if conclusion.has_failed() { conclusion.exit_code() } else { waited.exit_code() }
}

const GROUPS: [(&str, &[Test]); 6] = [
    ("one_loop", one_loop::TESTS),
    ("signals", signals::TESTS),
    ("workers", workers::TESTS),
    ("endings", endings::TESTS),
    ("cancels", cancels::TESTS),
    ("loops", loops::TESTS),
];

fn trials(groups: &[(&'static str, &[Test])]) -> Vec<Trial> {
    let tests = groups.iter().flat_map(|(group, tests)| tests.iter().map(move |it| (group, it)));
    tests.map(|(group, (name, test))| trial(format!("{group}::{name}"), *test)).collect()
}

fn trial(name: String, test: fn()) -> Trial {
    Trial::test(name, move || {
        let began = std::time::Instant::now();
        test();
        eprintln!("{took:.1} s", took = began.elapsed().as_secs_f32());
        Ok::<(), Failed>(())
    })
}
