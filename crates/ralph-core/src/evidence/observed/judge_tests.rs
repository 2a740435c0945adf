//! What each combination of observations shows, and the words for it.

use super::*;
use crate::state::{Change, CriterionRunner, Judgement};

fn texts(all: &[&str]) -> Vec<String> {
    all.iter().map(|text| (*text).to_owned()).collect()
}

fn run(outcome: Outcome) -> Option<Observation> {
    Some(Observation { outcome, ..Observation::default() })
}

/// A failed run with these tests.
fn failed(failing: &[&str], tests_failed: u64, why: &str) -> Option<Observation> {
    let (failing, why) = (texts(failing), why.to_owned());
    Some(Observation {
        outcome: Outcome::Failed,
        failing,
        tests_failed,
        why,
        ..Observation::default()
    })
}

fn broken(noticed: &[&str], unnoticed: &[&str]) -> Option<Observation> {
    let (noticed, unnoticed) = (texts(noticed), texts(unnoticed));
    Some(Observation { outcome: Outcome::Passed, noticed, unnoticed, ..Observation::default() })
}

fn criterion(id: &str, observed: Observed) -> Criterion {
    let receipt = Receipt {
        passed: true,
        tree_before: "t".to_owned(),
        tree_after: "t".to_owned(),
        by: CriterionRunner::Hook,
        ..Receipt::default()
    };
    let observed = Observed { tree: "t".to_owned(), ..observed };
    let verification_command = "npm test".to_owned();
    Criterion {
        id: id.to_owned(),
        verification_command,
        receipt: Some(receipt),
        observed,
        ..Criterion::default()
    }
}

#[track_caller]
fn check_shown(seen: Observed, expected: ReceiptStatus) {
    let one = criterion("AC-1", seen);
    let receipt = one.receipt.clone().unwrap();
    assert_eq!(shown(&one, &receipt), expected, "{:?}", one.observed);
    assert_eq!(criterion_status(&one, &receipt), expected);
    // A run of the model's own shows nothing, nor does one on another tree.
    let helped = Receipt { by: CriterionRunner::Command, ..receipt.clone() };
    assert_eq!(criterion_status(&one, &helped), ReceiptStatus::Passes);
    let later = Receipt { tree_after: "u".to_owned(), ..receipt };
    assert_eq!(shown(&one, &later), ReceiptStatus::Passes);
}

#[test]
fn each_observation_shows_what_the_pass_is_worth() {
    let nothing = Observed::default;
    let (passed, fails) = (|| run(Outcome::Passed), || run(Outcome::Failed));
    let flaky = || run(Outcome::Flaky);
    let not_compared = || "no git".to_owned();
    let cannot = || broken(&[], &["`5` at a:1"]);
    for (seen, expected) in [
        (nothing(), ReceiptStatus::Passes),
        (Observed { without: fails(), ..nothing() }, ReceiptStatus::Proven),
        (Observed { without: passed(), ..nothing() }, ReceiptStatus::Kept),
        (Observed { without: run(Outcome::Unknown), ..nothing() }, ReceiptStatus::NotCompared),
        (Observed { without: flaky(), ..nothing() }, ReceiptStatus::NotCompared),
        (
            Observed { not_compared: not_compared(), without: fails(), ..nothing() },
            ReceiptStatus::NotCompared,
        ),
        (Observed { broken: cannot(), without: fails(), ..nothing() }, ReceiptStatus::CannotFail),
        (
            Observed { broken: cannot(), not_compared: not_compared(), ..nothing() },
            ReceiptStatus::CannotFail,
        ),
        (
            Observed { broken: broken(&["`4`"], &["`5`"]), without: fails(), ..nothing() },
            ReceiptStatus::Proven,
        ),
        (
            Observed { broken: broken(&[], &[]), without: fails(), ..nothing() },
            ReceiptStatus::Proven,
        ),
        (
            Observed { original: fails(), broken: cannot(), ..nothing() },
            ReceiptStatus::TestsChanged,
        ),
        (Observed { original: passed(), without: fails(), ..nothing() }, ReceiptStatus::Proven),
        (Observed { clean: fails(), original: fails(), ..nothing() }, ReceiptStatus::NotClean),
        (Observed { clean: passed(), without: fails(), ..nothing() }, ReceiptStatus::Proven),
        (Observed { original: flaky(), clean: fails(), ..nothing() }, ReceiptStatus::Flaky),
        (Observed { broken: flaky(), without: fails(), ..nothing() }, ReceiptStatus::Flaky),
        (Observed { clean: flaky(), without: fails(), ..nothing() }, ReceiptStatus::Flaky),
    ] {
        check_shown(seen, expected);
    }
    let unknown = Observed { without: run(Outcome::Unknown), ..nothing() };
    let before = Criterion { failed_before: true, ..criterion("AC-1", unknown) };
    let receipt = before.receipt.clone().unwrap();
    assert_eq!(shown(&before, &receipt), ReceiptStatus::Proven);
    let untold = Observed { tree: String::new(), without: fails(), ..nothing() };
    let one = Criterion { observed: untold, ..criterion("AC-1", nothing()) };
    let nowhere = Receipt { tree_after: String::new(), ..receipt };
    assert_eq!(shown(&one, &nowhere), ReceiptStatus::Passes);
}

#[test]
fn what_was_accepted_stands_in_nobodys_way() {
    let seen = Observed {
        original: failed(&["a"], 1, ""),
        broken: broken(&[], &["`5` at a:1", "`6` at a:2"]),
        without: run(Outcome::Failed),
        ..Observed::default()
    };
    let mut one = criterion("AC-1", seen);
    let receipt = one.receipt.clone().unwrap();
    let changed = refusal(&one, Refusable::TestsChanged);
    let cannot = refusal(&one, Refusable::CannotFail);
    assert_eq!(changed, "tests_changed AC-1: a");
    assert_eq!(cannot, "cannot_fail AC-1: `5` at a:1, `6` at a:2");
    assert_eq!(refusal(&one, Refusable::Unnoticed), "unnoticed AC-1: `5` at a:1, `6` at a:2");
    assert_eq!(
        refusal(&criterion("AC-2", Observed::default()), Refusable::CannotFail),
        "cannot_fail AC-2: "
    );
    assert_eq!(
        accepted(&one, Refusable::TestsChanged),
        "the changed tests; in their original form: `a`"
    );
    let unnoticed = "`5` at a:1, `6` at a:2 can be changed unnoticed";
    assert_eq!(accepted(&one, Refusable::CannotFail), unnoticed);
    assert_eq!(accepted(&one, Refusable::Unnoticed), unnoticed);
    one.accepted = vec![cannot.clone()];
    assert_eq!(shown(&one, &receipt), ReceiptStatus::TestsChanged);
    one.accepted = vec![changed.clone()];
    assert_eq!(shown(&one, &receipt), ReceiptStatus::CannotFail);
    one.accepted = vec![changed, cannot];
    assert_eq!(shown(&one, &receipt), ReceiptStatus::NotCompared);
}

#[test]
fn what_can_be_accepted_stands_in_the_way() {
    let of = |seen: Observed, standing| refusable(&criterion("AC-1", seen), standing);
    let with = |broken| Observed { broken, ..Observed::default() };
    let proven = ReceiptStatus::Proven;
    assert_eq!(of(Observed::default(), ReceiptStatus::TestsChanged), Some(Refusable::TestsChanged));
    assert_eq!(of(Observed::default(), ReceiptStatus::CannotFail), Some(Refusable::CannotFail));
    assert_eq!(of(Observed::default(), proven), None);
    assert_eq!(of(with(broken(&["`4`"], &["`5`"])), proven), Some(Refusable::Unnoticed));
    assert_eq!(of(with(broken(&["`4`"], &[])), proven), None);
    assert_eq!(of(with(broken(&[], &["`5`"])), proven), None);
}

#[test]
fn failed_tests_are_quoted_up_to_three_with_the_number_of_the_others() {
    for (failing, count, expected) in [
        (&[][..], 2, "error: x"),
        (&["a"], 0, "`a`"),
        (&["a"], 1, "`a`"),
        (&["a", "b"], 5, "`a`, `b` and 3 more"),
        (&["a", "b", "c"], 3, "`a`, `b`, `c`"),
        (&["a", "b", "c", "d"], 3, "`a`, `b`, `c` and 1 more"),
        (&["a", "b", "c", "d"], 9, "`a`, `b`, `c` and 6 more"),
    ] {
        let run = failed(failing, count, "error: x").unwrap();
        assert_eq!(quoted(&run), expected);
    }
    let three = texts(&["a", "b", "c"]);
    assert_eq!(without_a_name("", &three), "a, b, c changed");
}

#[test]
fn what_a_pass_is_worth_is_said_in_words() {
    let told = |seen: Observed, standing| why(&criterion("AC-1", seen), standing);
    let original = |original| Observed { original, ..Observed::default() };
    for (seen, expected) in [
        (failed(&[], 0, ""), "the tests of the start fail"),
        (failed(&[], 0, "error: x"), "the tests of the start fail or no longer build: error: x"),
        (failed(&["a"], 1, ""), "`a` fails in its original form"),
        (failed(&["a"], 2, ""), "`a` and 1 more fail in their original form"),
        (failed(&["a", "b"], 0, ""), "`a`, `b` fail in their original form"),
        (None, "the tests of the start fail"),
    ] {
        assert_eq!(
            told(original(seen), ReceiptStatus::TestsChanged),
            format!(
                "passes only with changed tests: {expected}; make the original tests pass, or say why the \
                 task needs the change (`ralph diff --tests` shows it)"
            )
        );
    }
    let nothing = Observed::default;
    let unnoticed = Observed { broken: broken(&[], &["`5` at a:1", "`6` at a:2"]), ..nothing() };
    assert_eq!(
        told(unnoticed, ReceiptStatus::CannotFail),
        "cannot fail: it passes although `5` at a:1, `6` at a:2 was changed to a wrong value; find out why \
         its tests do not notice"
    );
    for (clean, expected) in [
        (failed(&["a", "b"], 2, "error: x"), "fails in a clean copy: a, b"),
        (failed(&[], 0, "error: x"), "fails in a clean copy: error: x"),
    ] {
        assert_eq!(told(Observed { clean, ..nothing() }, ReceiptStatus::NotClean), expected);
    }
    let same = Observation { why: NO_CHANGE.to_owned(), ..Observation::default() };
    let same = || Observed { without: Some(same.clone()), ..nothing() };
    assert_eq!(told(same(), ReceiptStatus::Kept), "passes; no code has changed");
    assert_eq!(told(nothing(), ReceiptStatus::Kept), "passes without the change, too");
    assert_eq!(told(nothing(), ReceiptStatus::Passes), "passes");
    assert_eq!(told(nothing(), ReceiptStatus::Proven), "is proven");
    for (seen, expected) in [
        (nothing(), "no run was possible"),
        (Observed { without: failed(&[], 0, ""), ..nothing() }, "no run was possible"),
        (Observed { without: failed(&[], 0, "it hung"), ..nothing() }, "it hung"),
        (
            Observed {
                without: failed(&[], 0, "it hung"),
                not_compared: "no git".to_owned(),
                ..nothing()
            },
            "no git",
        ),
        (
            Observed {
                broken: broken(&[], &["`5`"]),
                not_compared: "no git".to_owned(),
                ..nothing()
            },
            "its tests run elsewhere",
        ),
    ] {
        assert_eq!(not_compared(&criterion("AC-1", seen.clone())), expected);
        let whole = format!("passes; not compared: {expected}");
        assert_eq!(told(seen, ReceiptStatus::NotCompared), whole);
    }
}

#[test]
fn a_sentence_has_the_figures_of_the_runner() {
    let of = |tests_run: Option<u64>, seen: Observed, standing| {
        let mut one = criterion("AC-1", seen);
        one.receipt.as_mut().unwrap().tests_run = tests_run;
        sentence(&one, standing)
    };
    let nothing = Observed::default;
    let without = |failed: u64, tests_run: Option<u64>| Observed {
        without: Some(Observation {
            outcome: Outcome::Failed,
            tests_failed: failed,
            tests_run,
            ..Observation::default()
        }),
        ..nothing()
    };
    let original = |outcome, tests_run| Observed {
        original: Some(Observation { outcome, tests_run, ..Observation::default() }),
        ..nothing()
    };
    let proven = ReceiptStatus::Proven;
    for (tests_run, seen, standing, expected) in [
        (None, nothing(), ReceiptStatus::Passes, "npm test passes"),
        (Some(1), nothing(), ReceiptStatus::Passes, "npm test: 1 test passes"),
        (
            Some(2),
            nothing(),
            ReceiptStatus::Kept,
            "npm test: 2 tests pass, without the change, too",
        ),
        (Some(2), nothing(), proven, "npm test: 2 tests pass; it failed at the start"),
        (
            Some(41),
            without(3, Some(41)),
            proven,
            "npm test: 41 tests pass; 3 of them fail without the change",
        ),
        (
            Some(41),
            without(1, None),
            proven,
            "npm test: 41 tests pass; 1 of them fails without the change",
        ),
        (
            Some(41),
            without(41, Some(41)),
            proven,
            "npm test: 41 tests pass; all of them fail without the change",
        ),
        (
            Some(41),
            without(41, None),
            proven,
            "npm test: 41 tests pass; without the change they do not run",
        ),
        (
            Some(41),
            without(0, Some(0)),
            proven,
            "npm test: 41 tests pass; without the change they do not run",
        ),
        (
            Some(1),
            without(1, Some(1)),
            proven,
            "npm test: 1 test passes; it fails without the change",
        ),
        (
            Some(1),
            without(0, None),
            proven,
            "npm test: 1 test passes; without the change it does not run",
        ),
        (None, without(3, Some(3)), proven, "npm test passes; it fails without the change"),
        (
            None,
            original(Outcome::Passed, Some(38)),
            ReceiptStatus::Passes,
            "npm test passes; the 38 original ones still pass",
        ),
        (
            None,
            original(Outcome::Passed, Some(1)),
            ReceiptStatus::Passes,
            "npm test passes; the original one still passes",
        ),
        (None, original(Outcome::Passed, None), ReceiptStatus::Passes, "npm test passes"),
        (None, original(Outcome::Failed, Some(3)), ReceiptStatus::Passes, "npm test passes"),
        (
            None,
            Observed { not_compared: "no git".to_owned(), ..nothing() },
            ReceiptStatus::NotCompared,
            "npm test passes; not compared: no git",
        ),
        (
            None,
            Observed {
                without: Some(Observation { why: NO_CHANGE.to_owned(), ..Observation::default() }),
                ..nothing()
            },
            ReceiptStatus::Kept,
            "npm test passes; no code has changed",
        ),
        (
            None,
            Observed { without: run(Outcome::Passed), ..nothing() },
            proven,
            "npm test passes; it failed at the start",
        ),
    ] {
        assert_eq!(of(tests_run, seen, standing), expected);
    }
}

#[test]
fn an_ending_names_each_thing_that_somebody_has_to_know() {
    let mut all = vec![
        criterion("AC-1", Observed { original: failed(&["a", "b"], 5, ""), ..Observed::default() }),
        criterion("AC-2", Observed { original: failed(&[], 0, "error: x"), ..Observed::default() }),
        criterion("AC-3", Observed { broken: broken(&[], &["`5`", "`6`"]), ..Observed::default() }),
        criterion("AC-4", Observed { broken: broken(&["`4`"], &["`5`"]), ..Observed::default() }),
        criterion("AC-5", Observed { broken: broken(&["`4`"], &[]), ..Observed::default() }),
        criterion("AC-6", Observed { original: run(Outcome::Passed), ..Observed::default() }),
        criterion("AC-7", Observed { original: failed(&["c"], 1, ""), ..Observed::default() }),
        criterion("AC-8", Observed { original: failed(&["c"], 1, ""), ..Observed::default() }),
    ];
    all[0].accepted = vec![refusal(&all[0], Refusable::TestsChanged)];
    all[6].observed.tree = "u".to_owned();
    all[7].observed.tree.clear();
    all[7].receipt.as_mut().unwrap().tree_after.clear();
    let judged = |about: String, holds| Judgement { about, holds, ..Judgement::default() };
    let mut state = LoopState {
        judgements: vec![
            judged(refusal(&all[2], Refusable::CannotFail), true),
            judged(refusal(&all[3], Refusable::Unnoticed), false),
            judged(format!("{ALL_KEPT} AC-1"), true),
        ],
        change: Some(Change {
            submodules: texts(&["x", "y"]),
            scripts: texts(&["a.sh", "b.sh"]),
            tests_in_code: texts(&["a", "b", "c", "d", "e"]),
            ..Change::default()
        }),
        acceptance_criteria: all,
        ..LoopState::default()
    };
    assert_eq!(
        named(&state),
        [
            "AC-1: 5 tests changed, accepted: `a`, `b` and 3 more.",
            "AC-2: its tests changed: error: x.",
            "AC-3: `5`, `6` can be changed unnoticed, reviewed.",
            "AC-4: `5` can be changed unnoticed.",
            "No test sees the change; it was reviewed.",
            "A script of a criterion changed: a.sh.",
            "A script of a criterion changed: b.sh.",
            "Submodules at another commit: x, y.",
            "Tests inside of the code changed: a, b, c, d.",
        ]
    );
    assert!(is_any(&state));
    state.acceptance_criteria.drain(..7);
    state.judgements[2].holds = false;
    state.change = Some(Change::default());
    assert_eq!(named(&state), [""; 0]);
    assert!(!is_any(&state));
}

#[test]
fn a_run_on_other_files_is_judged_by_its_exit_and_by_what_it_read() {
    let elsewhere = Judged::Unknown(
        "a daemon or container may do the work of `make test`: it opened none of the changed files and no \
         test"
            .to_owned(),
    );
    let unread = Judged::Unknown("it failed, but opened none of the changed files".to_owned());
    for (code, names_a_test, read, expected) in [
        (0, false, WhatWasRead::TheChange, Judged::Passed),
        (0, false, WhatWasRead::Others, Judged::Passed),
        (0, true, WhatWasRead::Nothing, elsewhere.clone()),
        (1, true, WhatWasRead::Nothing, elsewhere),
        (1, true, WhatWasRead::Others, unread),
        (1, true, WhatWasRead::TheChange, Judged::Failed),
        (1, false, WhatWasRead::TheChange, Judged::NeedsControl),
    ] {
        assert_eq!(judge(code, names_a_test, read, "make test"), expected, "{code} {read:?}");
    }
}
