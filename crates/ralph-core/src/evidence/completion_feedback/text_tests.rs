//! The whole texts about a request that is refused.

use super::*;
use crate::state::{Bounds, Citation, CriterionRunner, Observation, Observed, Outcome};
use crate::state::{Regression, ReviewReceipt, Task};

fn texts(all: &[&str]) -> Vec<String> {
    all.iter().map(|text| (*text).to_owned()).collect()
}

fn criterion(id: &str, receipt: Receipt) -> Criterion {
    let receipt = Some(Receipt { command: "cargo test".to_owned(), ..receipt });
    let verification_command = "cargo test".to_owned();
    Criterion { id: id.to_owned(), verification_command, receipt, ..Criterion::default() }
}

fn on(tree: &str, passed: bool) -> Receipt {
    Receipt {
        passed,
        exit_code: Some(if passed { 0 } else { 101 }),
        tree_before: tree.to_owned(),
        tree_after: tree.to_owned(),
        by: CriterionRunner::Hook,
        ..Receipt::default()
    }
}

fn proof_on(state: &LoopState, tree: &str) -> Proof {
    let ids = state.acceptance_criteria.iter().map(|one| (one.id.clone(), tree.to_owned()));
    Proof { trees: ids.collect(), ..Proof::default() }
}

#[test]
fn a_refusal_has_all_its_parts_in_their_order() {
    let failed = Receipt {
        failing: texts(&["a"]),
        tail: "left: 1\n    at f (a.js:1:2)\nright: 2\n".to_owned(),
        ..on("t", false)
    };
    let passed = Receipt {
        tests_skipped: 2,
        restored: texts(&["PATH", "CI"]),
        differs: texts(&["TOKEN"]),
        refused: texts(&["it wrote `/etc/x`"]),
        left: texts(&["sleep"]),
        ..on("t", true)
    };
    let second = Criterion { tests_skipped: Some(1), ..criterion("AC-2", passed) };
    let mut state = LoopState {
        acceptance_criteria: vec![criterion("AC-1", failed), second],
        bounds: Some(Bounds::default()),
        ..LoopState::default()
    };
    pinned::freeze(&mut state, jiff::Timestamp::UNIX_EPOCH);
    state.acceptance_criteria[0].description = "it works".to_owned();
    let proof = Proof { problem: "the time was up".to_owned(), ..proof_on(&state, "t") };
    let expected = "AC-1 fails: `a`\n\
        Completion was requested and is refused, because not everything holds:\n\
        - the criteria are not those that the user agreed to when the loop started; the user can accept \
        them with `ralph criteria accept` in another terminal\n\
        - AC-1 failed (exit code 101): `cargo test`\n\
        Not all of them could be run: the time was up.\n\
        AC-2 skips 2 tests, and 1 at the start.\n\
        AC-2 in the bounds of this loop: it wrote `/etc/x`.\n\
        AC-2 left processes running, which Ralph ended: sleep.\n\
        The environment changed since the start; the criteria ran with the recorded values of CI, PATH.\n\
        The criteria ran with other values than at the start of TOKEN.\n\
        AC-1 printed last:\nleft: 1\nright: 2\n";
    assert_eq!(refusal(&state, Some(&proof)), expected);
    // What was refused before is said in its own words, unless the criteria are others now.
    state.refused = "the tests pass without the change".to_owned();
    assert_eq!(refusal(&state, Some(&proof)), expected);
    pinned::freeze(&mut state, jiff::Timestamp::UNIX_EPOCH);
    let own = "AC-1 fails: `a`\n\
        Completion was requested and is refused: the tests pass without the change.\n";
    assert_eq!(refusal(&state, Some(&proof)), own);
    state.refused = "é".repeat(LIMIT);
    let long = refusal(&state, Some(&proof));
    assert_eq!(long.encode_utf16().count(), LIMIT + 1);
    assert!(long.ends_with("é…\n"), "{long}");
    state.refused.clear();
    let long = Proof { problem: "é".repeat(LIMIT), ..proof };
    assert_eq!(refusal(&state, Some(&long)).encode_utf16().count(), LIMIT + 1);
}

#[test]
fn a_loop_with_workers_and_no_tasks_cannot_complete() {
    let mut state = LoopState { parallel: true, ..LoopState::default() };
    assert_eq!(Withheld::from_state(&state), Some(Withheld::NoTasks));
    assert_eq!(
        refusal(&state, None),
        "Completion was requested and is refused, because not everything holds:\n\
         - this loop has no tasks yet, so no worker has done anything; add them with `ralph plan-sync`\n"
    );
    state.task_graph = vec![Task::default()].into();
    assert_eq!(Withheld::from_state(&state), None);
    assert_eq!(Withheld::from_state(&LoopState::default()), None);
}

#[test]
fn the_first_criterion_that_failed_is_that_of_this_tree() {
    let state = LoopState {
        acceptance_criteria: vec![
            criterion("AC-1", on("t", true)),
            criterion("AC-2", on("t", false)),
            criterion("AC-3", on("t", false)),
        ],
        ..LoopState::default()
    };
    let first = |proof: Option<&Proof>| first_failed(&state, proof).map(|one| one.id.as_str());
    assert_eq!(first(None), Some("AC-2"));
    assert_eq!(first(Some(&proof_on(&state, "t"))), Some("AC-2"));
    assert_eq!(first(Some(&proof_on(&state, "u"))), None);
}

#[test]
fn the_failing_tests_are_told_up_to_four() {
    let told = |failing: &[&str], tests_failed: u64, error: &str| {
        let (failing, error) = (texts(failing), error.to_owned());
        failing_tests(&criterion(
            "AC-1",
            Receipt { failing, tests_failed, error, ..on("t", false) },
        ))
    };
    assert_eq!(told(&[], 3, ""), "");
    assert_eq!(told(&[], 3, "no module"), "AC-1 fails: no module\n");
    assert_eq!(told(&["a"], 0, "no module"), "AC-1 fails: `a`\n");
    assert_eq!(told(&["a"], 2, ""), "AC-1 fails: `a`, and 1 more\n");
    assert_eq!(told(&["a", "b", "c", "d"], 4, ""), "AC-1 fails: `a`, `b`, `c`, `d`\n");
    let five = ["a", "b", "c", "d", "e"];
    assert_eq!(told(&five, 4, ""), "AC-1 fails: `a`, `b`, `c`, `d`, and 1 more\n");
    assert_eq!(failing_tests(&Criterion::default()), "");
}

fn reviewed(why: &str, passed: bool) -> Receipt {
    let evidence = vec![Citation { file: "a.md".to_owned(), line: 3, ..Citation::default() }];
    let review = ReviewReceipt {
        question: "is it clear?".to_owned(),
        why: why.to_owned(),
        evidence,
        ..ReviewReceipt::default()
    };
    Receipt { review: Some(review), ..on("t", passed) }
}

#[test]
fn what_to_fix_is_the_test_the_error_the_reason_or_the_command() {
    let ended = || "timed out after 20 s".to_owned();
    for (receipt, expected) in [
        (
            Receipt { timed_out: true, ended: ended(), failing: texts(&["a"]), ..on("t", false) },
            "fix cargo test: timed out after 20 s",
        ),
        (
            Receipt { signal: Some(9), ended: "killed".to_owned(), ..on("t", false) },
            "fix cargo test: killed",
        ),
        (
            Receipt { failing: texts(&["a", "b"]), error: "x".to_owned(), ..on("t", false) },
            "fix `a` (cargo test)",
        ),
        (Receipt { error: "no module".to_owned(), ..on("t", false) }, "fix cargo test: no module"),
        (reviewed("too long", false), "fix cargo test: too long (a.md:3)"),
        (Receipt { ended: ended(), ..on("t", false) }, "make cargo test pass"),
    ] {
        assert_eq!(what_to_fix(&criterion("AC-1", receipt)), expected);
    }
    let none = Criterion { receipt: None, ..criterion("AC-1", Receipt::default()) };
    assert_eq!(what_to_fix(&none), "make cargo test pass");
    for (description, command, review, words, whole, pass) in [
        ("", "sh a.sh", None, "sh a.sh", "AC-1", "make sh a.sh pass"),
        (
            " it works ",
            "sh a.sh",
            None,
            "sh a.sh",
            "AC-1 (it works)",
            "make sh a.sh pass (it works)",
        ),
        ("a.sh", "sh a.sh", None, "sh a.sh", "AC-1 (a.sh)", "make sh a.sh pass"),
        ("it works", " ", None, "it works", "AC-1 (it works)", "make it works pass"),
        (
            "it works",
            "sh a.sh",
            Some("is it?"),
            "it works",
            "AC-1 (it works)",
            "make it works pass",
        ),
        ("", "sh a.sh", Some("is it?"), "AC-1", "AC-1", "make AC-1 pass"),
    ] {
        let one = Criterion {
            id: "AC-1".to_owned(),
            description: description.to_owned(),
            verification_command: command.to_owned(),
            review: review.map(str::to_owned),
            ..Criterion::default()
        };
        assert_eq!(in_words(&one), words, "{description} {command}");
        assert_eq!(named(&one), whole, "{description} {command}");
        assert_eq!(to_pass(&one), pass, "{description} {command}");
    }
}

#[test]
fn each_state_of_a_criterion_has_its_words() {
    let own = |receipt: Receipt| criterion("AC-1", receipt);
    let told = |one: &Criterion, standing| why(one, standing, &[]);
    let plain = own(on("t", false));
    let no_command = Criterion { verification_command: " ".to_owned(), ..plain.clone() };
    assert_eq!(told(&no_command, ReceiptStatus::NotRun), "has no command, so nothing can prove it");
    assert_eq!(told(&plain, ReceiptStatus::NotRun), "was not run");
    assert_eq!(told(&plain, ReceiptStatus::Failed), "failed (exit code 101)");
    let ended =
        Receipt { exit_code: None, ended: "killed by signal 9".to_owned(), ..on("t", false) };
    let ended = own(ended);
    assert_eq!(told(&ended, ReceiptStatus::Failed), "failed (killed by signal 9)");
    assert_eq!(told(&ended, ReceiptStatus::Killed), "killed by signal 9");
    let vacuous = own(Receipt { vacuous: "no test ran".to_owned(), ..on("t", true) });
    assert_eq!(told(&vacuous, ReceiptStatus::Vacuous), "passed and proves nothing (no test ran)");
    let rewrote = own(Receipt { rewrote: texts(&["a", "b", "c", "d", "e"]), ..on("t", true) });
    assert_eq!(
        told(&rewrote, ReceiptStatus::RewroteTree),
        "changes a, b, c, d and 1 more each time it runs; make it leave them alone, or ask the user to \
         list them under `receipt_ignore` in ralph.toml"
    );
    let fewer = "at the start; bring the others back, or ask the user to accept it with `ralph \
                 criteria accept`";
    assert_eq!(
        told(&plain, ReceiptStatus::FewerTests),
        format!("reported no tests, and some {fewer}")
    );
    let one_test = Receipt { tests_run: Some(1), ..on("t", true) };
    let one_test = Criterion { tests_expected: Some(3), ..own(one_test) };
    assert_eq!(told(&one_test, ReceiptStatus::FewerTests), format!("ran 1 test, and 3 {fewer}"));
    let hides = own(Receipt { tests_failed: 2, ..on("t", true) });
    assert_eq!(
        told(&hides, ReceiptStatus::HidesFailures),
        "exited with 0 although its own summary reports failures (2); make the command fail with them, \
         or ask the user to accept it with `ralph criteria accept`"
    );
    let flaky = Observation { outcome: Outcome::Flaky, ..Observation::default() };
    let observed = Observed { clean: Some(flaky), ..Observed::default() };
    let flaky = Criterion { observed, ..plain.clone() };
    assert_eq!(
        told(&flaky, ReceiptStatus::Flaky),
        "passed and failed on the same other files, so nothing can be told from it"
    );
    assert_eq!(told(&plain, ReceiptStatus::Proven), "is proven");
    assert_eq!(told(&plain, ReceiptStatus::Reviewed), "is reviewed");
    assert_eq!(line(&plain, ReceiptStatus::NotRun, &[]), "AC-1 was not run: `cargo test`");
}

#[test]
fn each_state_of_a_reviewed_criterion_has_its_words() {
    let own = |receipt: Receipt| Criterion {
        review: Some("is it clear?".to_owned()),
        ..criterion("AC-1", receipt)
    };
    let held = own(reviewed("it is clear", true));
    let told = |standing, changed: &[&str]| why(&held, standing, &texts(changed));
    let not_yet = "was not reviewed yet; that begins once all commands hold";
    assert_eq!(told(ReceiptStatus::NotRun, &[]), not_yet);
    assert_eq!(told(ReceiptStatus::Stale, &[]), "is stale: files changed after its review");
    assert_eq!(told(ReceiptStatus::Stale, &["a"]), "is stale: a changed after its review");
    assert_eq!(told(ReceiptStatus::Failed, &[]), "failed its review: it is clear (a.md:3)");
    assert_eq!(
        told(ReceiptStatus::Flaky, &[]),
        "failed and held on the same tree, so it must hold twice in a row"
    );
    assert_eq!(told(ReceiptStatus::Reviewed, &[]), "is reviewed: it is clear (a.md:3)");
    let helped = own(Receipt { by: CriterionRunner::Command, ..reviewed("it is clear", true) });
    assert_eq!(
        why(&helped, ReceiptStatus::Reviewed, &[]),
        "held in `ralph verify`; it is reviewed again at the request for completion"
    );
    let void = own(Receipt { vacuous: "it cites no line".to_owned(), ..reviewed("", true) });
    assert_eq!(
        why(&void, ReceiptStatus::Vacuous, &[]),
        "has a verdict that does not count: it cites no line"
    );
    let none = Criterion { receipt: None, ..own(Receipt::default()) };
    assert_eq!(why(&none, ReceiptStatus::Failed, &[]), "failed its review: ");
    assert_eq!(
        line(&held, ReceiptStatus::NotRun, &[]),
        format!("AC-1 {not_yet}: review: is it clear?")
    );
    // What a reviewer says is told as the reason, and not once more as an output.
    assert_eq!(tail(&own(Receipt { tail: "x".to_owned(), ..reviewed("", false) })), "");
}

#[test]
fn what_changed_is_told_only_where_something_did() {
    let receipt = Receipt { tests_skipped: 1, restored: texts(&["CI"]), ..on("t", true) };
    let mut state = LoopState {
        acceptance_criteria: vec![criterion("AC-1", on("t", true))],
        bounds: Some(Bounds::default()),
        ..LoopState::default()
    };
    assert_eq!(changes(&state), [""; 0]);
    state.acceptance_criteria =
        vec![Criterion { tests_skipped: Some(0), ..criterion("AC-1", receipt.clone()) }];
    let environment =
        "The environment changed since the start; the criteria ran with the recorded values of CI.";
    assert_eq!(changes(&state), ["AC-1 skips 1 test, and 0 at the start.", environment]);
    state.acceptance_criteria[0].tests_skipped = Some(1);
    assert_eq!(changes(&state), [environment]);
    // One variable of two criteria is told once.
    state.acceptance_criteria.push(criterion("AC-2", receipt));
    assert_eq!(changes(&state), [environment]);
}

#[test]
fn no_more_than_six_criteria_are_told_of() {
    let red = Some(Regression { files: texts(&["a"]), ..Regression::default() });
    let left = Receipt { left: texts(&["x"]), ..on("t", true) };
    let one = |at: usize| Criterion {
        turned_red: red.clone(),
        ..criterion(&format!("AC-{at}"), left.clone())
    };
    let state = LoopState {
        acceptance_criteria: (1..=7).map(one).collect(),
        bounds: Some(Bounds::default()),
        ..LoopState::default()
    };
    let told = |at: usize| format!("AC-{at} held before and is red now; changed since: a.\n");
    assert_eq!(regressions(&state.acceptance_criteria), (1..=6).map(told).collect::<String>());
    let told = |at: usize| format!("AC-{at} left processes running, which Ralph ended: x.");
    assert_eq!(out_of_bounds(&state), (1..=6).map(told).collect::<Vec<_>>());
    let none = Criterion { receipt: None, ..one(1) };
    let state = LoopState { acceptance_criteria: vec![none, one(2)], ..state };
    assert_eq!(out_of_bounds(&state), [told(2)]);
    assert_eq!(names(&["a".repeat(81)]), bounded(&"a".repeat(81), 80));
}
