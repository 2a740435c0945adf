//! Measures how long the second edit of a TypeScript file makes the model wait, against the pattern's
//! way: one tool after another, each through `npx`, the compiler without its earlier results.
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

/// The model may wait for this share of the pattern's time.
const BAR: f64 = 0.30;

/// So many modules, and how many milliseconds the model may wait.
const SIZES: [(usize, f64); 2] = [(300, 1_500.0), (2_000, 2_000.0)];

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
    let rounds = if args.iter().any(|arg| arg == "--short") { 1 } else { 9 };
    match measure(rounds) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn measure(rounds: usize) -> bool {
    let mut held = true;
    let mut row = |name: &str, ms: f64, ratio: f64, most: f64| {
        let is_held = ms <= most && ratio <= BAR;
        held &= is_held;
        let mark = if is_held { "ok" } else { "MISS" };
        println!(
            "{name:28} {ms:>9.0} ms   {ratio:.2} of the pattern's; bars {most:.0} ms, {BAR}   {mark}"
        );
    };
    for (n_modules, most) in SIZES {
        println!("{n_modules} modules");
        let subject = Subject::new(n_modules);
        let [first, _] = subject.ours(0);
        subject.pattern(0);
        let (mut waits, mut all, mut pattern) = (Vec::new(), Vec::new(), Vec::new());
        for round in 1..=rounds {
            let [wait, end] = subject.ours(round);
            waits.push(wait);
            all.push(end);
            pattern.push(subject.pattern(round));
        }
        let [wait, all, pattern] = [waits, all, pattern].map(median);
        println!("first edit: the model waits  {:>9.0} ms", first.as_secs_f64() * 1_000.0);
        row("second edit: the model waits", wait, wait / pattern, most);
        println!(
            "... all checks have ended    {all:>9.0} ms   {:.2} of the pattern's",
            all / pattern
        );
        println!("pattern: npx, one by one     {pattern:>9.0} ms");
        let idle: Vec<Duration> = (0..N_IDLE).map(|_| subject.nothing_applies()).collect();
        println!("no check applies             {:>9.1} ms", median(idle));
    }
    held
}

fn median(mut took: Vec<Duration>) -> f64 {
    took.sort_unstable();
    took[took.len() / 2].as_secs_f64() * 1_000.0
}
