//! Crash safety: every hook, and every writing command but those that `table` names with a reason, is
//! cut at its system calls, by a kill, by a disk that fails and, in a model, by the end of power; after
//! each cut the state is the old one or the new one, the next event and the next command work, and
//! nothing that was answered is lost.
//!
//! By default a sample of some cases is tried, chosen by a seed that is printed (`RALPH_SEED` repeats it);
//! `RALPH_PROOF=short` tries a sample of every case, and `RALPH_PROOF=full` every point. `RALPH_CRASH_CASE` names the cases to try by a part of
//! their names. Where strace is missing nothing can be tried: that is said aloud, and with
//! `RALPH_PROOF` it is a failure.

// The tests start the programs they test, and clippy does not see that a binary without harness is a test.
#![allow(clippy::disallowed_methods, clippy::unwrap_used)]

mod cases;
mod power;
mod report;
mod scene;
mod snapshot;
mod steady;
mod strike;
mod survives;
mod table;
mod trace;
mod workers;

use libtest_mimic::{Arguments, Trial};
use ralph_test_support::{executables, journals, planning, session as world};
use std::process::ExitCode;
use std::sync::Mutex;

/// What the last panic of this process said: a failed check is reported once, with its case.
static LAST_PANIC: Mutex<String> = Mutex::new(String::new());

fn last_panic() -> String {
    LAST_PANIC.lock().map(|said| said.clone()).unwrap_or_default()
}

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(workers::WORKER) {
        std::panic::set_hook(Box::new(|panic| {
            *LAST_PANIC.lock().unwrap() = panic.to_string();
        }));
        workers::work();
        return ExitCode::SUCCESS;
    }
    let arguments = Arguments::from_args();
    let own = [trace::TESTS, steady::TESTS, power::disk::TESTS, table::TESTS].concat();
    let mut trials: Vec<Trial> = own
        .into_iter()
        .map(|(name, test)| {
            Trial::test(name, move || {
                test();
                Ok(())
            })
        })
        .collect();
    trials.push(Trial::test("every_cut_leaves_the_old_or_the_new_state", || {
        report::prove().map_err(Into::into)
    }));
    libtest_mimic::run(&arguments, trials).exit_code()
}
