//! The checks after an edit with the real tools, as the hook runs them: the compiler, linters, formatters and
//! test runners that `install-tools.sh` has put beside the tree.
//!
//! Where the tools are missing every test is reported as ignored, loudly; with `RALPH_REQUIRE_TOOLS=1`
//! that is a failure. Without that variable and without a filter only `FEW` run. `RALPH_SHOW_ANSWERS=1` prints what the model would read, with the time it took.

// Tests start the programs they test, and clippy does not see that a binary without harness is a test.
#![allow(clippy::disallowed_methods, clippy::unwrap_used)]

/// The tests of a file by their names; one that is left out is dead code, which the lints refuse.
macro_rules! tests {
    ($($name:ident),* $(,)?) => { &[$((stringify!($name), $name)),*] };
}

mod burst;
mod go;
mod packages;
mod python;
mod rust;
mod scale;
mod shell;
mod typescript;
mod vitest;

use libtest_mimic::{Arguments, Failed, Trial};
use ralph_test_support::checks::{project, tools};
use std::process::ExitCode;

/// What runs where the tools are not required: one test of each language.
const FEW: [&str; 5] = [
    "typescript::a_type_error_is_told_and_the_file_is_fixed_and_formatted",
    "python::a_finding_of_ruff_is_told_and_the_file_is_formatted",
    "shell::a_finding_of_shellcheck_is_told",
    "go::a_finding_of_vet_is_told_and_the_file_is_formatted",
    "rust::a_type_error_is_told_and_the_file_is_formatted",
];

/// A named test.
type Test = (&'static str, fn());

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // The tools of one edit keep two cores busy, and some of these tests are about time.
    arguments.test_threads = Some(1);
    let missing = tools::missing();
    if let Some(missing) = missing.as_ref().filter(|_| !arguments.list) {
        if tools::are_required() {
            eprintln!("{missing}\nRALPH_REQUIRE_TOOLS=1 makes this a failure.");
            return ExitCode::FAILURE;
        }
        tools::announce("The tests with the real tools are SKIPPED.", missing);
    }
    let all = tools::are_required() || arguments.filter.is_some() || arguments.list;
    libtest_mimic::run(&arguments, trials(missing.is_some(), all)).exit_code()
}

fn trials(ignored: bool, all: bool) -> Vec<Trial> {
    let groups: [(&str, Option<&str>, &[Test]); 9] = [
        ("typescript", None, typescript::TESTS),
        ("vitest", None, vitest::TESTS),
        ("packages", None, packages::TESTS),
        ("burst", None, burst::TESTS),
        ("python", None, python::TESTS),
        ("shell", Some("shellcheck"), shell::TESTS),
        ("go", Some("go"), go::TESTS),
        ("rust", Some("rustfmt"), rust::TESTS),
        ("scale", None, scale::TESTS),
    ];
    let mut trials = Vec::new();
    for (group, needs, tests) in groups {
        let lacks = needs.filter(|name| tools::find(name).is_none());
        if let Some(name) = lacks.filter(|_| !ignored) {
            tools::announce(
                &format!("The tests of {group} are SKIPPED."),
                &format!("could not find `{name}` on PATH"),
            );
        }
        for (name, test) in tests {
            let name = format!("{group}::{name}");
            let is_left_out = ignored || lacks.is_some() || !all && !FEW.contains(&name.as_str());
            trials.push(trial(name, *test).with_ignored_flag(is_left_out));
        }
    }
    trials
}

fn trial(name: String, test: fn()) -> Trial {
    Trial::test(name, move || {
        let began = std::time::Instant::now();
        test();
        eprintln!("{:.1} s", began.elapsed().as_secs_f32());
        Ok::<(), Failed>(())
    })
}
