//! Explains to the model and the user why completion is refused: the failing tests first, then what
//! is wrong with each criterion, and the end of the first failing command's output.

use crate::evidence::receipt::{self, Proof, ReceiptStatus};
use crate::evidence::review;
use crate::evidence::tests_run::without_frames;
use crate::evidence::{observed, pinned};
use crate::state::{Criterion, LoopState, Receipt};
use crate::text::plural::noun;
use crate::text::truncate::bounded;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Why a loop cannot complete, whatever the state of its criteria.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Withheld {
    /// The loop uses workers but has no tasks.
    NoTasks,
}

impl Withheld {
    /// The reason for this state; `None` if proof decides.
    pub fn from_state(state: &LoopState) -> Option<Withheld> {
        (state.parallel && state.task_graph.is_empty()).then_some(Withheld::NoTasks)
    }

    /// The reason, and what to do about it.
    pub fn describe(self) -> &'static str {
        match self {
            Withheld::NoTasks => {
                "this loop has no tasks yet, so no worker has done anything; add them with `ralph \
                 plan-sync`"
            }
        }
    }
}

/// Criteria that are listed individually.
const MOST_NAMED: usize = 6;

const TAIL_LIMIT: usize = 600;

/// In UTF-16 units; the text after the refusal may be as long again.
const LIMIT: usize = 1_300;

/// The first part of the details after a refused completion request.
pub fn refusal(state: &LoopState, proof: Option<&Proof>) -> String {
    let nothing = Proof::default();
    let proof = proof.unwrap_or(&nothing);
    let failed = first_failed(state, Some(proof));
    let mut text = failed.map_or(String::new(), failing_tests);
    if !state.refused.is_empty() && pinned::is_as_frozen(state) {
        let _ = writeln!(text, "Completion was requested and is refused: {}.", state.refused);
        return bounded(text.trim_end(), LIMIT) + "\n";
    }
    text.push_str("Completion was requested and is refused, because not everything holds:\n");
    if let Some(withheld) = Withheld::from_state(state) {
        let _ = writeln!(text, "- {}", withheld.describe());
        return text;
    }
    if !pinned::is_as_frozen(state) {
        text.push_str(
            "- the criteria are not those that the user agreed to when the loop started; the user \
             can accept them with `ralph criteria accept` in another terminal\n",
        );
    }
    let open: Vec<(&Criterion, ReceiptStatus)> = state
        .acceptance_criteria
        .iter()
        .filter(|criterion| !proof.proves(criterion))
        .map(|criterion| (criterion, proof.criterion_status(criterion)))
        .collect();
    for (criterion, standing) in open.iter().take(MOST_NAMED) {
        let changed = proof.changed.get(&criterion.id).map_or(&[][..], Vec::as_slice);
        let _ = writeln!(text, "- {}", line(criterion, *standing, changed));
    }
    if open.len() > MOST_NAMED {
        let _ = writeln!(text, "- and {} more: `ralph status`", open.len() - MOST_NAMED);
    }
    if !proof.problem.is_empty() {
        let _ = writeln!(text, "Not all of them could be run: {}.", proof.problem);
    }
    for line in changes(state) {
        let _ = writeln!(text, "{line}");
    }
    text.push_str(&failed.map_or(String::new(), tail));
    // The rest of the details must fit after it.
    let mut text = bounded(text.trim_end(), LIMIT);
    text.push('\n');
    text
}

/// The first criterion whose last run failed, on this tree if `proof` is known.
pub fn first_failed<'a>(state: &'a LoopState, proof: Option<&Proof>) -> Option<&'a Criterion> {
    let standing = |one: &Criterion| match proof {
        Some(proof) => proof.criterion_status(one),
        None => receipt::criterion_status(one, None),
    };
    state.acceptance_criteria.iter().find(|one| standing(one).is_unsuccessful())
}

/// The tests that failed in a criterion's last run, or else the error that it printed; one line.
pub fn failing_tests(criterion: &Criterion) -> String {
    const SHOWN: usize = 4;
    let Some(receipt) = &criterion.receipt else { return String::new() };
    let id = &criterion.id;
    match receipt.failing.as_slice() {
        [] if receipt.error.is_empty() => String::new(),
        [] => format!("{id} fails: {}\n", receipt.error),
        tests => {
            let mut shown: Vec<String> =
                tests.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
            let others = receipt.tests_failed.max(tests.len() as u64) - shown.len() as u64;
            if others > 0 {
                shown.push(format!("and {others} more"));
            }
            format!("{id} fails: {}\n", shown.join(", "))
        }
    }
}

/// What to fix in a criterion that failed, in a few words: a test, an error or the command.
pub fn what_to_fix(criterion: &Criterion) -> String {
    let named = in_words(criterion);
    let receipt = criterion.receipt.as_ref();
    if let Some(cut) = receipt.filter(|receipt| receipt.timed_out || receipt.signal.is_some()) {
        return format!("fix {named}: {}", cut.ended);
    }
    match receipt.map(|receipt| (receipt.failing.first(), receipt.error.as_str())) {
        Some((Some(test), _)) => format!("fix `{}` ({named})", bounded(test, 100)),
        Some((None, error)) if !error.is_empty() => format!("fix {named}: {}", bounded(error, 100)),
        _ => match receipt.and_then(|receipt| receipt.review.as_ref()) {
            Some(found) => format!("fix {named}: {}", bounded(&review::reason(found), 100)),
            None => to_pass(criterion),
        },
    }
}

/// What has to pass, with what it means: `make sh check.sh pass (dates have a zone)`.
pub fn to_pass(criterion: &Criterion) -> String {
    let (named, about) = (in_words(criterion), criterion.description.trim());
    match about.is_empty() || named.contains(about) {
        true => format!("make {named} pass"),
        false => format!("make {named} pass ({})", bounded(about, 80)),
    }
}

/// A criterion as its user knows it: by its command, or by what a reviewer judges.
pub fn in_words(criterion: &Criterion) -> String {
    match (&criterion.review, criterion.verification_command.trim()) {
        (Some(_), _) | (None, "") => match criterion.description.trim() {
            "" => criterion.id.clone(),
            description => bounded(description, 60),
        },
        (None, command) => bounded(command, 80),
    }
}

/// A criterion by its id and description: `AC-1 (it works)`.
pub fn named(criterion: &Criterion) -> String {
    match criterion.description.trim() {
        "" => criterion.id.clone(),
        description => format!("{} ({})", criterion.id, bounded(description, 60)),
    }
}

/// A criterion on one line: its id, what is wrong, its command.
fn line(criterion: &Criterion, standing: ReceiptStatus, changed: &[String]) -> String {
    let decided_by = match &criterion.review {
        Some(_) => bounded(&criterion.decided_by(), 80),
        None => format!("`{}`", bounded(&criterion.verification_command, 80)),
    };
    format!("{} {}: {decided_by}", criterion.id, why(criterion, standing, changed))
}

/// What is wrong with a criterion, or a text that nothing is.
pub fn why(criterion: &Criterion, standing: ReceiptStatus, changed: &[String]) -> String {
    let nothing = crate::state::Receipt::default();
    let receipt = criterion.receipt.as_ref().unwrap_or(&nothing);
    if criterion.review.is_some() {
        return why_of_review(receipt, standing, changed);
    }
    match standing {
        ReceiptStatus::NotRun if criterion.verification_command.trim().is_empty() => {
            "has no command, so nothing can prove it".to_owned()
        }
        ReceiptStatus::NotRun => "was not run".to_owned(),
        ReceiptStatus::Stale if changed.is_empty() => {
            "is stale: files changed after its last run".to_owned()
        }
        ReceiptStatus::Stale => format!("is stale: {} changed after its last run", names(changed)),
        ReceiptStatus::Failed => match receipt.exit_code {
            Some(code) => format!("failed (exit code {code})"),
            None => format!("failed ({})", receipt.ended),
        },
        ReceiptStatus::TimedOut | ReceiptStatus::Killed => receipt.ended.clone(),
        ReceiptStatus::Vacuous => format!("passed and proves nothing ({})", receipt.vacuous),
        ReceiptStatus::RewroteTree => format!(
            "changes {} each time it runs; make it leave them alone, or ask the user to list them \
             under `receipt_ignore` in ralph.toml",
            if receipt.rewrote.is_empty() { "files".to_owned() } else { names(&receipt.rewrote) }
        ),
        ReceiptStatus::FewerTests => format!(
            "{}, and {} at the start; bring the others back, or ask the user to accept it \
             with `ralph criteria accept`",
            match receipt.tests_run {
                Some(ran) => format!("ran {ran} {}", noun(ran, "test", "tests")),
                None => "reported no tests".to_owned(),
            },
            criterion.tests_expected.map_or("some".to_owned(), |expected| expected.to_string())
        ),
        ReceiptStatus::HidesFailures => format!(
            "exited with 0 although its own summary reports failures ({}); make the command fail \
             with them, or ask the user to accept it with `ralph criteria accept`",
            receipt.tests_failed
        ),
        ReceiptStatus::Flaky if observed::is_flaky(&criterion.observed) => {
            "passed and failed on the same other files, so nothing can be told from it".to_owned()
        }
        ReceiptStatus::Flaky => {
            "failed and passed on the same tree, so it must pass twice in a row".to_owned()
        }
        ReceiptStatus::Passes
        | ReceiptStatus::Proven
        | ReceiptStatus::Kept
        | ReceiptStatus::TestsChanged
        | ReceiptStatus::CannotFail
        | ReceiptStatus::NotClean
        | ReceiptStatus::NotCompared => observed::why(criterion, standing),
        ReceiptStatus::Reviewed => "is reviewed".to_owned(),
    }
}

/// What is wrong with a reviewed criterion, in the reviewer's words.
fn why_of_review(receipt: &Receipt, standing: ReceiptStatus, changed: &[String]) -> String {
    let reason = || receipt.review.as_ref().map(review::reason).unwrap_or_default();
    match standing {
        ReceiptStatus::NotRun => {
            "was not reviewed yet; that begins once all commands hold".to_owned()
        }
        ReceiptStatus::Stale if changed.is_empty() => {
            "is stale: files changed after its review".to_owned()
        }
        ReceiptStatus::Stale => format!("is stale: {} changed after its review", names(changed)),
        ReceiptStatus::Failed => format!("failed its review: {}", reason()),
        ReceiptStatus::Vacuous => {
            format!("has a verdict that does not count: {}", bounded(&receipt.vacuous, 300))
        }
        ReceiptStatus::Flaky => {
            "failed and held on the same tree, so it must hold twice in a row".to_owned()
        }
        ReceiptStatus::Reviewed if receipt.by.proves() => format!("is reviewed: {}", reason()),
        _ => {
            "held in `ralph verify`; it is reviewed again at the request for completion".to_owned()
        }
    }
}

/// How the environment of the last runs of these criteria differed from the one at the start of the loop, in sentences.
fn environments(criteria: &[Criterion]) -> Vec<String> {
    let all = |which: fn(&Receipt) -> &Vec<String>| {
        let receipts = criteria.iter().filter_map(|one| one.receipt.as_ref());
        let all: BTreeSet<&String> = receipts.flat_map(which).collect();
        names(&all.into_iter().cloned().collect::<Vec<_>>())
    };
    let (restored, differs) = (all(|one| &one.restored), all(|one| &one.differs));
    let restored = (!restored.is_empty()).then(|| {
        format!(
            "The environment changed since the start; the criteria ran with the recorded values of {restored}."
        )
    });
    let differs = (!differs.is_empty())
        .then(|| format!("The criteria ran with other values than at the start of {differs}."));
    restored.into_iter().chain(differs).collect()
}

/// Lists increases in skipped tests since the start, what the bounds kept off, and other environments.
pub fn changes(state: &LoopState) -> Vec<String> {
    let mut lines = Vec::new();
    for criterion in &state.acceptance_criteria {
        if let (Some(before), Some(receipt)) = (receipt::risen_skips(criterion), &criterion.receipt)
        {
            let (id, now) = (&criterion.id, receipt.tests_skipped);
            lines.push(format!(
                "{id} skips {now} {}, and {before} at the start.",
                noun(now, "test", "tests")
            ));
        }
    }
    lines.extend(out_of_bounds(state));
    lines.extend(environments(&state.acceptance_criteria));
    lines
}

/// What the commands of a sandboxed loop tried outside of its bounds, and which processes they left,
/// each in one line. None of it had an effect.
pub fn out_of_bounds(state: &LoopState) -> Vec<String> {
    if state.bounds.is_none() {
        return Vec::new();
    }
    let mut lines = Vec::new();
    for criterion in state.acceptance_criteria.iter().take(MOST_NAMED) {
        let Some(receipt) = &criterion.receipt else { continue };
        for refused in &receipt.refused {
            lines.push(format!("{} in the bounds of this loop: {refused}.", criterion.id));
        }
        if !receipt.left.is_empty() {
            let left = names(&receipt.left);
            lines.push(format!(
                "{} left processes running, which Ralph ended: {left}.",
                criterion.id
            ));
        }
    }
    lines
}

/// Lists the criteria that held and no longer hold: since when, and what changed.
pub fn regressions(criteria: &[Criterion]) -> String {
    let mut text = String::new();
    for criterion in criteria.iter().take(MOST_NAMED) {
        let Some(red) = &criterion.turned_red else { continue };
        let since = match red.checkpoint.as_str() {
            "" => "before".to_owned(),
            reference => {
                format!("at checkpoint {}", reference.rsplit('/').next().unwrap_or(reference))
            }
        };
        let mut files = names(&red.files);
        if red.more > 0 {
            let _ = write!(files, " and {} more", red.more);
        }
        let _ = writeln!(
            text,
            "{} held {since} and is red now; changed since: {}.",
            criterion.id,
            if files.is_empty() { "nothing in the tree" } else { &files }
        );
    }
    text
}

/// The end of a failing command's output, without the runner's stack frames.
pub fn tail(criterion: &Criterion) -> String {
    // The reviewer's reason is part of what is wrong.
    let run = criterion.receipt.as_ref().filter(|receipt| receipt.review.is_none());
    let printed = run.map_or("", |receipt| receipt.tail.as_str());
    let text = without_frames(printed);
    if text.is_empty() {
        return String::new();
    }
    let begins = text.char_indices().rev().take(TAIL_LIMIT).last().map_or(0, |(at, _)| at);
    let cut = if begins > 0 { "…" } else { "" };
    format!("{} printed last:\n{cut}{}\n", criterion.id, &text[begins..])
}

/// A few names and the number of the others.
fn names(names: &[String]) -> String {
    const SHOWN: usize = 4;
    let mut text =
        names.iter().take(SHOWN).map(|name| bounded(name, 80)).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        let _ = write!(text, " and {} more", names.len() - SHOWN);
    }
    text
}

#[cfg(test)]
mod text_tests;
#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{Bounds, CriterionRunner, Regression};

    fn criterion(id: &str, receipt: Option<Receipt>) -> Criterion {
        let mut criterion = Criterion {
            id: id.to_owned(),
            verification_command: "cargo test".to_owned(),
            ..Criterion::default()
        };
        if let Some(receipt) = receipt {
            let command = "cargo test".to_owned();
            receipt::record(
                &mut criterion,
                Receipt { command, by: CriterionRunner::Hook, ..receipt },
            );
        }
        criterion
    }

    fn on(tree: &str, passed: bool) -> Receipt {
        let tree = tree.to_owned();
        let exit_code = Some(if passed { 0 } else { 101 });
        let tail = "assertion failed: left == right".to_owned();
        Receipt {
            passed,
            exit_code,
            tree_before: tree.clone(),
            tree_after: tree,
            tail,
            ..Receipt::default()
        }
    }

    fn state() -> (LoopState, Proof) {
        let acceptance_criteria = vec![
            criterion("AC-1", Some(on("t", true))),
            criterion("AC-2", Some(on("t", false))),
            criterion("AC-3", Some(on("s", true))),
            criterion("AC-4", None),
            criterion(
                "AC-5",
                Some(Receipt { vacuous: "no test was found".into(), ..on("t", true) }),
            ),
            criterion("AC-6", Some(Receipt { rewrote: vec!["gen.rs".into()], ..on("t", true) })),
        ];
        let trees =
            acceptance_criteria.iter().map(|one| (one.id.clone(), "t".to_owned())).collect();
        let changed = [("AC-3".to_owned(), vec!["src/a.rs".to_owned()])].into();
        let state = LoopState { acceptance_criteria, ..LoopState::default() };
        (state, Proof { trees, changed, ..Proof::default() })
    }

    #[test]
    fn each_criterion_is_named_with_what_is_wrong() {
        let (state, proof) = state();
        let text = refusal(&state, Some(&proof));
        for part in [
            "- AC-2 failed (exit code 101): `cargo test`\n",
            "- AC-3 is stale: src/a.rs changed after its last run: `cargo test`\n",
            "- AC-4 was not run: `cargo test`\n",
            "- AC-5 passed and proves nothing (no test was found): `cargo test`\n",
            "- AC-6 changes gen.rs each time it runs",
            "AC-2 printed last:\nassertion failed: left == right\n",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(!text.contains("- AC-1"), "{text}");
    }

    #[test]
    fn what_a_person_must_know_is_said() {
        let (mut state, proof) = state();
        pinned::freeze(&mut state, jiff::Timestamp::UNIX_EPOCH);
        state.acceptance_criteria[0].verification_command = "true".to_owned();
        let text = refusal(&state, Some(&proof));
        assert!(text.contains("not those that the user agreed to"), "{text}");
        assert!(refusal(&state, None).contains("AC-4 was not run"));
    }

    #[test]
    fn a_regression_names_the_checkpoint_and_the_files() {
        let (mut state, _) = state();
        state.acceptance_criteria[1].turned_red = Some(Regression {
            checkpoint: "refs/ralph/L/3".to_owned(),
            files: vec!["a.rs".to_owned(), "b.rs".to_owned()],
            more: 2,
        });
        assert_eq!(
            regressions(&state.acceptance_criteria),
            "AC-2 held at checkpoint 3 and is red now; changed since: a.rs, b.rs and 2 more.\n"
        );
    }

    #[test]
    fn a_refusal_says_no_more_than_what_is_wrong() {
        let open = |n: usize| {
            let ids = (1..=n).map(|at| criterion(&format!("AC-{at}"), None));
            LoopState { acceptance_criteria: ids.collect(), ..LoopState::default() }
        };
        let begins =
            "Completion was requested and is refused, because not everything holds:\n".to_owned();
        let row = |at: usize| format!("- AC-{at} was not run: `cargo test`\n");
        let six: String = (1..=MOST_NAMED).map(row).collect();
        assert_eq!(refusal(&open(1), None), format!("{begins}{}", row(1)));
        assert_eq!(refusal(&open(6), None), format!("{begins}{six}"));
        let more = "- and 2 more: `ralph status`\n";
        assert_eq!(refusal(&open(8), None), format!("{begins}{six}{more}"));
        let proof = Proof { problem: "the time was up".to_owned(), ..Proof::default() };
        let problem = "Not all of them could be run: the time was up.\n";
        assert_eq!(refusal(&open(1), Some(&proof)), format!("{begins}{}{problem}", row(1)));
    }

    #[track_caller]
    fn check_why(standing: ReceiptStatus, changed: &[&str], expected: &str) {
        let mut criterion = criterion("AC-1", None);
        criterion.tests_expected = Some(9);
        criterion.receipt = Some(Receipt {
            ended: "timed out after 20 s".to_owned(),
            tests_run: Some(7),
            ..Receipt::default()
        });
        let changed: Vec<String> = changed.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(why(&criterion, standing, &changed), expected);
    }

    #[test]
    fn what_is_wrong_is_said_in_the_words_of_its_kind() {
        check_why(ReceiptStatus::Stale, &[], "is stale: files changed after its last run");
        check_why(
            ReceiptStatus::Stale,
            &["a", "b", "c", "d"],
            "is stale: a, b, c, d changed after its last run",
        );
        check_why(
            ReceiptStatus::Stale,
            &["a", "b", "c", "d", "e", "f"],
            "is stale: a, b, c, d and 2 more changed after its last run",
        );
        check_why(ReceiptStatus::TimedOut, &[], "timed out after 20 s");
        check_why(
            ReceiptStatus::RewroteTree,
            &[],
            "changes files each time it runs; make it leave them alone, or ask the user to list \
             them under `receipt_ignore` in ralph.toml",
        );
        check_why(
            ReceiptStatus::FewerTests,
            &[],
            "ran 7 tests, and 9 at the start; bring the others back, or ask the user to accept it \
             with `ralph criteria accept`",
        );
        check_why(
            ReceiptStatus::Flaky,
            &[],
            "failed and passed on the same tree, so it must pass twice in a row",
        );
        let no_proof = "passed in `ralph verify` or `ralph try`; only the run at a request for completion counts";
        check_why(ReceiptStatus::Passes, &[], no_proof);
    }

    #[test]
    fn a_regression_without_a_checkpoint_or_files_is_told_as_such() {
        let mut state = LoopState {
            acceptance_criteria: vec![criterion("AC-1", None)],
            ..LoopState::default()
        };
        assert_eq!(regressions(&state.acceptance_criteria), "");
        state.acceptance_criteria[0].turned_red = Some(Regression::default());
        let told = "AC-1 held before and is red now; changed since: nothing in the tree.\n";
        assert_eq!(regressions(&state.acceptance_criteria), told);
    }

    #[test]
    fn what_was_tried_outside_of_the_bounds_is_told_of_a_sandboxed_loop() {
        let (mut state, _) = state();
        let refused = vec!["it tried to reach `example.com`".to_owned()];
        let receipt = Receipt { refused, left: vec!["sleep".to_owned()], ..on("t", true) };
        state.acceptance_criteria = vec![criterion("AC-1", Some(receipt))];
        assert_eq!(out_of_bounds(&state), [""; 0]);
        state.bounds = Some(Bounds::default());
        let told = out_of_bounds(&state);
        assert_eq!(told[0], "AC-1 in the bounds of this loop: it tried to reach `example.com`.");
        assert_eq!(told[1], "AC-1 left processes running, which Ralph ended: sleep.");
        assert!(told.iter().all(|line| changes(&state).contains(line)));
    }

    #[test]
    fn a_long_output_is_told_by_its_end() {
        let printed = |tail: &str| {
            let receipt = Receipt { tail: tail.to_owned(), ..on("t", false) };
            super::tail(&criterion("AC-1", Some(receipt)))
        };
        assert_eq!(printed(" \n"), "");
        assert_eq!(printed("ä\n"), "AC-1 printed last:\nä\n");
        let most = "ä".repeat(TAIL_LIMIT);
        assert_eq!(printed(&most), format!("AC-1 printed last:\n{most}\n"));
        assert_eq!(printed(&format!("b{most}")), format!("AC-1 printed last:\n…{most}\n"));
        assert_eq!(super::tail(&criterion("AC-1", None)), "");
    }

    #[test]
    fn the_failing_tests_come_first_and_no_stack_frame_at_all() {
        let printed =
            include_str!("../../../../tests/fixtures/runners/node/fail-spec.txt").to_owned();
        let receipt = Receipt {
            tail: printed,
            failing: vec!["parses ISO weeks".to_owned(), "b".to_owned()],
            tests_failed: 7,
            ..on("t", false)
        };
        let acceptance_criteria = vec![criterion("AC-2", Some(receipt))];
        let state = LoopState { acceptance_criteria, ..LoopState::default() };
        let trees = [("AC-2".to_owned(), "t".to_owned())].into();
        let text = refusal(&state, Some(&Proof { trees, ..Proof::default() }));
        let first = "AC-2 fails: `parses ISO weeks`, `b`, and 5 more\nCompletion was requested";
        assert!(text.starts_with(first), "{text}");
        assert!(!text.contains("node:internal") && !text.contains("    at "), "{text}");
        assert_eq!(
            what_to_fix(&state.acceptance_criteria[0]),
            "fix `parses ISO weeks` (cargo test)"
        );
    }
}
