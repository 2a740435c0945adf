//! Receipts: what a run of an acceptance command proves, and for how long.
//!
//! Only Ralph makes a receipt, never the model. A receipt holds if its command passed, was not
//! vacuous and did not change the tree, and if the tree is still the same. A receipt of a reviewed
//! criterion holds in the same way; its criterion is reviewed, not proven. `verified` in the state
//! is only a copy of this result for people.

use super::observed;
use crate::state::{Accepted, Change, Criterion, LoopState, Receipt, Regression};
use crate::text::plural::noun;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use xxhash_rust::xxh3::xxh3_128;

/// The result of the checks at a completion request.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Proof {
    /// Id of the tree that each criterion depends on, by the criterion's id.
    pub trees: BTreeMap<String, String>,
    /// For a stale receipt: the first files that changed since it was taken, by the criterion's id.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub changed: BTreeMap<String, Vec<String>>,
    /// True if a command was run.
    #[serde(skip_serializing_if = "is_false")]
    pub ran: bool,
    /// Why not every required command was run; empty if all were.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub problem: String,
    /// What is left to observe at the next request; empty if nothing is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub unfinished: String,
    /// What has changed since the start of the loop; `None` if that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
}

impl Proof {
    /// The status of a criterion's receipt. A tree that could not be read proves nothing.
    pub fn criterion_status(&self, criterion: &Criterion) -> ReceiptStatus {
        match self.trees.get(&criterion.id) {
            Some(tree) => criterion_status(criterion, Some(tree)),
            None if criterion.receipt.is_none() => ReceiptStatus::NotRun,
            None => ReceiptStatus::Stale,
        }
    }

    /// True if the criterion is met: its receipt holds, and Ralph itself made the run or asked the
    /// reviewer.
    pub fn proves(&self, criterion: &Criterion) -> bool {
        is_of_proof(criterion) && self.criterion_status(criterion).is_met()
    }
}

/// True if the last run of a criterion is one that can prove it.
pub fn is_of_proof(criterion: &Criterion) -> bool {
    criterion.receipt.as_ref().is_some_and(|receipt| receipt.by.proves())
}

/// The current status of a receipt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiptStatus {
    /// There is no receipt for this command.
    NotRun,
    /// The tree has changed since the run.
    Stale,
    /// The command failed on this tree.
    Failed,
    /// The command did not end in its time.
    TimedOut,
    /// A signal killed the command.
    Killed,
    /// The command passed, but no test ran.
    Vacuous,
    /// The command changed files in every run.
    RewroteTree,
    /// Fewer tests ran than at the start, or the number is unknown.
    FewerTests,
    /// The command exited with 0 although its runner reports failures.
    HidesFailures,
    /// The command has failed and passed on this tree; another consecutive pass is needed.
    Flaky,
    /// The command passed. What that is worth was not observed, or need not be: a check without tests, beside a
    /// criterion that is proven.
    Passes,
    /// It failed before the work or fails without it, its original tests pass, and a broken test fails.
    Proven,
    /// It passes without the change, too.
    Kept,
    /// Its tests in their original form fail.
    TestsChanged,
    /// It did not notice any of the values that were changed in its tests.
    CannotFail,
    /// It failed in a clean copy of the files.
    NotClean,
    /// It passed, and nothing could be compared with the start.
    NotCompared,
    /// A reviewer found on this tree that the criterion holds, and cited the lines for it.
    Reviewed,
}

impl ReceiptStatus {
    /// Those in which nothing about the criterion stands in the way of an end.
    pub const MET: [ReceiptStatus; 5] = [
        ReceiptStatus::Passes,
        ReceiptStatus::Proven,
        ReceiptStatus::Kept,
        ReceiptStatus::NotCompared,
        ReceiptStatus::Reviewed,
    ];

    /// The word used in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            ReceiptStatus::NotRun => "not_run",
            ReceiptStatus::Stale => "stale",
            ReceiptStatus::Failed | ReceiptStatus::NotClean => "failed",
            ReceiptStatus::TimedOut => "timed_out",
            ReceiptStatus::Killed => "killed",
            ReceiptStatus::Vacuous => "vacuous",
            ReceiptStatus::RewroteTree => "rewrote_tree",
            ReceiptStatus::FewerTests => "fewer_tests",
            ReceiptStatus::HidesFailures => "hides_failures",
            ReceiptStatus::Flaky => "flaky",
            ReceiptStatus::Passes => "passes",
            ReceiptStatus::Proven => "proven",
            ReceiptStatus::Kept => "kept",
            ReceiptStatus::TestsChanged => "tests_changed",
            ReceiptStatus::CannotFail => "cannot_fail",
            ReceiptStatus::NotCompared => "not_compared",
            ReceiptStatus::Reviewed => "reviewed",
        }
    }

    /// True if nothing about the criterion stands in the way of an end.
    pub fn is_met(self) -> bool {
        ReceiptStatus::MET.contains(&self)
    }

    /// True if the user, or a reviewer of an unattended run, may accept it.
    pub fn can_be_accepted(self) -> bool {
        matches!(self, ReceiptStatus::TestsChanged | ReceiptStatus::CannotFail)
    }

    /// True if the command ran and did not exit with 0, or the verdict is that the criterion fails.
    pub fn is_unsuccessful(self) -> bool {
        matches!(self, ReceiptStatus::Failed | ReceiptStatus::TimedOut | ReceiptStatus::Killed)
    }

    /// True if the command ran and the criterion does not hold.
    pub fn is_a_failure(self) -> bool {
        use ReceiptStatus::{FewerTests, HidesFailures, NotClean, RewroteTree, Vacuous};
        self.is_unsuccessful()
            || matches!(self, Vacuous | RewroteTree | FewerTests | HidesFailures | NotClean)
    }

    /// True if another run may give a better answer.
    pub fn wants_a_run(self) -> bool {
        matches!(self, ReceiptStatus::NotRun | ReceiptStatus::Stale | ReceiptStatus::Flaky)
    }
}

/// The status of a criterion on a tree: its last run, and what was observed about it. Without a tree (computing it costs
/// a walk over all files), assumes that nothing has changed since the run.
pub fn criterion_status(criterion: &Criterion, tree: Option<&str>) -> ReceiptStatus {
    match (run_status(criterion, tree), &criterion.receipt) {
        (ReceiptStatus::Passes, Some(receipt)) => observed::criterion_status(criterion, receipt),
        (standing, _) => standing,
    }
}

/// The status of the last run alone.
pub fn run_status(criterion: &Criterion, tree: Option<&str>) -> ReceiptStatus {
    let Some(receipt) = &criterion.receipt else { return ReceiptStatus::NotRun };
    if receipt.command != criterion.verification_command || !is_of_question(receipt, criterion) {
        ReceiptStatus::NotRun
    } else if tree.is_some_and(|tree| tree != receipt.tree_after) {
        ReceiptStatus::Stale
    } else if receipt.review.is_some() && !receipt.vacuous.is_empty() {
        // A verdict that does not count is neither a pass nor a failure.
        ReceiptStatus::Vacuous
    } else if receipt.timed_out {
        ReceiptStatus::TimedOut
    } else if receipt.signal.is_some() {
        ReceiptStatus::Killed
    } else if !receipt.passed {
        ReceiptStatus::Failed
    } else if hides_failures(criterion, receipt) {
        ReceiptStatus::HidesFailures
    } else if !receipt.vacuous.is_empty() {
        ReceiptStatus::Vacuous
    } else if receipt.tree_before != receipt.tree_after || !receipt.rewrote.is_empty() {
        ReceiptStatus::RewroteTree
    } else if has_fewer_tests(criterion, receipt) {
        ReceiptStatus::FewerTests
    } else if receipt.after_failure && receipt.passes < 2 {
        ReceiptStatus::Flaky
    } else if receipt.review.is_some() {
        ReceiptStatus::Reviewed
    } else {
        ReceiptStatus::Passes
    }
}

/// True if the receipt answers the criterion's question, or neither has one.
fn is_of_question(receipt: &Receipt, criterion: &Criterion) -> bool {
    receipt.review.as_ref().map(|review| &review.question) == criterion.review.as_ref()
}

/// How many criteria are met by commands, and how many are reviewed.
pub fn count_met(criteria: &[Criterion]) -> (usize, usize) {
    let met = criteria.iter().filter(|one| one.verified);
    let (reviewed, by_command): (Vec<&Criterion>, Vec<&Criterion>) =
        met.partition(|one| one.review.is_some());
    (by_command.len(), reviewed.len())
}

/// `2 proven, 1 kept`.
pub(super) fn counts(standings: &[ReceiptStatus]) -> String {
    let words = [
        (ReceiptStatus::Proven, "proven"),
        (ReceiptStatus::Reviewed, "reviewed"),
        (ReceiptStatus::Kept, "kept"),
        (ReceiptStatus::Passes, "passes"),
        (ReceiptStatus::TestsChanged, "with changed tests"),
        (ReceiptStatus::CannotFail, "that cannot fail"),
        (ReceiptStatus::NotCompared, "not compared"),
    ];
    let count = |wanted| standings.iter().filter(|standing| **standing == wanted).count();
    let parts = words.into_iter().map(|(standing, word)| (count(standing), word));
    let parts = parts.filter(|(n, _)| *n > 0).map(|(n, word)| match (n, word) {
        (2.., "passes") => format!("{n} pass"),
        _ => format!("{n} {word}"),
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// True if the summary contradicts the exit code, and nobody accepted that.
fn hides_failures(criterion: &Criterion, receipt: &Receipt) -> bool {
    receipt.tests_failed > 0 && !criterion.accepts(Accepted::Failures)
}

/// True if fewer tests ran than in the first counted run. A runner that reports tests without a
/// count is enough; no report is not.
fn has_fewer_tests(criterion: &Criterion, receipt: &Receipt) -> bool {
    match receipt.tests_run {
        Some(ran) => ran < criterion.tests_expected.unwrap_or(0),
        None => {
            let counted = criterion.tests_expected.is_some() || criterion.tests_reported;
            counted && !receipt.tests_reported
        }
    }
}

/// Stores a new receipt, updated with what the previous receipts show.
pub fn record(criterion: &mut Criterion, mut receipt: Receipt) {
    let was_of_proof = is_of_proof(criterion);
    let was_proven = was_of_proof && criterion_status(criterion, None).is_met();
    let before = criterion.receipt.take().filter(|before| {
        before.command == receipt.command && before.tree_after == receipt.tree_after
    });
    let passed = receipt.passed && receipt.vacuous.is_empty() && receipt.rewrote.is_empty();
    if was_proven && passed && !receipt.by.proves() && before.is_some() {
        // It adds nothing to the existing proof for this tree.
        criterion.receipt = before;
        return;
    }
    if receipt.tests_reported {
        criterion.tests_reported = true;
        criterion.tests_skipped.get_or_insert(receipt.tests_skipped);
    }
    // A pass in an environment that the model chose does not count as consecutive.
    let (failed_before, passes) = before.map_or((false, 0), |before| {
        let passes = if before.by == receipt.by { before.passes } else { 0 };
        // A verdict that did not count is no failure, nor is a run that had too little time.
        let counts = before.review.is_none() || before.vacuous.is_empty();
        let was_cut_short = before.timed_out && receipt.duration_ms > before.duration_ms;
        (before.after_failure || (!before.passed && counts && !was_cut_short), passes)
    });
    receipt.after_failure = failed_before;
    let ran = receipt.tests_run.filter(|ran| *ran > 0);
    criterion.tests_expected = match criterion.tests_expected {
        None => ran,
        // A run that proves nothing must not lower the count that a proof needs.
        expected if receipt.by.proves() && !was_of_proof => expected.max(ran),
        expected => expected,
    };
    criterion.receipt = Some(receipt);
    // Judged without the earlier passes: a run that proves nothing is not a consecutive pass
    // either.
    let by_itself = run_status(criterion, None);
    if let Some(receipt) = &mut criterion.receipt {
        let is_pass = by_itself.is_met() || by_itself == ReceiptStatus::Flaky;
        receipt.passes = if is_pass { passes.saturating_add(1) } else { 0 };
    }
    let standing = criterion_status(criterion, None);
    criterion.verified = standing.is_met() && is_of_proof(criterion);
    if let Some(receipt) = criterion.receipt.as_mut().filter(|_| standing.is_a_failure()) {
        receipt.signature = sign(receipt, standing);
    }
}

/// Records whether a criterion has just started to hold, or has turned red after it held. `since`
/// finds what changed since it held; it is called only if the criterion has just turned red.
pub fn note_turn(criterion: &mut Criterion, since: impl FnOnce(&str) -> Regression) {
    let tree = criterion.receipt.as_ref().map(|receipt| receipt.tree_after.clone());
    match run_status(criterion, None) {
        met if met.is_met() => {
            criterion.held_on = tree;
            criterion.turned_red = None;
        }
        red if red.is_a_failure() && criterion.turned_red.is_none() => {
            criterion.turned_red = criterion.held_on.as_deref().map(since);
        }
        _ => {}
    }
}

/// Ends the baseline once every criterion has run, so that the work may begin. Criteria that
/// already hold prove nothing about the work.
pub fn take_baseline(state: &mut LoopState) {
    let all_ran = state.acceptance_criteria.iter().all(|one| one.receipt.is_some());
    if state.baseline_pending && all_ran {
        state.baseline_pending = false;
        for criterion in &mut state.acceptance_criteria {
            criterion.held_before = run_status(criterion, None).is_met();
            // A failure that names no test may be the machine's.
            let failed = criterion.receipt.as_ref().filter(|receipt| !receipt.passed);
            criterion.failed_before =
                failed.is_some_and(|one| one.tests_failed > 0 || !one.failing.is_empty());
        }
    }
}

/// Accepts the last run as the new baseline where it proves less than the first: fewer tests, no
/// count, more skipped tests, failures in the summary of a success. Returns a description of each.
pub fn accept(criterion: &mut Criterion) -> Vec<String> {
    let Some(receipt) = criterion.receipt.clone().filter(|receipt| receipt.passed) else {
        return Vec::new();
    };
    let id = criterion.id.clone();
    let mut taken = Vec::new();
    // The test count of a run that is unsound for another reason means nothing.
    let is_sound = receipt.vacuous.is_empty()
        && receipt.rewrote.is_empty()
        && receipt.tree_before == receipt.tree_after;
    if is_sound && has_fewer_tests(criterion, &receipt) {
        taken.push(match (receipt.tests_run, criterion.tests_expected) {
            (Some(now), Some(before)) => {
                format!("{now} {} for {id} instead of {before}", noun(now, "test", "tests"))
            }
            _ => format!("no count of the tests of {id}"),
        });
        criterion.tests_expected = receipt.tests_run;
        criterion.tests_reported = receipt.tests_reported;
    }
    if let Some(before) = risen_skips(criterion) {
        let now = receipt.tests_skipped;
        taken.push(format!(
            "{now} skipped {} for {id} instead of {before}",
            noun(now, "test", "tests")
        ));
        criterion.tests_skipped = Some(receipt.tests_skipped);
    }
    if hides_failures(criterion, &receipt) {
        taken.push(format!("failures in the summary of {id}"));
        criterion.accepted.push(Accepted::Failures.as_str().to_owned());
    }
    // What is accepted can show what else stands in the way.
    taken.extend(std::iter::from_fn(|| accept_observed(criterion)));
    taken
}

/// Accepts what a request for completion was refused for: changed tests, tests that cannot fail. Returns a description.
fn accept_observed(criterion: &mut Criterion) -> Option<String> {
    let standing = criterion_status(criterion, None);
    let what = observed::refusable(criterion, standing)?;
    let about = observed::refusal(criterion, what);
    if criterion.accepted.contains(&about) {
        return None;
    }
    let told = format!("for {}: {}", criterion.id, observed::accepted(criterion, what));
    criterion.accepted.push(about);
    Some(told)
}

/// The skipped tests of the first counted run, if the last run skipped more.
pub fn risen_skips(criterion: &Criterion) -> Option<u64> {
    let now = criterion.receipt.as_ref()?.tests_skipped;
    criterion.tests_skipped.filter(|before| now > *before)
}

/// Hash of the way in which a criterion fails; `None` if it does not fail.
pub fn failure_signature(criterion: &Criterion) -> Option<&str> {
    let receipt = criterion.receipt.as_ref()?;
    let failed = criterion_status(criterion, None).is_a_failure();
    failed.then_some(receipt.signature.as_str())
}

/// Leaves out numbers, times, addresses and names of temporary files.
fn sign(receipt: &Receipt, standing: ReceiptStatus) -> String {
    // A limit differs from run to run.
    let ended = if receipt.timed_out { "" } else { &receipt.ended };
    let mut text = format!("{} {:?} {ended}\n", standing.as_str(), receipt.exit_code);
    for token in receipt.tail.split_whitespace().filter(|token| !looks_random(token)) {
        text.extend(token.chars().filter(|c| !c.is_ascii_digit()));
        text.push(' ');
    }
    format!("{:032x}", xxh3_128(text.as_bytes()))
}

/// True for a long token that often switches between letters and digits: `3f2a9c01`, `tmp8x2k1q`.
fn looks_random(token: &str) -> bool {
    let mut switches = 0;
    let mut last = None;
    for letter in token.bytes().filter(u8::is_ascii_alphanumeric) {
        let digit = letter.is_ascii_digit();
        switches += usize::from(last.is_some_and(|last| last != digit));
        last = Some(digit);
    }
    token.len() >= 8 && switches >= 3
}

fn is_false(flag: &bool) -> bool {
    !flag
}

#[cfg(test)]
mod tests;
