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
    assert_eq!(criterion_status(&criterion, Some(tree)), expected);
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
    assert_eq!(unseen.criterion_status(&it), ReceiptStatus::NotRun);
    record(&mut it, pass());
    assert_eq!(unseen.criterion_status(&it), ReceiptStatus::Stale);
    let seen = Proof { trees: [("AC-1".to_owned(), "t".to_owned())].into(), ..unseen };
    assert_eq!(seen.criterion_status(&it), ReceiptStatus::Passes);
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
    check(&[fail(), helps(pass())], "t", ReceiptStatus::Flaky);
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
    check(&[timed_out.clone(), passed_in(70)], "t", ReceiptStatus::Flaky);
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
    assert_eq!(criterion_status(&by_hand, Some("t")), ReceiptStatus::NotRun);
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
    assert_eq!(criterion_status(&it, None), ReceiptStatus::Passes);
}

#[test]
fn each_state_of_a_pass_has_its_word_and_is_met_or_can_be_accepted() {
    use ReceiptStatus as Is;
    for (standing, word, is_met, can_be_accepted, fails) in [
        (Is::Passes, "passes", true, false, false),
        (Is::Proven, "proven", true, false, false),
        (Is::Kept, "kept", true, false, false),
        (Is::TestsChanged, "tests_changed", false, true, false),
        (Is::CannotFail, "cannot_fail", false, true, false),
        (Is::NotClean, "failed", false, false, true),
        (Is::NotCompared, "not_compared", true, false, false),
        (Is::Reviewed, "reviewed", true, false, false),
        (Is::Failed, "failed", false, false, true),
        (Is::Flaky, "flaky", false, false, false),
    ] {
        let found = (standing.as_str(), standing.is_met(), standing.can_be_accepted());
        assert_eq!(found, (word, is_met, can_be_accepted), "{standing:?}");
        assert_eq!(standing.is_a_failure(), fails, "{standing:?}");
        let is_unsuccessful = standing == Is::Failed;
        assert_eq!(standing.is_unsuccessful(), is_unsuccessful, "{standing:?}");
    }
    assert!(Is::TimedOut.is_unsuccessful() && Is::Killed.is_unsuccessful());
}

#[test]
fn states_are_counted_in_words() {
    use ReceiptStatus as Is;
    let all = [
        Is::NotCompared,
        Is::CannotFail,
        Is::TestsChanged,
        Is::Passes,
        Is::Kept,
        Is::Kept,
        Is::Reviewed,
        Is::Proven,
        Is::Stale,
        Is::Failed,
    ];
    assert_eq!(
        counts(&all),
        "1 proven, 1 reviewed, 2 kept, 1 passes, 1 with changed tests, 1 that cannot fail, 1 not compared"
    );
    assert_eq!(counts(&[Is::Passes, Is::Passes]), "2 pass");
    assert_eq!(counts(&[Is::Stale]), "");
    let verified = |review: Option<&str>| Criterion {
        verified: true,
        review: review.map(str::to_owned),
        ..criterion()
    };
    let all = [verified(None), verified(Some("x")), verified(None), criterion()];
    assert_eq!(count_met(&all), (2, 1));
}

/// What is accepted of the last of these runs, and the criterion after it.
fn accepted(runs: &[Receipt]) -> (Vec<String>, Criterion) {
    let mut one = criterion();
    runs.iter().for_each(|run| record(&mut one, run.clone()));
    (accept(&mut one), one)
}

#[test]
fn each_thing_that_the_last_run_proves_less_is_accepted_by_name() {
    let with = |n| Receipt { tests_run: Some(n), ..pass() };
    let skips = |n| Receipt { tests_reported: true, tests_skipped: n, ..pass() };
    let silent = || Receipt { tests_run: None, ..pass() };
    for (runs, expected) in [
        (vec![], &[][..]),
        (vec![pass(), Receipt { tests_run: Some(9), ..fail() }], &[]),
        (vec![pass(), with(12)], &[]),
        (vec![pass(), with(1)], &["1 test for AC-1 instead of 12"]),
        (vec![pass(), with(0)], &["0 tests for AC-1 instead of 12"]),
        (vec![pass(), silent()], &["no count of the tests of AC-1"]),
        (vec![skips(1), skips(1)], &[]),
        (vec![skips(0), skips(1)], &["1 skipped test for AC-1 instead of 0"]),
        (vec![skips(1), skips(3)], &["3 skipped tests for AC-1 instead of 1"]),
        (vec![Receipt { tests_failed: 1, ..pass() }], &["failures in the summary of AC-1"]),
        // The count of a run that is unsound for another reason means nothing.
        (vec![pass(), Receipt { vacuous: "x".to_owned(), ..with(1) }], &[]),
        (vec![pass(), Receipt { rewrote: vec!["a".to_owned()], ..with(1) }], &[]),
        (vec![pass(), Receipt { tree_before: "s".to_owned(), ..with(1) }], &[]),
    ] {
        let (told, one) = accepted(&runs);
        assert_eq!(told, expected, "{runs:?}");
        let holds = runs.last().is_some_and(|last| last.passed && last.vacuous.is_empty());
        let is_sound = holds
            && runs.last().is_some_and(|last| last.tree_before == "t" && last.rewrote.is_empty());
        assert_eq!(criterion_status(&one, None) == ReceiptStatus::Passes, is_sound, "{runs:?}");
        assert_eq!(accepted_again(one), [""; 0], "{runs:?}");
    }
    let (_, one) = accepted(&[pass(), silent()]);
    assert_eq!((one.tests_expected, one.tests_reported), (None, false));
    let (_, one) = accepted(&[skips(1), skips(3)]);
    assert_eq!(one.tests_skipped, Some(3));
}

fn accepted_again(mut one: Criterion) -> Vec<String> {
    accept(&mut one)
}

#[test]
fn what_was_observed_is_accepted_one_after_the_other() {
    use crate::state::{Observation, Observed, Outcome};
    let failing = vec!["a".to_owned()];
    let original = Observation { outcome: Outcome::Failed, failing, ..Observation::default() };
    let unnoticed = vec!["`5` at a:1".to_owned()];
    let broken = Observation { unnoticed, ..Observation::default() };
    let observed = Observed {
        tree: "t".to_owned(),
        original: Some(original),
        broken: Some(broken),
        ..Observed::default()
    };
    let mut one = Criterion { observed, ..criterion() };
    record(&mut one, pass());
    assert_eq!(criterion_status(&one, None), ReceiptStatus::TestsChanged);
    assert_eq!(
        accept(&mut one),
        [
            "for AC-1: the changed tests; in their original form: `a`",
            "for AC-1: `5` at a:1 can be changed unnoticed",
        ]
    );
    assert_eq!(one.accepted, ["tests_changed AC-1: a", "cannot_fail AC-1: `5` at a:1"]);
    assert_eq!(criterion_status(&one, None), ReceiptStatus::NotCompared);
    assert_eq!(accept(&mut one), [""; 0]);
}

#[test]
fn a_failure_before_the_work_counts_if_a_test_is_named_or_counted() {
    let names = |failing: &[&str], tests_failed| Receipt {
        failing: failing.iter().map(|name| (*name).to_owned()).collect(),
        tests_failed,
        ..fail()
    };
    for (run, failed_before, held_before) in [
        (pass(), false, true),
        (Receipt { tests_failed: 1, ..pass() }, false, false),
        (names(&[], 0), false, false),
        (names(&["a"], 0), true, false),
        (names(&[], 1), true, false),
    ] {
        let mut state = LoopState { baseline_pending: true, ..LoopState::default() };
        state.acceptance_criteria = vec![criterion()];
        record(&mut state.acceptance_criteria[0], run);
        take_baseline(&mut state);
        let one = &state.acceptance_criteria[0];
        assert_eq!((one.failed_before, one.held_before), (failed_before, held_before));
        // It is taken once.
        record(&mut state.acceptance_criteria[0], pass());
        take_baseline(&mut state);
        assert_eq!(state.acceptance_criteria[0].failed_before, failed_before);
    }
}

#[test]
fn the_first_count_is_what_is_expected_and_zero_is_none() {
    let expected = |runs: &[Receipt]| accepted_none(runs).tests_expected;
    let with = |n| Receipt { tests_run: Some(n), ..pass() };
    assert_eq!(expected(&[with(0)]), None);
    assert_eq!(expected(&[with(1)]), Some(1));
    assert_eq!(expected(&[helps(with(12)), with(1)]), Some(12));
    assert_eq!(expected(&[helps(with(1)), helps(with(12))]), Some(1));
    let skips = |tests_reported, n| Receipt { tests_reported, tests_skipped: n, ..pass() };
    let skipped = |runs: &[Receipt]| accepted_none(runs).tests_skipped;
    assert_eq!(skipped(&[skips(false, 3)]), None);
    assert_eq!(skipped(&[skips(true, 3), skips(true, 5)]), Some(3));
}

fn accepted_none(runs: &[Receipt]) -> Criterion {
    let mut one = criterion();
    runs.iter().for_each(|run| record(&mut one, run.clone()));
    one
}

#[test]
fn a_token_looks_random_if_it_is_long_and_switches_often() {
    for (token, expected) in [
        ("3f2a9c01", true),
        ("tmp8x2k1q", true),
        ("a1b2", false),
        ("a1b2c3d", false),
        ("a1b2cdef", true),
        ("a1bcdefg", false),
        ("abcdefgh1", false),
        ("aaaa-1111", false),
        ("a-1-b-2", false),
        ("a-1-b-22", true),
        ("", false),
    ] {
        assert_eq!(looks_random(token), expected, "{token}");
    }
}
