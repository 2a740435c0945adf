//! Receipts: what a run of an acceptance command proves, and for how long.
//!
//! A receipt is made by Ralph and never by the model. It holds while its command passed, was not
//! vacuous, left the tree alone, and the tree is still the one that it was taken on. What the
//! state says in `verified` is only a copy of this answer for people.

use crate::from_json::from_json;
use crate::state::{Criterion, LoopState};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use xxhash_rust::xxh3::xxh3_128;

/// One run of an acceptance command.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub struct Receipt {
    /// The command, as it was run.
    pub command: String,
    /// True when it ended by itself with exit code 0.
    pub passed: bool,
    /// The command's own exit code; none when it did not end by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// How it ended, where an exit code does not say it: by a signal, at the deadline …
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ended: String,
    /// Tests that ran, by the runner's own summary; none where no known runner gave a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests_run: Option<u64>,
    /// Why a pass proves nothing: a known runner says that it ran no test.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub vacuous: String,
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// SHA-256 of all that it printed.
    pub output_sha256: String,
    /// What it printed, capped, in the loop's `receipts/`.
    pub output_file: String,
    /// The end of what it printed.
    pub tail: String,
    /// Id of the tree (of the criterion's `paths`, if it names any) when it began.
    pub tree_before: String,
    /// Id of that tree when it had ended.
    pub tree_after: String,
    /// Files that it changed each time it ran.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rewrote: Vec<String>,
    /// One value for the way in which it failed; empty if it did not. What differs between two
    /// runs of the same failure is left out.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub signature: String,
    /// True when a run on this same tree failed before.
    #[serde(skip_serializing_if = "is_false")]
    pub after_failure: bool,
    /// Passes in a row on this tree.
    #[serde(skip_serializing_if = "is_zero")]
    pub passes: u32,
    /// Processes that it left behind, by name; they were ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
}

from_json!(Receipt {
    command,
    passed,
    exit_code,
    ended,
    tests_run,
    vacuous,
    started_at,
    duration_ms,
    output_sha256,
    output_file,
    tail,
    tree_before,
    tree_after,
    rewrote,
    signature,
    after_failure,
    passes,
    left
});

/// A criterion that held and does not any more.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub struct Regression {
    /// The checkpoint at which it held; empty where none was made.
    pub checkpoint: String,
    /// Files that changed since, the first few.
    pub files: Vec<String>,
    /// How many more changed.
    pub more: usize,
}

from_json!(Regression { checkpoint, files, more });

/// What the checks at a completion request found.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub struct Proof {
    /// Id of the tree that each criterion depends on, by the criterion's id.
    pub trees: BTreeMap<String, String>,
    /// For a receipt that is stale: the first files that changed since it was taken.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub changed: BTreeMap<String, Vec<String>>,
    /// True when a command was run.
    #[serde(skip_serializing_if = "is_false")]
    pub ran: bool,
    /// Why not all that should be run was; empty if it was.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub problem: String,
}

from_json!(Proof { trees, changed, ran, problem });

impl Proof {
    /// What a criterion's receipt is worth. A tree that could not be looked at proves nothing.
    pub fn standing(&self, criterion: &Criterion) -> Standing {
        match self.trees.get(&criterion.id) {
            Some(tree) => standing(criterion, Some(tree)),
            None if criterion.receipt.is_none() => Standing::NeverRun,
            None => Standing::Stale,
        }
    }
}

/// What a receipt is worth now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// There is no receipt of this command.
    NeverRun,
    /// The tree has changed since.
    Stale,
    /// It failed, on this tree.
    Failed,
    /// It passed, and no test ran.
    Vacuous,
    /// It changed files each time it ran.
    RewroteTree,
    /// Fewer tests ran than at the start.
    FewerTests,
    /// It failed and passed on this one tree; one more pass in a row is needed.
    Flaky,
    /// It proves its criterion.
    Holds,
}

impl Standing {
    /// The word for documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Standing::NeverRun => "never_run",
            Standing::Stale => "stale",
            Standing::Failed => "failed",
            Standing::Vacuous => "vacuous",
            Standing::RewroteTree => "rewrote_tree",
            Standing::FewerTests => "fewer_tests",
            Standing::Flaky => "flaky",
            Standing::Holds => "holds",
        }
    }

    /// True when the command ran and its criterion does not hold.
    pub fn is_a_failure(self) -> bool {
        use Standing::{Failed, FewerTests, RewroteTree, Vacuous};
        matches!(self, Failed | Vacuous | RewroteTree | FewerTests)
    }

    /// True when another run may tell more than the receipt does.
    pub fn wants_a_run(self) -> bool {
        matches!(self, Standing::NeverRun | Standing::Stale | Standing::Flaky)
    }
}

/// What the receipt of a criterion is worth on a tree. Without a tree (it costs a walk over all
/// files) the receipt is judged as if nothing had changed since.
pub fn standing(criterion: &Criterion, tree: Option<&str>) -> Standing {
    let Some(receipt) = &criterion.receipt else { return Standing::NeverRun };
    let expected = criterion.tests_expected.unwrap_or(0);
    if receipt.command != criterion.verification_command {
        Standing::NeverRun
    } else if tree.is_some_and(|tree| tree != receipt.tree_after) {
        Standing::Stale
    } else if !receipt.passed {
        Standing::Failed
    } else if !receipt.vacuous.is_empty() {
        Standing::Vacuous
    } else if receipt.tree_before != receipt.tree_after || !receipt.rewrote.is_empty() {
        Standing::RewroteTree
    } else if receipt.tests_run.is_some_and(|ran| ran < expected) {
        Standing::FewerTests
    } else if receipt.after_failure && receipt.passes < 2 {
        Standing::Flaky
    } else {
        Standing::Holds
    }
}

/// Keeps a new receipt with its criterion, and what the receipts before it say about it.
pub fn record(criterion: &mut Criterion, mut receipt: Receipt) {
    let before = criterion.receipt.take().filter(|before| {
        before.command == receipt.command && before.tree_after == receipt.tree_after
    });
    let (failed_before, passes) =
        before.map_or((false, 0), |before| (before.after_failure || !before.passed, before.passes));
    receipt.after_failure = failed_before;
    if criterion.tests_expected.is_none() {
        criterion.tests_expected = receipt.tests_run.filter(|ran| *ran > 0);
    }
    criterion.receipt = Some(receipt);
    // Judged without what came before: a run that proves nothing is no pass in a row either.
    let by_itself = standing(criterion, None);
    if let Some(receipt) = &mut criterion.receipt {
        let is_pass = matches!(by_itself, Standing::Holds | Standing::Flaky);
        receipt.passes = if is_pass { passes.saturating_add(1) } else { 0 };
    }
    let standing = standing(criterion, None);
    criterion.verified = standing == Standing::Holds;
    if let Some(receipt) = criterion.receipt.as_mut().filter(|_| standing.is_a_failure()) {
        receipt.signature = sign(receipt, standing);
    }
}

/// Notes whether a criterion has just begun to hold, or has turned red after it had held.
/// `since` tells what changed since it held; it is asked only when that is news.
pub fn note_turn(criterion: &mut Criterion, since: impl FnOnce(&str) -> Regression) {
    let tree = criterion.receipt.as_ref().map(|receipt| receipt.tree_after.clone());
    match standing(criterion, None) {
        Standing::Holds => {
            criterion.held_on = tree;
            criterion.turned_red = None;
        }
        red if red.is_a_failure() && criterion.turned_red.is_none() => {
            criterion.turned_red = criterion.held_on.as_deref().map(since);
        }
        _ => {}
    }
}

/// Once every criterion was run before the work, the work may begin; those that held then prove
/// nothing about it.
pub fn take_baseline(state: &mut LoopState) {
    let all_ran = state.acceptance_criteria.iter().all(|one| one.receipt.is_some());
    if state.baseline_pending && all_ran {
        state.baseline_pending = false;
        for criterion in &mut state.acceptance_criteria {
            criterion.held_before = criterion.verified;
        }
    }
}

/// Takes a count of tests that is lower than at the start as the one to hold from now on. Returns
/// what it was and what it is; none where nothing was lower.
pub fn accept_count(criterion: &mut Criterion) -> Option<(u64, u64)> {
    let before = criterion.tests_expected?;
    let now = criterion.receipt.as_ref()?.tests_run?;
    let lower = standing(criterion, None) == Standing::FewerTests;
    lower.then(|| {
        criterion.tests_expected = Some(now);
        (before, now)
    })
}

/// One value for the way in which a criterion fails; none if it does not.
pub fn failure_signature(criterion: &Criterion) -> Option<&str> {
    let receipt = criterion.receipt.as_ref()?;
    let failed = standing(criterion, None).is_a_failure();
    failed.then_some(receipt.signature.as_str())
}

/// Numbers, times, addresses and names of temporary files are left out.
fn sign(receipt: &Receipt, standing: Standing) -> String {
    let mut text = format!("{} {:?} {}\n", standing.as_str(), receipt.exit_code, receipt.ended);
    for token in receipt.tail.split_whitespace().filter(|token| !looks_random(token)) {
        text.extend(token.chars().filter(|c| !c.is_ascii_digit()));
        text.push(' ');
    }
    format!("{:032x}", xxh3_128(text.as_bytes()))
}

/// True for a long token whose letters and digits alternate often: `3f2a9c01`, `tmp8x2k1q`.
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

fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass() -> Receipt {
        Receipt {
            command: "cargo test".to_owned(),
            passed: true,
            exit_code: Some(0),
            tests_run: Some(12),
            tree_before: "t".to_owned(),
            tree_after: "t".to_owned(),
            ..Receipt::default()
        }
    }

    fn fail() -> Receipt {
        Receipt { passed: false, exit_code: Some(101), ..pass() }
    }

    fn criterion() -> Criterion {
        let verification_command = "cargo test".to_owned();
        Criterion { id: "AC-1".to_owned(), verification_command, ..Criterion::default() }
    }

    #[track_caller]
    fn check(runs: &[Receipt], tree: &str, expected: Standing) {
        let mut criterion = criterion();
        for run in runs {
            record(&mut criterion, run.clone());
        }
        assert_eq!(standing(&criterion, Some(tree)), expected);
    }

    #[test]
    fn a_pass_holds_on_the_tree_that_it_was_taken_on_and_no_longer() {
        check(&[], "t", Standing::NeverRun);
        check(&[pass()], "t", Standing::Holds);
        check(&[pass()], "t2", Standing::Stale);
        check(&[fail()], "t", Standing::Failed);
        check(&[fail()], "t2", Standing::Stale);
    }

    #[test]
    fn a_receipt_of_another_command_is_none() {
        check(&[Receipt { command: "true".to_owned(), ..pass() }], "t", Standing::NeverRun);
    }

    #[test]
    fn a_pass_that_ran_no_test_proves_nothing() {
        let why = "no test was found".to_owned();
        check(&[Receipt { vacuous: why, tests_run: None, ..pass() }], "t", Standing::Vacuous);
    }

    #[test]
    fn fewer_tests_than_in_the_first_receipt_do_not_hold() {
        let with = |n| Receipt { tests_run: Some(n), ..pass() };
        check(&[with(12), with(11)], "t", Standing::FewerTests);
        check(&[with(12), with(13), with(12)], "t", Standing::Holds);
        let failing = Receipt { tests_run: Some(12), ..fail() };
        let tree = |n| Receipt { tree_before: "u".into(), tree_after: "u".into(), ..with(n) };
        check(&[failing, tree(11)], "u", Standing::FewerTests);
    }

    #[test]
    fn a_failure_and_a_pass_on_one_tree_need_two_passes_in_a_row() {
        check(&[fail(), pass()], "t", Standing::Flaky);
        check(&[fail(), pass(), pass()], "t", Standing::Holds);
        check(&[pass(), fail(), pass()], "t", Standing::Flaky);
        check(&[fail(), pass(), fail(), pass()], "t", Standing::Flaky);
        let vacuous = || Receipt { vacuous: "no test ran".to_owned(), ..pass() };
        check(&[fail(), vacuous(), pass()], "t", Standing::Flaky);
        let fewer = || Receipt { tests_run: Some(1), ..pass() };
        check(&[pass(), fail(), fewer(), pass()], "t", Standing::Flaky);
        let earlier = |receipt: Receipt| Receipt {
            tree_before: "s".to_owned(),
            tree_after: "s".to_owned(),
            ..receipt
        };
        check(&[earlier(fail()), pass()], "t", Standing::Holds);
    }

    #[test]
    fn a_check_that_changes_the_tree_each_time_does_not_hold() {
        let rewriting = Receipt { tree_before: "s".to_owned(), ..pass() };
        check(&[rewriting], "t", Standing::RewroteTree);
    }

    #[test]
    fn verified_is_what_the_receipt_says_and_not_what_was_written_there() {
        let mut by_hand = Criterion { verified: true, ..criterion() };
        assert_eq!(standing(&by_hand, Some("t")), Standing::NeverRun);
        record(&mut by_hand, fail());
        assert!(!by_hand.verified);
        record(&mut by_hand, Receipt { tree_after: "u".into(), tree_before: "u".into(), ..pass() });
        assert!(by_hand.verified);
    }

    #[track_caller]
    fn check_same(one: &str, other: &str, same: bool) {
        let signature = |tail: &str| {
            let mut criterion = criterion();
            record(&mut criterion, Receipt { tail: tail.to_owned(), ..fail() });
            failure_signature(&criterion).unwrap().to_owned()
        };
        assert_eq!(signature(one) == signature(other), same, "{one:?} {other:?}");
    }

    #[test]
    fn the_same_failure_is_told_from_another() {
        check_same("FAILED in 0.31s", "FAILED in 12.07s", true);
        check_same("no file /tmp/a8f3b2c1/x", "no file /tmp/9d0e4f7a/x", true);
        check_same("assertion left: 3", "assertion  left: 4\n", true);
        check_same("test parse ... FAILED", "test print ... FAILED", false);
        let mut holds = criterion();
        record(&mut holds, pass());
        assert_eq!(failure_signature(&holds), None);
    }

    #[test]
    fn a_criterion_that_held_and_fails_has_turned_red_until_it_holds_again() {
        let mut it = criterion();
        let mut run = |receipt: Receipt, tree: &str| {
            let (tree_before, tree_after) = (tree.to_owned(), tree.to_owned());
            record(&mut it, Receipt { tree_before, tree_after, ..receipt });
            note_turn(&mut it, |held_on| Regression {
                files: vec![format!("since {held_on}")],
                ..Regression::default()
            });
            it.turned_red.as_ref().map(|red| red.files[0].clone())
        };
        assert_eq!(run(fail(), "a"), None, "it never held");
        assert_eq!(run(pass(), "b"), None);
        assert_eq!(run(fail(), "c").as_deref(), Some("since b"));
        assert_eq!(run(fail(), "d").as_deref(), Some("since b"));
        assert_eq!(run(pass(), "e"), None);
    }

    #[test]
    fn the_baseline_is_taken_when_all_ran_and_marks_what_held() {
        let mut state = LoopState { baseline_pending: true, ..LoopState::default() };
        state.acceptance_criteria = vec![criterion(), criterion()];
        record(&mut state.acceptance_criteria[0], pass());
        take_baseline(&mut state);
        assert!(state.baseline_pending, "one was not run yet");
        record(&mut state.acceptance_criteria[1], fail());
        take_baseline(&mut state);
        let held: Vec<bool> = state.acceptance_criteria.iter().map(|one| one.held_before).collect();
        assert_eq!((state.baseline_pending, held), (false, vec![true, false]));
    }

    #[test]
    fn only_a_lower_count_is_there_to_be_accepted() {
        let mut it = criterion();
        record(&mut it, pass());
        assert_eq!(accept_count(&mut it), None);
        record(&mut it, Receipt { tests_run: Some(9), ..pass() });
        assert_eq!(accept_count(&mut it), Some((12, 9)));
        assert_eq!(standing(&it, None), Standing::Holds);
    }
}
