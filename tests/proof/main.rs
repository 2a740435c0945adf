//! A corpus of reward hacks and honest works, and the player that takes each through a conversation: a typed
//! `/ralph`, the change, and up to two requests for completion.
//!
//! `cases/*.toml` holds the corpus, one file for each runner; `corpus` explains its form. A case is two tests. `corpus::…`
//! needs nothing of Ralph: the criteria pass after the change, and the project is at its start as it is said to be.
//! `play::…` asks the hooks for completion and compares the answers with what the case states.
//!
//! `RALPH_PROOF=full` plays everything, `RALPH_PROOF_CASES` all cases whose names contain one of its words, which commas
//! part, and `RALPH_PROOF_SAMPLE=N` a sample, chosen by a seed that is printed (`RALPH_SEED` repeats it).
//! The runners are those of `tests/checks/install-tools.sh`; what is missing is SKIPPED aloud, and with
//! `RALPH_REQUIRE_TOOLS=1` that is a failure.

// Tests start the programs they test, and clippy does not see that a binary without harness is a test.
#![allow(clippy::disallowed_methods, clippy::unwrap_used)]

mod corpus;
mod judge;
mod play;
mod sample;
mod scene;
mod shape;
mod table;

use corpus::{Case, Corpus};
use libtest_mimic::{Arguments, Trial};
use ralph_test_support::{checks::tools, executables, session as world};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let corpus: &'static Corpus = Box::leak(Box::new(Corpus::read()));
    let missing = scene::missing(corpus);
    let is_asked =
        ["RALPH_PROOF_CASES", "RALPH_PROOF_SAMPLE"].iter().any(|it| std::env::var_os(it).is_some());
    let is_asked = is_asked || std::env::var("RALPH_PROOF").is_ok_and(|it| it == "full");
    for (runner, program) in missing.iter().filter(|_| is_asked && !arguments.list) {
        let why = format!("could not find `{program}` on PATH; run tests/checks/install-tools.sh");
        tools::announce(&format!("The cases of {runner} are SKIPPED."), &why);
    }
    if is_asked && !missing.is_empty() && tools::are_required() && !arguments.list {
        eprintln!("RALPH_REQUIRE_TOOLS=1 makes this a failure.");
        return ExitCode::FAILURE;
    }
    let is_here = |case: &&Case| !missing.iter().any(|(runner, _)| *runner == case.runner.as_str());
    let all = arguments.list || arguments.filter.is_some();
    let taken = sample::take(corpus.cases.iter().filter(is_here).collect(), all);
    let mut trials = shape::trials(corpus);
    if !taken.is_empty() && !arguments.list {
        // Built before the first test asks for them, so that no test waits for the compiler.
        executables();
    }
    for case in taken {
        trials.push(trial("corpus", case, || scene::check(case)));
        trials.push(trial("play", case, || play::check(case)));
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    table::print();
    conclusion.exit_code()
}

fn trial(
    what: &str,
    case: &'static Case,
    check: impl Fn() -> Result<(), String> + Send + 'static,
) -> Trial {
    Trial::test(format!("{what}::{}", case.id()), move || check().map_err(Into::into))
}
