//! Measures the answer to the second edit of a TypeScript file against the pattern's way: one tool
//! after another, each through `npx`, the compiler without its earlier results.
//!
//! Both sides run in turn on one project, so that a slow minute of the machine affects both.
//! Absolute times vary; quote the ratio. The tools come from `tests/checks/install-tools.sh`.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a bench starts programs")]

#[path = "checks/subject.rs"]
mod subject;

use ralph_test_support::checks::{project, tools};
use std::process::ExitCode;
use std::time::Duration;
use subject::Subject;

/// Our time may be at most this share of the pattern's.
const BAR: f64 = 0.65;

/// Edits of a file to which no check applies.
const N_IDLE: usize = 21;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --all-targets` also starts benches, to check that they start.
    if !args.iter().any(|arg| arg == "--bench") {
        println!("not measuring: run by `cargo bench -p ralph --bench checks`");
        return ExitCode::SUCCESS;
    }
    if let Some(missing) = tools::missing()
        .or_else(|| tools::find("npx").is_none().then(|| "could not find `npx` on PATH".to_owned()))
    {
        tools::announce("The bench of the checks is SKIPPED.", &missing);
        return ExitCode::SUCCESS;
    }
    let rounds = if args.iter().any(|arg| arg == "--short") { 3 } else { 9 };
    match measure(rounds) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn measure(rounds: usize) -> bool {
    let subject = Subject::new();
    let first = subject.ours(0);
    subject.pattern(0);
    let mut ours = Vec::new();
    let mut pattern = Vec::new();
    for round in 1..=rounds {
        ours.push(subject.ours(round));
        pattern.push(subject.pattern(round));
    }
    let idle: Vec<Duration> = (0..N_IDLE).map(|_| subject.nothing_applies()).collect();
    let (ours, pattern) = (median(ours), median(pattern));
    let ratio = ours / pattern;
    let held = ratio <= BAR;
    let mark = if held { "ok" } else { "MISS" };
    println!("first edit of a .ts file     {:>9.0} ms", first.as_secs_f64() * 1_000.0);
    println!(
        "second edit of a .ts file    {ours:>9.0} ms   {ratio:.2} of the pattern's, bar <= {BAR}   {mark}"
    );
    println!("pattern: npx, one by one     {pattern:>9.0} ms");
    println!("no check applies             {:>9.1} ms", median(idle));
    held
}

fn median(mut took: Vec<Duration>) -> f64 {
    took.sort_unstable();
    took[took.len() / 2].as_secs_f64() * 1_000.0
}
