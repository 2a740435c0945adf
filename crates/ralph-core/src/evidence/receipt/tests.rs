//! The status of receipts after sequences of runs.

use super::*;
use crate::state::CriterionRunner;

fn pass() -> Receipt {
    Receipt {
        command: "cargo test".to_owned(),
        passed: true,
        exit_code: Some(0),
        tests_run: Some(12),
        tree_before: "t".to_owned(),
        tree_after: "t".to_owned(),
        by: CriterionRunner::Hook,
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
fn check(runs: &[Receipt], tree: &str, expected: ReceiptStatus) {
    let mut criterion = criterion();
    for run in runs {
        record(&mut criterion, run.clone());
    }
    assert_eq!(standing(&criterion, Some(tree)), expected);
}

#[test]
fn a_pass_holds_on_the_tree_that_it_was_taken_on_and_no_longer() {
    check(&[], "t", ReceiptStatus::NotRun);
    check(&[pass()], "t", ReceiptStatus::Passes);
    check(&[pass()], "t2", ReceiptStatus::Stale);
    check(&[fail()], "t", ReceiptStatus::Failed);
    check(&[fail()], "t2", ReceiptStatus::Stale);
}

/// Each status: its word, whether the criterion fails, whether another run may help.
const STANDINGS: [(ReceiptStatus, &str, bool, bool); 11] = [
    (ReceiptStatus::NotRun, "not_run", false, true),
    (ReceiptStatus::Stale, "stale", false, true),
    (ReceiptStatus::Failed, "failed", true, false),
    (ReceiptStatus::TimedOut, "timed_out", true, false),
    (ReceiptStatus::Killed, "killed", true, false),
    (ReceiptStatus::Vacuous, "vacuous", true, false),
    (ReceiptStatus::RewroteTree, "rewrote_tree", true, false),
    (ReceiptStatus::FewerTests, "fewer_tests", true, false),
    (ReceiptStatus::HidesFailures, "hides_failures", true, false),
    (ReceiptStatus::Flaky, "flaky", false, true),
    (ReceiptStatus::Passes, "passes", false, false),
];

#[test]
fn each_standing_has_its_word_and_either_fails_or_wants_a_run_or_holds() {
    for (standing, word, fails, wants_a_run) in STANDINGS {
        let found = (standing.as_str(), standing.is_a_failure(), standing.wants_a_run());
        assert_eq!(found, (word, fails, wants_a_run));
    }
}

#[test]
fn a_tree_that_could_not_be_looked_at_proves_nothing() {
    let unseen = Proof::default();
    let mut it = criterion();
    assert_eq!(unseen.standing(&it), ReceiptStatus::NotRun);
    record(&mut it, pass());
    assert_eq!(unseen.standing(&it), ReceiptStatus::Stale);
    let seen = Proof { trees: [("AC-1".to_owned(), "t".to_owned())].into(), ..unseen };
    assert_eq!(seen.standing(&it), ReceiptStatus::Passes);
}

#[test]
fn what_later_runs_are_judged_by_survives_storage_and_what_is_not_so_is_not_stored() {
    let stored = |receipt: &Receipt| serde_json::to_value(receipt).unwrap();
    let mut it = criterion();
    record(&mut it, fail());
    record(&mut it, pass());
    let flaky = it.receipt.clone().unwrap();
    let text = stored(&flaky);
    assert_eq!((&text["after_failure"], &text["passes"]), (&true.into(), &1.into()));
    assert_eq!(serde_json::from_value::<Receipt>(text).unwrap(), flaky);
    record(&mut it, pass());
    assert_eq!(stored(it.receipt.as_ref().unwrap())["passes"], 2);

    let mut it = criterion();
    record(&mut it, fail());
    let text = stored(it.receipt.as_ref().unwrap());
    assert_eq!((text.get("after_failure"), text.get("passes")), (None, None));
    let proof = |ran| serde_json::to_string(&Proof { ran, ..Proof::default() }).unwrap();
    assert_eq!(
        (proof(true), proof(false)),
        (r#"{"trees":{},"ran":true}"#.into(), r#"{"trees":{}}"#.into())
    );
}

#[test]
fn a_receipt_of_another_command_is_none() {
    check(&[Receipt { command: "true".to_owned(), ..pass() }], "t", ReceiptStatus::NotRun);
}

#[test]
fn a_pass_that_ran_no_test_proves_nothing() {
    let why = "no test was found".to_owned();
    check(&[Receipt { vacuous: why, tests_run: None, ..pass() }], "t", ReceiptStatus::Vacuous);
}

#[test]
fn fewer_tests_than_in_the_first_receipt_do_not_hold() {
    let with = |n| Receipt { tests_run: Some(n), ..pass() };
    check(&[with(12), with(11)], "t", ReceiptStatus::FewerTests);
    check(&[with(12), with(13), with(12)], "t", ReceiptStatus::Passes);
    let failing = Receipt { tests_run: Some(12), ..fail() };
    let tree = |n| Receipt { tree_before: "u".into(), tree_after: "u".into(), ..with(n) };
    check(&[failing, tree(11)], "u", ReceiptStatus::FewerTests);
    check(&[with(0), with(12), with(11)], "t", ReceiptStatus::FewerTests);
}

#[test]
fn silence_after_a_count_and_failures_in_a_summary_do_not_hold() {
    let silent = Receipt { tests_run: None, ..pass() };
    let uncounted = Receipt { tests_reported: true, ..silent.clone() };
    check(std::slice::from_ref(&silent), "t", ReceiptStatus::Passes);
    check(&[pass(), silent.clone()], "t", ReceiptStatus::FewerTests);
    check(&[uncounted.clone(), silent], "t", ReceiptStatus::FewerTests);
    check(&[pass(), uncounted], "t", ReceiptStatus::Passes);
    check(&[Receipt { tests_failed: 1, ..pass() }], "t", ReceiptStatus::HidesFailures);
}

#[test]
fn a_failure_and_a_pass_on_one_tree_need_two_passes_in_a_row() {
    check(&[fail(), pass()], "t", ReceiptStatus::Flaky);
    check(&[fail(), pass(), pass()], "t", ReceiptStatus::Passes);
    check(&[pass(), fail(), pass()], "t", ReceiptStatus::Flaky);
    check(&[fail(), pass(), fail(), pass()], "t", ReceiptStatus::Flaky);
    let vacuous = || Receipt { vacuous: "no test ran".to_owned(), ..pass() };
    check(&[fail(), vacuous(), pass()], "t", ReceiptStatus::Flaky);
    let fewer = || Receipt { tests_run: Some(1), ..pass() };
    check(&[pass(), fail(), fewer(), pass()], "t", ReceiptStatus::Flaky);
    let earlier = |receipt: Receipt| Receipt {
        tree_before: "s".to_owned(),
        tree_after: "s".to_owned(),
        ..receipt
    };
    check(&[earlier(fail()), pass()], "t", ReceiptStatus::Passes);
}

#[test]
fn a_run_that_was_cut_short_is_no_failure_once_it_had_the_time() {
    let timed_out = Receipt { timed_out: true, exit_code: None, duration_ms: 70, ..fail() };
    check(std::slice::from_ref(&timed_out), "t", ReceiptStatus::TimedOut);
    let passed_in = |duration_ms| Receipt { duration_ms, ..pass() };
    check(&[timed_out.clone(), passed_in(200)], "t", ReceiptStatus::Passes);
    check(&[fail(), timed_out.clone(), passed_in(200)], "t", ReceiptStatus::Flaky);
    // It had the time and hung.
    check(&[timed_out, passed_in(20)], "t", ReceiptStatus::Flaky);
}

#[test]
fn a_killed_command_is_no_longer_said_to_have_failed() {
    let killed = Receipt { signal: Some(9), exit_code: None, ..fail() };
    check(&[killed], "t", ReceiptStatus::Killed);
}

#[test]
fn a_check_that_changes_the_tree_each_time_does_not_hold() {
    let rewriting = Receipt { tree_before: "s".to_owned(), ..pass() };
    check(&[rewriting], "t", ReceiptStatus::RewroteTree);
}

#[test]
fn verified_is_what_the_receipt_says_and_not_what_was_written_there() {
    let mut by_hand = Criterion { verified: true, ..criterion() };
    assert_eq!(standing(&by_hand, Some("t")), ReceiptStatus::NotRun);
    record(&mut by_hand, fail());
    assert!(!by_hand.verified);
    record(&mut by_hand, Receipt { tree_after: "u".into(), tree_before: "u".into(), ..pass() });
    assert!(by_hand.verified);
}

/// A run in an environment that the model may have chosen.
fn helps(receipt: Receipt) -> Receipt {
    Receipt { by: CriterionRunner::Command, ..receipt }
}

#[track_caller]
fn check_proves(runs: &[Receipt], expected: bool) {
    let mut criterion = criterion();
    runs.iter().for_each(|run| record(&mut criterion, run.clone()));
    let trees = [("AC-1".to_owned(), "t".to_owned())].into();
    let proof = Proof { trees, ..Proof::default() };
    assert_eq!(proof.proves(&criterion), expected, "{:?}", criterion.receipt);
    assert_eq!(criterion.verified, expected);
}

#[test]
fn only_a_run_of_our_own_proves_and_a_help_neither_makes_nor_unmakes_it() {
    check_proves(&[helps(pass())], false);
    check_proves(&[helps(pass()), helps(pass())], false);
    check_proves(&[helps(pass()), pass()], true);
    check_proves(&[Receipt { by: CriterionRunner::Driver, ..pass() }], true);
    check_proves(&[pass(), helps(pass())], true);
    check_proves(&[pass(), helps(fail())], false);
    // A pass from the model's own run does not count as consecutive.
    check_proves(&[fail(), helps(pass()), pass()], false);
    check_proves(&[fail(), helps(pass()), pass(), pass()], true);
    check_proves(&[fail(), pass(), helps(pass())], false);
}

#[test]
fn the_count_of_a_help_does_not_lower_what_a_proof_needs() {
    let mut criterion = criterion();
    record(&mut criterion, helps(Receipt { tests_run: Some(1), ..pass() }));
    record(&mut criterion, pass());
    assert_eq!(criterion.tests_expected, Some(12));
    record(&mut criterion, Receipt { tests_run: Some(13), ..pass() });
    assert_eq!(criterion.tests_expected, Some(12), "the first of our own stays");
}

#[test]
fn who_ran_it_survives_storage_and_an_unknown_word_proves_nothing() {
    for by in [CriterionRunner::Command, CriterionRunner::Hook, CriterionRunner::Driver] {
        let receipt = Receipt { by, ..pass() };
        let text = serde_json::to_string(&receipt).unwrap();
        assert_eq!(serde_json::from_str::<Receipt>(&text).unwrap(), receipt);
    }
    let of = |word: &str| serde_json::from_value(serde_json::json!({"by": word}));
    let unknown: Receipt = of("somebody").unwrap();
    assert!(!unknown.by.proves());
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
    check_same("undefined: parse_header", "undefined: parse_footer", false);
    let cut = |ended: &str, timed_out| {
        let mut criterion = criterion();
        record(&mut criterion, Receipt { ended: ended.to_owned(), timed_out, ..fail() });
        failure_signature(&criterion).unwrap().to_owned()
    };
    assert_eq!(cut("timed out after 90 s", true), cut("timed out after 570 s", true));
    assert_ne!(cut("killed by signal 9", false), cut("killed by signal 11", false));
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
fn a_criterion_turns_red_once_and_by_a_failure_only() {
    let mut it = criterion();
    let asked = std::cell::Cell::new(0);
    let turn = |it: &mut Criterion| {
        note_turn(it, |_| {
            asked.set(asked.get() + 1);
            Regression::default()
        });
        (it.turned_red.is_some(), asked.get())
    };
    record(&mut it, pass());
    assert_eq!(turn(&mut it), (false, 0));
    it.verification_command = "cargo test --all".to_owned();
    assert_eq!(turn(&mut it), (false, 0), "a new command has not failed yet");
    it.verification_command = "cargo test".to_owned();
    record(&mut it, fail());
    assert_eq!(turn(&mut it), (true, 1));
    assert_eq!(turn(&mut it), (true, 1), "what changed is looked up when it is news");
    record(&mut it, pass());
    assert_eq!(turn(&mut it), (true, 1), "one pass after a failure is not enough");
    record(&mut it, pass());
    assert_eq!(turn(&mut it), (false, 1));
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
    assert_eq!(accept(&mut it), Vec::<String>::new());
    record(&mut it, Receipt { tests_run: Some(9), ..pass() });
    assert_eq!(accept(&mut it).len(), 1);
    assert_eq!(it.tests_expected, Some(9));
    assert_eq!(standing(&it, None), ReceiptStatus::Passes);
}
