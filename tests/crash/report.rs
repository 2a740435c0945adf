//! Has everything tried that was asked for, and says what it came to.

use crate::cases;
use crate::strike::{Choice, Tally};
use crate::workers;
use ralph_test_support::sample::seed;
use std::process::Command;

/// A sample tries one point in this many.
const SAMPLE: u64 = 100;

/// Without `RALPH_PROOF`, the same sample of one case in this many, others each day.
const CASES: u64 = 10;

/// Into so many parts a case is cut, so that all processors have work to the end.
const PARTS: usize = 3;

/// Failures that are shown of each case; the rest are counted.
const SHOWN: usize = 3;

/// Tries the points; an error says what was not as promised.
pub(crate) fn prove() -> Result<(), String> {
    if Command::new("strace").arg("-V").output().is_err() {
        let missing = "strace is not installed, so no program can be cut at its calls";
        eprintln!("SKIPPED: crash safety: {missing}");
        let required = std::env::var_os("RALPH_PROOF").is_some();
        return if required { Err(missing.to_owned()) } else { Ok(()) };
    }
    let proof = std::env::var("RALPH_PROOF").unwrap_or_default();
    let seed = seed();
    let cases = if proof.is_empty() { CASES } else { 1 };
    if proof != "full" {
        println!(
            "crash: a sample of one point in {SAMPLE} of one case in {cases}; RALPH_SEED={seed} repeats it"
        );
    }
    let orders = orders(proof == "full", cases, seed);
    let n_cases =
        orders.iter().map(|(number, _)| number).collect::<std::collections::BTreeSet<_>>().len();
    let done = workers::run(&orders);
    told(n_cases, &done)
}

fn orders(is_full: bool, one_case_of: u64, seed: u64) -> Vec<(usize, Choice)> {
    let named = std::env::var("RALPH_CRASH_CASE").unwrap_or_default();
    let cases = cases::all();
    let is_named = |name: &str| named.split(',').any(|part| name.contains(part));
    let is_todays =
        |number: usize| !named.is_empty() || (number as u64 + seed).is_multiple_of(one_case_of);
    let meant = cases.iter().enumerate();
    let meant = meant.filter(|(number, case)| is_todays(*number) && is_named(case.name));
    let (one_of, parts) = if is_full { (1, PARTS) } else { (SAMPLE, 1) };
    // Those that start other processes have by far the most points: first, so as not to be last.
    let mut meant: Vec<_> = meant.collect();
    meant.sort_by_key(|(_, case)| !case.has_family);
    let order =
        |number: usize| (0..parts).map(move |part| (number, Choice { seed, one_of, part, parts }));
    meant.into_iter().flat_map(|(number, _)| order(number)).collect()
}

/// One line for each part of a case, for one who waits: with `RALPH_CRASH_VERBOSE`.
pub(crate) fn progress(number: usize, tally: &Tally) {
    if std::env::var_os("RALPH_CRASH_VERBOSE").is_some() {
        eprintln!(
            "{}: {} kills, {} errors, {} limits, {} power cuts, {} looked at, {} failures",
            cases::all()[number].name,
            tally.kills,
            tally.errors,
            tally.limits,
            tally.power_cuts,
            tally.looked_at,
            tally.failures.len()
        );
        tally.failures.iter().take(SHOWN).for_each(|failure| eprintln!("  {failure}"));
    }
}

fn told(n_cases: usize, done: &[(usize, Tally)]) -> Result<(), String> {
    let sum = |of: fn(&Tally) -> usize| done.iter().map(|(_, tally)| of(tally)).sum::<usize>();
    let failures: Vec<&String> = done.iter().flat_map(|(_, tally)| &tally.failures).collect();
    let result =
        |is_meant: fn(&str) -> bool| match failures.iter().filter(|it| is_meant(it)).count() {
            0 => "old or new each time".to_owned(),
            n => format!("{n} FAILED"),
        };
    let kills = result(|failure| failure.contains(": Kill("));
    let cuts = result(|failure| failure.contains(": power cut at "));
    let errors = result(|failure| !failure.contains(": Kill(") && !failure.contains(": power cut"));
    println!(
        "proof | crash: kill -9 | {} points in {n_cases} commands | {kills}",
        sum(|t| t.kills)
    );
    println!(
        "proof | crash: disk errors | {} failing calls, {} short writes in {n_cases} commands | {errors}",
        sum(|t| t.errors),
        sum(|t| t.limits)
    );
    println!(
        "proof | crash: power cuts | {} remains in {n_cases} commands | {cuts}",
        sum(|t| t.power_cuts)
    );
    if failures.is_empty() {
        return Ok(());
    }
    let first = done.iter().flat_map(|(_, tally)| tally.failures.iter().take(SHOWN));
    let shown: Vec<&str> = first.map(String::as_str).collect();
    Err(format!("{} cuts were not survived:\n\n{}", failures.len(), shown.join("\n\n")))
}
