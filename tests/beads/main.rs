//! `ralph task … --tracker bd`, with a stand-in for `bd`: this very executable under that name.

// The tests start the programs they test, and clippy does not see that a binary without harness is a test.
#![allow(clippy::disallowed_methods, clippy::unwrap_used)]

mod claims;
mod project;
mod reads;
mod refusals;
mod stand_in;
#[allow(unreachable_pub)]
#[path = "../support/timeless.rs"]
mod timeless;
#[allow(dead_code)]
#[path = "../cli/world.rs"]
mod world;
mod writes;

use libtest_mimic::{Arguments, Failed, Trial};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let own_name = std::env::args().next().unwrap_or_default();
    if Path::new(&own_name).file_name().is_some_and(|name| name == "bd") {
        return stand_in::run();
    }
    let tests = [reads::TESTS, writes::TESTS, refusals::TESTS, claims::TESTS].concat();
    let trials = tests.into_iter().map(|(name, test)| {
        Trial::test(name, move || -> Result<(), Failed> {
            test();
            Ok(())
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}
