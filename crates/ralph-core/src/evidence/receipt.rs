//! Receipts: what a run of an acceptance command proves, and for how long.
//!
//! A receipt is made by Ralph and never by the model. It holds while its command passed, was not
//! vacuous, left the tree alone, and the tree is still the one that it was taken on. What the
//! state says in `verified` is only a copy of this answer for people.

use crate::state::{Criterion, LoopState};
use crate::text::from_json::{FromJson, Mistake, from_json};
use crate::text::plural::noun;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
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
    /// True where a known runner reported that tests ran, counted or not.
    #[serde(skip_serializing_if = "is_false")]
    pub tests_reported: bool,
    /// Tests that failed, by the runner's own summary.
    #[serde(skip_serializing_if = "is_none")]
    pub tests_failed: u64,
    /// Tests that were skipped, by the runner's own summary.
    #[serde(skip_serializing_if = "is_none")]
    pub tests_skipped: u64,
    /// What had changed of what the command means when it ran.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub meaning_changed: Vec<String>,
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
    /// Who ran the command.
    #[serde(skip_serializing_if = "By::is_command")]
    pub by: By,
    /// Variables that differed from those at the start of the loop and were given their recorded
    /// values for the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub restored: Vec<String>,
    /// Variables that differed and were used as they were.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differs: Vec<String>,
}

/// Who ran a criterion. A command can be given by the model, in an environment of its choosing, so
/// only the other runs are proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// `ralph verify`.
    #[default]
    Command,
    /// The stop hook, at a request for completion.
    Hook,
    /// The driver of a headless loop.
    Driver,
}

impl By {
    /// True where a run can prove a criterion.
    pub fn proves(self) -> bool {
        self != By::Command
    }

    fn is_command(&self) -> bool {
        *self == By::Command
    }
}

impl FromJson for By {
    fn from_json(value: Value) -> Result<By, Mistake> {
        // An unknown word is of a version that knows more than this one, and proves nothing here.
        Ok(match value.as_str() {
            Some("hook") => By::Hook,
            Some("driver") => By::Driver,
            _ => By::Command,
        })
    }
}

from_json!(Receipt {
    command,
    passed,
    exit_code,
    ended,
    tests_run,
    tests_reported,
    tests_failed,
    tests_skipped,
    meaning_changed,
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
    left,
    by,
    restored,
    differs
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
    pub fn standing(&self, criterion: &Criterion) -> ReceiptStatus {
        match self.trees.get(&criterion.id) {
            Some(tree) => standing(criterion, Some(tree)),
            None if criterion.receipt.is_none() => ReceiptStatus::NeverRun,
            None => ReceiptStatus::Stale,
        }
    }

    /// True if the criterion is proven: its receipt holds, and Ralph took it by itself.
    pub fn proves(&self, criterion: &Criterion) -> bool {
        is_of_proof(criterion) && self.standing(criterion) == ReceiptStatus::Holds
    }
}

/// True if the last run of a criterion was one that can prove it.
pub fn is_of_proof(criterion: &Criterion) -> bool {
    criterion.receipt.as_ref().is_some_and(|receipt| receipt.by.proves())
}

/// What a receipt is worth now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiptStatus {
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
    /// Fewer tests ran than at the start, or nobody knows how many.
    FewerTests,
    /// What the command means has changed, or it passed although its runner reports failures.
    ProvesLess,
    /// It failed and passed on this one tree; one more pass in a row is needed.
    Flaky,
    /// It proves its criterion.
    Holds,
}

impl ReceiptStatus {
    /// The word for documents.
    pub fn as_str(self) -> &'static str {
        match self {
            ReceiptStatus::NeverRun => "never_run",
            ReceiptStatus::Stale => "stale",
            ReceiptStatus::Failed => "failed",
            ReceiptStatus::Vacuous => "vacuous",
            ReceiptStatus::RewroteTree => "rewrote_tree",
            ReceiptStatus::FewerTests => "fewer_tests",
            ReceiptStatus::ProvesLess => "proves_less",
            ReceiptStatus::Flaky => "flaky",
            ReceiptStatus::Holds => "holds",
        }
    }

    /// True when the command ran and its criterion does not hold.
    pub fn is_a_failure(self) -> bool {
        use ReceiptStatus::{Failed, FewerTests, ProvesLess, RewroteTree, Vacuous};
        matches!(self, Failed | Vacuous | RewroteTree | FewerTests | ProvesLess)
    }

    /// True when another run may tell more than the receipt does.
    pub fn wants_a_run(self) -> bool {
        matches!(self, ReceiptStatus::NeverRun | ReceiptStatus::Stale | ReceiptStatus::Flaky)
    }
}

/// What the receipt of a criterion is worth on a tree. Without a tree (it costs a walk over all
/// files) the receipt is judged as if nothing had changed since.
pub fn standing(criterion: &Criterion, tree: Option<&str>) -> ReceiptStatus {
    let Some(receipt) = &criterion.receipt else { return ReceiptStatus::NeverRun };
    if receipt.command != criterion.verification_command {
        ReceiptStatus::NeverRun
    } else if tree.is_some_and(|tree| tree != receipt.tree_after) {
        ReceiptStatus::Stale
    } else if criterion.meaning_changed.is_empty() && !receipt.meaning_changed.is_empty() {
        // The meaning is again what a person agreed to, in files that are no part of the tree.
        ReceiptStatus::Stale
    } else if !receipt.passed {
        ReceiptStatus::Failed
    } else if proves_less(criterion, receipt) {
        ReceiptStatus::ProvesLess
    } else if !receipt.vacuous.is_empty() {
        ReceiptStatus::Vacuous
    } else if receipt.tree_before != receipt.tree_after || !receipt.rewrote.is_empty() {
        ReceiptStatus::RewroteTree
    } else if has_fewer_tests(criterion, receipt) {
        ReceiptStatus::FewerTests
    } else if receipt.after_failure && receipt.passes < 2 {
        ReceiptStatus::Flaky
    } else {
        ReceiptStatus::Holds
    }
}

/// True where the meaning changed, or where a summary and an exit code contradict each other.
fn proves_less(criterion: &Criterion, receipt: &Receipt) -> bool {
    let failures_hidden = receipt.tests_failed > 0 && !criterion.accepts(Accepted::Failures);
    !criterion.meaning_changed.is_empty() || failures_hidden
}

/// True where fewer tests ran than in the first counted run. A runner that counts nothing when all
/// is well is enough; silence is not.
fn has_fewer_tests(criterion: &Criterion, receipt: &Receipt) -> bool {
    match receipt.tests_run {
        Some(ran) => ran < criterion.tests_expected.unwrap_or(0),
        None => {
            let counted = criterion.tests_expected.is_some() || criterion.tests_reported;
            counted && !receipt.tests_reported
        }
    }
}

/// What a person took beside fewer tests and another meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    /// A summary that reports failures while the command succeeds.
    Failures,
    /// A known runner that reports no tests.
    NoSummary,
}

impl Accepted {
    /// The word in the state.
    pub fn as_str(self) -> &'static str {
        match self {
            Accepted::Failures => "failures",
            Accepted::NoSummary => "no_summary",
        }
    }
}

/// Keeps a new receipt with its criterion, and what the receipts before it say about it.
pub fn record(criterion: &mut Criterion, mut receipt: Receipt) {
    let was_of_proof = is_of_proof(criterion);
    let was_proven = was_of_proof && standing(criterion, None) == ReceiptStatus::Holds;
    let before = criterion.receipt.take().filter(|before| {
        before.command == receipt.command && before.tree_after == receipt.tree_after
    });
    let passed = receipt.passed && receipt.vacuous.is_empty() && receipt.rewrote.is_empty();
    if was_proven && passed && !receipt.by.proves() && before.is_some() {
        // It says no more than the proof of this very tree.
        criterion.receipt = before;
        return;
    }
    if receipt.tests_reported {
        criterion.tests_reported = true;
        criterion.tests_skipped.get_or_insert(receipt.tests_skipped);
    }
    // A pass in an environment of the model's choosing is none that counts in a row.
    let (failed_before, passes) = before.map_or((false, 0), |before| {
        let passes = if before.by == receipt.by { before.passes } else { 0 };
        (before.after_failure || !before.passed, passes)
    });
    receipt.after_failure = failed_before;
    let ran = receipt.tests_run.filter(|ran| *ran > 0);
    criterion.tests_expected = match criterion.tests_expected {
        None => ran,
        // The count of a run that proves nothing must not lower what a proof needs.
        expected if receipt.by.proves() && !was_of_proof => expected.max(ran),
        expected => expected,
    };
    criterion.receipt = Some(receipt);
    // Judged without what came before: a run that proves nothing is no pass in a row either.
    let by_itself = standing(criterion, None);
    if let Some(receipt) = &mut criterion.receipt {
        let is_pass = matches!(by_itself, ReceiptStatus::Holds | ReceiptStatus::Flaky);
        receipt.passes = if is_pass { passes.saturating_add(1) } else { 0 };
    }
    let standing = standing(criterion, None);
    criterion.verified = standing == ReceiptStatus::Holds && is_of_proof(criterion);
    if let Some(receipt) = criterion.receipt.as_mut().filter(|_| standing.is_a_failure()) {
        receipt.signature = sign(receipt, standing);
    }
}

/// Notes whether a criterion has just begun to hold, or has turned red after it had held.
/// `since` tells what changed since it held; it is asked only when that is news.
pub fn note_turn(criterion: &mut Criterion, since: impl FnOnce(&str) -> Regression) {
    let tree = criterion.receipt.as_ref().map(|receipt| receipt.tree_after.clone());
    match standing(criterion, None) {
        ReceiptStatus::Holds => {
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
            criterion.held_before = standing(criterion, None) == ReceiptStatus::Holds;
        }
    }
}

/// Takes what the last run proves less than the first as what is to hold from now on: fewer tests,
/// no count, more skipped tests, failures in the summary of a success. Returns what was taken, in
/// words. A changed meaning is taken where it is frozen.
pub fn accept(criterion: &mut Criterion) -> Vec<String> {
    let Some(receipt) = criterion.receipt.clone().filter(|receipt| receipt.passed) else {
        return Vec::new();
    };
    let id = criterion.id.clone();
    let mut taken = Vec::new();
    // A run that proves nothing for another reason says nothing about the count either.
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
    if receipt.tests_failed > 0 && !criterion.accepts(Accepted::Failures) {
        taken.push(format!("failures in the summary of {id}"));
        criterion.accepted.push(Accepted::Failures.as_str().to_owned());
    }
    if receipt.vacuous.ends_with(NO_SUMMARY) && !criterion.accepts(Accepted::NoSummary) {
        taken.push(format!("no summary of the tests of {id}"));
        criterion.accepted.push(Accepted::NoSummary.as_str().to_owned());
        if let Some(receipt) = &mut criterion.receipt {
            receipt.vacuous.clear();
        }
    }
    taken
}

/// The end of the reason why a pass of a known runner that said nothing is vacuous.
pub const NO_SUMMARY: &str = "reported no tests";

/// How many tests the first counted run skipped, where the last one skipped more.
pub fn risen_skips(criterion: &Criterion) -> Option<u64> {
    let now = criterion.receipt.as_ref()?.tests_skipped;
    criterion.tests_skipped.filter(|before| now > *before)
}

/// One value for the way in which a criterion fails; none if it does not.
pub fn failure_signature(criterion: &Criterion) -> Option<&str> {
    let receipt = criterion.receipt.as_ref()?;
    let failed = standing(criterion, None).is_a_failure();
    failed.then_some(receipt.signature.as_str())
}

/// Numbers, times, addresses and names of temporary files are left out.
fn sign(receipt: &Receipt, standing: ReceiptStatus) -> String {
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

fn is_none(number: &u64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests;
