//! What the runs on other files show about a criterion whose command passes.
//!
//! A command that passes proves nothing about the work: it may have passed before, its tests may have been changed to
//! pass, or it may be unable to fail. So Ralph runs it with the harness of the start (*original tests*), on the code of
//! the start (*without the change*), and with expected literals changed (*a broken test must fail*).

use super::receipt::ReceiptStatus;
use super::request::ALL_KEPT;
use crate::state::{Criterion, LoopState, Observation, Observed, Outcome, Receipt};
use crate::text::plural::{counted, noun};
use crate::text::truncate::bounded;
use std::fmt::Write;

/// The state of a criterion whose receipt holds.
pub(super) fn criterion_status(criterion: &Criterion, receipt: &Receipt) -> ReceiptStatus {
    match receipt.by.proves() {
        true => shown(criterion, receipt),
        false => ReceiptStatus::Passes,
    }
}

/// The state that a run of `ralph try` shows, which proves nothing.
pub fn shown(criterion: &Criterion, receipt: &Receipt) -> ReceiptStatus {
    let seen = &criterion.observed;
    if seen.tree.is_empty() || seen.tree != receipt.tree_after {
        return ReceiptStatus::Passes;
    }
    let is = |which: &Option<Observation>, outcome| {
        which.as_ref().is_some_and(|one| one.outcome == outcome)
    };
    if is_flaky(seen) {
        ReceiptStatus::Flaky
    } else if is(&seen.clean, Outcome::Failed) {
        ReceiptStatus::NotClean
    } else if is(&seen.original, Outcome::Failed)
        && !is_accepted(criterion, Refusable::TestsChanged)
    {
        ReceiptStatus::TestsChanged
    } else if cannot_fail(seen) && !is_accepted(criterion, Refusable::CannotFail) {
        ReceiptStatus::CannotFail
    } else if cannot_fail(seen) || !seen.not_compared.is_empty() {
        ReceiptStatus::NotCompared
    } else if is(&seen.without, Outcome::Failed) {
        ReceiptStatus::Proven
    } else if is(&seen.without, Outcome::Passed) {
        ReceiptStatus::Kept
    } else if seen.without.is_none() {
        // A check without tests, beside a criterion that is proven.
        ReceiptStatus::Passes
    } else if criterion.failed_before {
        ReceiptStatus::Proven
    } else {
        ReceiptStatus::NotCompared
    }
}

/// Stands in place of the run without the change where there is no change to leave out.
pub const NO_CHANGE: &str = "no code has changed";

fn has_no_change(seen: &Observed) -> bool {
    seen.without.as_ref().is_some_and(|run| run.why == NO_CHANGE)
}

/// True if two equal runs on other files differed.
pub fn is_flaky(seen: &Observed) -> bool {
    let runs = [&seen.original, &seen.broken, &seen.clean].into_iter().flatten();
    runs.into_iter().any(|run| run.outcome == Outcome::Flaky)
}

fn cannot_fail(seen: &Observed) -> bool {
    let broken = seen.broken.as_ref();
    broken.is_some_and(|one| one.noticed.is_empty() && !one.unnoticed.is_empty())
}

/// What the user, or a reviewer of an unattended run, may accept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusable {
    /// The tests in their original form fail.
    TestsChanged,
    /// No changed literal was noticed.
    CannotFail,
    /// One changed literal was not noticed, others were.
    Unnoticed,
}

/// Names a refusal: which criterion, and what exactly. Another test or literal is another refusal.
pub fn refusal(criterion: &Criterion, what: Refusable) -> String {
    let seen = &criterion.observed;
    let unnoticed = || seen.broken.as_ref().map(|one| one.unnoticed.join(", "));
    let (word, names) = match what {
        Refusable::TestsChanged => ("tests_changed", seen.original.as_ref().map(failed_names)),
        Refusable::CannotFail => ("cannot_fail", unnoticed()),
        Refusable::Unnoticed => ("unnoticed", unnoticed()),
    };
    format!("{word} {}: {}", criterion.id, bounded(&names.unwrap_or_default(), 400))
}

/// What is accepted with a refusal.
pub(super) fn accepted(criterion: &Criterion, what: Refusable) -> String {
    let nothing = Observation::default();
    let seen = &criterion.observed;
    match what {
        Refusable::TestsChanged => {
            let run = seen.original.as_ref().unwrap_or(&nothing);
            format!("the changed tests; in their original form: {}", quoted(run))
        }
        Refusable::CannotFail | Refusable::Unnoticed => {
            let run = seen.broken.as_ref().unwrap_or(&nothing);
            format!("{} can be changed unnoticed", run.unnoticed.join(", "))
        }
    }
}

/// True if the user, or a reviewer, accepted exactly this.
fn is_accepted(criterion: &Criterion, what: Refusable) -> bool {
    criterion.accepted.contains(&refusal(criterion, what))
}

/// What stands in the way and can be accepted.
pub fn refusable(criterion: &Criterion, standing: ReceiptStatus) -> Option<Refusable> {
    match standing {
        ReceiptStatus::TestsChanged => Some(Refusable::TestsChanged),
        ReceiptStatus::CannotFail => Some(Refusable::CannotFail),
        _ => {
            let broken = criterion.observed.broken.as_ref()?;
            let some = !broken.noticed.is_empty() && !broken.unnoticed.is_empty();
            some.then_some(Refusable::Unnoticed)
        }
    }
}

/// The failed tests of a run, or else the error.
fn failed_names(run: &Observation) -> String {
    match run.failing.as_slice() {
        [] => run.why.clone(),
        names => names.join(", "),
    }
}

/// The failed tests with quotes, and the number of the others: `` `a`, `b` and 2 more``; without names the error.
fn quoted(run: &Observation) -> String {
    const SHOWN: usize = 3;
    if run.failing.is_empty() {
        return run.why.clone();
    }
    let names: Vec<_> = run.failing.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    let mut text = names.join(", ");
    let others = run.tests_failed.max(run.failing.len() as u64) - names.len() as u64;
    if others > 0 {
        let _ = write!(text, " and {others} more");
    }
    text
}

/// Why the original tests fail where no test is named: the error, and the changed files.
pub fn without_a_name(error: &str, changed: &[String]) -> String {
    const SHOWN: usize = 3;
    let changed = format!("{} changed", changed[..changed.len().min(SHOWN)].join(", "));
    match error {
        "" => changed,
        error => format!("{error} ({changed})"),
    }
}

/// What the runs with changed values show, once each was noticed or not: `seeing` are those in tests that fail without the
/// change, and `skipped` is how many tests the runner skips.
pub fn weigh_values(found: &mut Observation, seeing: &[String], skipped: u64) {
    // A test that is skipped notices nothing.
    if !found.noticed.is_empty() && found.unnoticed.len() as u64 <= skipped {
        found.unnoticed.retain(|one| seeing.contains(one));
    }
    // The tests that see the change decide whether it is tested.
    if !seeing.is_empty() && seeing.iter().all(|one| found.unnoticed.contains(one)) {
        found.noticed.clear();
    }
}

/// True if a command that reports no tests runs some all the same: it reported them on other files, or it is a test file
/// that sees the change. A linter reads tests, too, but it does not depend on the change.
pub fn seems_to_test(seen: &Observed, is_test_file: bool) -> bool {
    let Some(without) = seen.without.as_ref().filter(|run| run.outcome == Outcome::Failed) else {
        return false;
    };
    let mut runs = [Some(without), seen.original.as_ref()].into_iter().flatten();
    is_test_file || runs.any(|run| run.tests_run.is_some())
}

/// What is wrong with a criterion that passes, or what it shows; after the criterion's name.
pub fn why(criterion: &Criterion, standing: ReceiptStatus) -> String {
    let seen = &criterion.observed;
    let nothing = Observation::default();
    match standing {
        ReceiptStatus::TestsChanged => {
            let run = seen.original.as_ref().unwrap_or(&nothing);
            let what = match (run.failing.len(), run.why.as_str()) {
                (0, "") => "the tests of the start fail".to_owned(),
                (0, error) => format!("the tests of the start fail or no longer build: {error}"),
                (1, _) if run.tests_failed <= 1 => {
                    format!("{} fails in its original form", quoted(run))
                }
                _ => format!("{} fail in their original form", quoted(run)),
            };
            format!(
                "passes only with changed tests: {what}; make the original tests pass, or say why the task \
                 needs the change (`ralph diff --tests` shows it)"
            )
        }
        ReceiptStatus::CannotFail => {
            let unnoticed = seen.broken.as_ref().map_or(&[][..], |one| &one.unnoticed);
            format!(
                "cannot fail: it passes although {} was changed to a wrong value; find out why its tests do \
                 not notice",
                unnoticed.join(", ")
            )
        }
        ReceiptStatus::NotClean => {
            let run = seen.clean.as_ref().unwrap_or(&nothing);
            format!("fails in a clean copy: {}", failed_names(run))
        }
        ReceiptStatus::Kept if has_no_change(seen) => format!("passes; {NO_CHANGE}"),
        ReceiptStatus::Kept => "passes without the change, too".to_owned(),
        ReceiptStatus::NotCompared => format!("passes; not compared: {}", not_compared(criterion)),
        ReceiptStatus::Passes if criterion.receipt.as_ref().is_some_and(|one| one.by.proves()) => {
            "passes".to_owned()
        }
        ReceiptStatus::Passes => {
            "passed in `ralph verify` or `ralph try`; only the run at a request for completion counts".to_owned()
        }
        _ => "is proven".to_owned(),
    }
}

/// Why nothing could be compared.
pub fn not_compared(criterion: &Criterion) -> String {
    let seen = &criterion.observed;
    if cannot_fail(seen) {
        return "its tests run elsewhere".to_owned();
    }
    if !seen.not_compared.is_empty() {
        return seen.not_compared.clone();
    }
    let unknown = seen.without.as_ref().filter(|one| !one.why.is_empty());
    unknown.map_or_else(|| "no run was possible".to_owned(), |one| one.why.clone())
}

/// True if something was observed for the last request.
pub fn is_any(state: &LoopState) -> bool {
    state.acceptance_criteria.iter().any(|one| !one.observed.tree.is_empty())
}

/// What an ending has to name: accepted or judged changes of tests, literals that nothing noticed, a change that only a
/// reviewer has seen, scripts, submodules, tests in the code.
pub fn named(state: &LoopState) -> Vec<String> {
    let mut lines = Vec::new();
    for criterion in &state.acceptance_criteria {
        let (id, seen) = (&criterion.id, &criterion.observed);
        let tree = criterion.receipt.as_ref().map(|receipt| receipt.tree_after.as_str());
        if seen.tree.is_empty() || tree != Some(seen.tree.as_str()) {
            continue;
        }
        if let Some(run) = seen.original.as_ref().filter(|run| run.outcome == Outcome::Failed) {
            let count = run.tests_failed.max(run.failing.len() as u64);
            let tests = match count {
                0 => "its tests".to_owned(),
                n => counted(size(n), "test", "tests"),
            };
            let by = excused(state, criterion, Refusable::TestsChanged);
            lines.push(format!("{id}: {tests} changed{by}: {}.", quoted(run)));
        }
        if let Some(run) = seen.broken.as_ref().filter(|run| !run.unnoticed.is_empty()) {
            let what = match run.noticed.is_empty() {
                true => Refusable::CannotFail,
                false => Refusable::Unnoticed,
            };
            let by = excused(state, criterion, what);
            lines.push(format!("{id}: {} can be changed unnoticed{by}.", run.unnoticed.join(", ")));
        }
    }
    if state.judgements.iter().any(|one| one.holds && one.about.starts_with(ALL_KEPT)) {
        lines.push("No test sees the change; it was reviewed.".to_owned());
    }
    let Some(change) = &state.change else { return lines };
    lines.extend(
        change.scripts.iter().map(|script| format!("A script of a criterion changed: {script}.")),
    );
    if !change.submodules.is_empty() {
        lines.push(format!("Submodules at another commit: {}.", change.submodules.join(", ")));
    }
    if !change.tests_in_code.is_empty() {
        let shown = &change.tests_in_code[..change.tests_in_code.len().min(4)];
        lines.push(format!("Tests inside of the code changed: {}.", shown.join(", ")));
    }
    lines
}

/// Who excused it; empty if nobody did.
fn excused(state: &LoopState, criterion: &Criterion, what: Refusable) -> &'static str {
    let about = refusal(criterion, what);
    if state.judgements.iter().any(|one| one.about == about && one.holds) {
        ", reviewed"
    } else if criterion.accepted.contains(&about) {
        ", accepted"
    } else {
        ""
    }
}

/// What was observed, in figures of the runner: `npm test: 41 tests pass; 3 of them fail without the change; the 38
/// original ones still pass`.
pub fn sentence(criterion: &Criterion, standing: ReceiptStatus) -> String {
    let command = bounded(&criterion.verification_command, 60);
    let mut passes = match criterion.receipt.as_ref().and_then(|receipt| receipt.tests_run) {
        Some(n) => {
            format!(
                "{command}: {} {}",
                counted(size(n), "test", "tests"),
                noun(n, "passes", "pass")
            )
        }
        None => format!("{command} passes"),
    };
    if standing == ReceiptStatus::Kept && !has_no_change(&criterion.observed) {
        passes.push_str(", without the change, too");
    }
    let parts = std::iter::once(passes).chain(compared(criterion, standing));
    parts.collect::<Vec<_>>().join("; ")
}

/// What the runs on other files showed: `3 of them fail without the change`, `the 38 original ones still pass`.
pub fn compared(criterion: &Criterion, standing: ReceiptStatus) -> Vec<String> {
    let first = match standing {
        ReceiptStatus::Proven => Some(without(criterion)),
        ReceiptStatus::Kept if has_no_change(&criterion.observed) => Some(NO_CHANGE.to_owned()),
        ReceiptStatus::NotCompared => Some(format!("not compared: {}", not_compared(criterion))),
        _ => None,
    };
    let original = criterion.observed.original.as_ref();
    let original = original.filter(|run| run.outcome == Outcome::Passed);
    let second = original.and_then(|run| run.tests_run).map(|n| match n {
        1 => "the original one still passes".to_owned(),
        n => format!("the {n} original ones still pass"),
    });
    first.into_iter().chain(second).collect()
}

fn without(criterion: &Criterion) -> String {
    let Some(run) =
        criterion.observed.without.as_ref().filter(|run| run.outcome == Outcome::Failed)
    else {
        return "it failed at the start".to_owned();
    };
    let tests = criterion.receipt.as_ref().and_then(|receipt| receipt.tests_run);
    let did_run = run.tests_failed > 0 && run.tests_run.is_some();
    match (run.tests_failed, tests) {
        (failed, Some(all)) if failed > 0 && failed < all => {
            format!("{failed} of them {} without the change", noun(failed, "fails", "fail"))
        }
        (_, Some(2..)) if did_run => "all of them fail without the change".to_owned(),
        (_, Some(2..)) => "without the change they do not run".to_owned(),
        (_, Some(_)) if !did_run => "without the change it does not run".to_owned(),
        _ => "it fails without the change".to_owned(),
    }
}

fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// What the command read of the files that were replaced for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhatWasRead {
    /// One of them, or the platform cannot tell.
    TheChange,
    /// None of them: it does not depend on them.
    Others,
    /// Nothing at all, while a process outside did: that one may do its work.
    Nothing,
}

/// What a run on other files shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judged {
    Passed,
    Failed,
    /// It failed without naming a test: that counts only if the command passes there on the unchanged files.
    NeedsControl,
    /// It shows nothing, for this reason.
    Unknown(String),
}

/// Judges a run on other files that ended with this exit code. A failure counts only if the other files caused it.
pub fn judge(code: i32, names_a_test: bool, read: WhatWasRead, command: &str) -> Judged {
    match (code, read) {
        (_, WhatWasRead::Nothing) => Judged::Unknown(format!(
            "a daemon or container may do the work of `{}`: it opened none of the changed files and no test",
            bounded(command, 60)
        )),
        (0, _) => Judged::Passed,
        (_, WhatWasRead::Others) => {
            Judged::Unknown("it failed, but opened none of the changed files".to_owned())
        }
        _ if names_a_test => Judged::Failed,
        _ => Judged::NeedsControl,
    }
}

#[cfg(test)]
mod judge_tests;
#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Change;

    #[track_caller]
    fn weighed(
        found: (&[&str], &[&str]),
        seeing: &[&str],
        skipped: u64,
        expected: (&[&str], &[&str]),
    ) {
        let all = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let (noticed, unnoticed) = (all(found.0), all(found.1));
        let mut found = Observation { noticed, unnoticed, ..Observation::default() };
        weigh_values(&mut found, &all(seeing), skipped);
        assert_eq!((found.noticed, found.unnoticed), (all(expected.0), all(expected.1)));
    }

    #[test]
    fn tests_that_see_the_change_decide_and_as_many_values_as_tests_are_skipped_are_excused() {
        weighed((&["a"], &["b"]), &[], 0, (&["a"], &["b"]));
        weighed((&["a"], &["b"]), &[], 1, (&["a"], &[]));
        weighed((&["a"], &["b", "c"]), &[], 1, (&["a"], &["b", "c"]));
        weighed((&[], &["b"]), &[], 1, (&[], &["b"]));
        weighed((&["a"], &["b"]), &["b"], 1, (&[], &["b"]));
        weighed((&["a"], &["b"]), &["a", "b"], 0, (&["a"], &["b"]));
    }

    #[test]
    fn an_ending_names_what_no_observation_could_exchange() {
        let one = |text: &str| vec![text.to_owned()];
        let change = Change {
            submodules: one("checks"),
            scripts: one("check.sh: its first form fails"),
            tests_in_code: one("src/lib.rs"),
            ..Change::default()
        };
        let state = LoopState { change: Some(change), ..LoopState::default() };
        let expected = [
            "A script of a criterion changed: check.sh: its first form fails.",
            "Submodules at another commit: checks.",
            "Tests inside of the code changed: src/lib.rs.",
        ];
        assert_eq!(named(&state), expected);
    }

    #[test]
    fn original_tests_that_fail_without_a_name_are_told_by_the_changed_files() {
        let files = ["a", "b", "c", "d"].map(str::to_owned);
        assert_eq!(without_a_name("", &files[..1]), "a changed");
        assert_eq!(without_a_name("error: x", &files), "error: x (a, b, c changed)");
    }

    #[test]
    fn a_command_without_counts_tests_if_it_counted_elsewhere_or_is_a_test_that_sees_the_change() {
        let run =
            |outcome, tests_run| Some(Observation { outcome, tests_run, ..Observation::default() });
        let seen = |without, original| Observed { without, original, ..Observed::default() };
        assert!(!seems_to_test(&seen(None, None), true));
        assert!(!seems_to_test(&seen(run(Outcome::Passed, None), None), true));
        assert!(!seems_to_test(&seen(run(Outcome::Failed, None), None), false));
        assert!(seems_to_test(&seen(run(Outcome::Failed, None), None), true));
        assert!(seems_to_test(&seen(run(Outcome::Failed, Some(4)), None), false));
        assert!(seems_to_test(
            &seen(run(Outcome::Failed, None), run(Outcome::Failed, Some(4))),
            false
        ));
    }
}
