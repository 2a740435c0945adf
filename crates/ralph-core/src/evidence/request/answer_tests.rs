//! The whole answers to a request for completion.

use super::*;
use crate::state::{CriterionRunner, Observation, Observed, Outcome, Receipt};

fn texts(all: &[&str]) -> Vec<String> {
    all.iter().map(|text| (*text).to_owned()).collect()
}

fn run(outcome: Outcome) -> Option<Observation> {
    Some(Observation { outcome, ..Observation::default() })
}

/// A criterion that passed on tree `t`.
fn criterion(id: &str, observed: Observed) -> Criterion {
    let receipt = Receipt {
        passed: true,
        tree_before: "t".to_owned(),
        tree_after: "t".to_owned(),
        by: CriterionRunner::Hook,
        ..Receipt::default()
    };
    let observed = Observed { tree: "t".to_owned(), ..observed };
    Criterion { id: id.to_owned(), receipt: Some(receipt), observed, ..Criterion::default() }
}

fn kept() -> Observed {
    Observed { without: run(Outcome::Passed), ..Observed::default() }
}

fn changed(name: &str) -> Observed {
    let failing = texts(&[name]);
    let original = Observation { outcome: Outcome::Failed, failing, ..Observation::default() };
    Observed { original: Some(original), without: run(Outcome::Failed), ..Observed::default() }
}

fn unnoticed(noticed: &[&str], without: Outcome) -> Observed {
    let (noticed, unnoticed) = (texts(noticed), texts(&["`5` at a:1"]));
    let broken = Observation { noticed, unnoticed, ..Observation::default() };
    Observed { broken: Some(broken), without: run(without), ..Observed::default() }
}

fn requested(all: Vec<Observed>, code: usize) -> (LoopState, Proof) {
    let numbered = all.into_iter().enumerate();
    let all: Vec<Criterion> =
        numbered.map(|(at, seen)| criterion(&format!("AC-{}", at + 1), seen)).collect();
    let trees = all.iter().map(|one| (one.id.clone(), "t".to_owned())).collect();
    let change = Some(Change { code, ..Change::default() });
    let state = LoopState { acceptance_criteria: all, ..LoopState::default() };
    (state, Proof { trees, change, ..Proof::default() })
}

fn refused(about: &[&str], why: &str) -> Refused {
    Refused { about: texts(about), why: why.to_owned() }
}

const CHANGED: &str = "passes only with changed tests: `a` fails in its original form; make the original tests pass, \
                       or say why the task needs the change (`ralph diff --tests` shows it)";

#[test]
fn tests_that_changed_are_refused_together_and_then_the_user_is_asked() {
    let (mut state, proof) = requested(vec![changed("a"), changed("a"), kept()], 1);
    let both = refused(
        &["tests_changed AC-1: a", "tests_changed AC-2: a"],
        &format!("AC-1 {CHANGED}; AC-2 {CHANGED}"),
    );
    assert_eq!(answer(&state, &proof, false), Answer::Refused(both.clone()));
    // One of the two is not yet known.
    state.refusals = texts(&["tests_changed AC-1: a"]);
    assert_eq!(answer(&state, &proof, false), Answer::Refused(both.clone()));
    assert_eq!(crate::stop::granted(&mut state, &proof, false), Answer::Refused(both.clone()));
    assert_eq!(state.refusals, both.about, "each is noted once");
    assert_eq!(answer(&state, &proof, false), Answer::AskUser(both));
}

#[test]
fn what_is_refused_once_is_refused_with_what_the_observations_show() {
    let why = "AC-1 passes although `5` at a:1 was changed to a wrong value; make the test fail for it, or say why \
               it means nothing";
    let (mut state, proof) = requested(vec![unnoticed(&["`4`"], Outcome::Passed)], 1);
    let both = refused(&["unnoticed AC-1: `5` at a:1", "kept AC-1"], &format!("{KEPT}; {why}"));
    assert_eq!(answer(&state, &proof, false), Answer::Refused(both));
    state.refusals = texts(&["kept AC-1"]);
    let one = refused(&["unnoticed AC-1: `5` at a:1"], why);
    assert_eq!(answer(&state, &proof, false), Answer::Refused(one.clone()));
    let (state, proof) = requested(vec![unnoticed(&["`4`"], Outcome::Failed)], 1);
    assert_eq!(answer(&state, &proof, false), Answer::Refused(one));
    assert_eq!(answer(&state, &proof, true), Answer::Complete("1 proven".to_owned()));
}

#[test]
fn a_change_that_no_test_sees_is_refused_once_and_ends_without_proof() {
    let (mut state, mut proof) = requested(vec![kept(), kept()], 1);
    assert_eq!(answer(&state, &proof, false), Answer::Refused(refused(&["kept AC-1, AC-2"], KEPT)));
    let unverified = |files: &str| Answer::Unverified {
        detail: format!("nothing broke, and no test sees the change ({files} changed)"),
        about: "kept AC-1, AC-2".to_owned(),
    };
    assert_eq!(answer(&state, &proof, true), unverified("1 file"));
    let judged =
        |about: &str, holds| Judgement { about: about.to_owned(), holds, ..Judgement::default() };
    state.judgements = vec![judged("kept AC-1", true), judged("kept AC-1, AC-2", false)];
    assert_eq!(answer(&state, &proof, true), unverified("1 file"));
    state.judgements.push(judged("kept AC-1, AC-2", true));
    let reviewed = "no test sees the change (1 file changed), reviewed".to_owned();
    assert_eq!(answer(&state, &proof, false), Answer::Complete(reviewed));
    state.judgements.clear();
    proof.change = None;
    assert_eq!(answer(&state, &proof, true), unverified("0 files"));
}

#[test]
fn what_was_not_compared_says_why() {
    let unread = Observation {
        read_nothing: true,
        why: "it ran elsewhere".to_owned(),
        ..Observation::default()
    };
    let not_compared = |why: &str| Observed { not_compared: why.to_owned(), ..Observed::default() };
    for seen in [
        Observed { without: Some(unread.clone()), ..Observed::default() },
        Observed { original: Some(unread), ..not_compared("it ran elsewhere") },
    ] {
        let (state, proof) = requested(vec![Observed::default(), seen], 1);
        let why = "the criteria pass, but it ran elsewhere";
        assert_eq!(answer(&state, &proof, false), Answer::Refused(refused(&["read_nothing"], why)));
        let passes = "passes; not compared: it ran elsewhere".to_owned();
        assert_eq!(answer(&state, &proof, true), Answer::Complete(passes));
    }
    let lost = Observed { was_comparable: true, ..not_compared("the start is gone") };
    let (state, proof) = requested(vec![not_compared("no git"), lost], 1);
    let why =
        "the criteria pass, but could not be compared with the start any more: the start is gone";
    assert_eq!(answer(&state, &proof, false), Answer::Refused(refused(&["not_compared"], why)));
    let unverified = Answer::Unverified {
        detail: "passes; could not be compared any more: the start is gone".to_owned(),
        about: "not_compared".to_owned(),
    };
    assert_eq!(answer(&state, &proof, true), unverified);
    let (state, proof) = requested(vec![Observed::default(), not_compared("no git")], 1);
    let never = Answer::Complete("passes; not compared: no git".to_owned());
    assert_eq!(answer(&state, &proof, false), never);
    let (state, proof) = requested(vec![Observed::default(), Observed::default()], 1);
    let passes = Answer::Complete("2 pass; not compared".to_owned());
    assert_eq!(answer(&state, &proof, false), passes);
}

#[test]
fn a_request_that_not_everything_holds_for_is_not_met() {
    let (mut state, proof) = requested(vec![], 1);
    assert_eq!(answer(&state, &proof, true), Answer::NotMet);
    state = requested(vec![kept()], 1).0;
    pinned::freeze(&mut state, jiff::Timestamp::UNIX_EPOCH);
    state.acceptance_criteria[0].id = "AC-2".to_owned();
    let trees = [("AC-2".to_owned(), "t".to_owned())].into();
    let proof = Proof { trees, ..proof };
    assert_eq!(answer(&state, &proof, true), Answer::NotMet);
    state.frozen = None;
    state.acceptance_criteria[0].receipt.as_mut().unwrap().by = CriterionRunner::Command;
    assert_eq!(answer(&state, &proof, true), Answer::NotMet);
}

#[test]
fn a_reviewer_is_asked_about_the_whole_or_about_the_tests() {
    let kept = refused(&["a", "kept AC-1"], "x");
    assert_eq!(
        question(&kept, "-a"),
        "All criteria pass with the change, and they pass without it, too, so no test sees it. Does the change do all \
         that the goal asks, so that nothing is left to do?"
    );
    assert_eq!(
        question(
            &refused(&["tests_changed AC-1: a"], "AC-1 passes only with changed tests"),
            "-a\n+b"
        ),
        "This was found: AC-1 passes only with changed tests. Does the goal itself require these tests to change as \
         they did, because it asks for another behaviour or interface than they describe? A test that was weakened, \
         skipped or deleted so that the work passes fails this question. The diff of the tests since the start:\n-a\n+b"
    );
    let long = question(&refused(&["a"], "x"), &"é".repeat(DIFF + 1));
    assert!(long.ends_with(&format!("start:\n{}…", "é".repeat(DIFF - 1))));
}

#[test]
fn only_a_verdict_that_holds_accepts_what_was_refused() {
    for holds in [true, false] {
        let mut state = requested(vec![changed("a"), unnoticed(&[], Outcome::Failed), kept()], 1).0;
        let about = ["tests_changed AC-1: a", "cannot_fail AC-2: `5` at a:1", "kept AC-3"];
        judge(&mut state, &refused(&about, "x"), holds, &"w".repeat(401));
        let why = bounded(&"w".repeat(401), 400);
        let judged =
            about.map(|about| Judgement { about: about.to_owned(), holds, why: why.clone() });
        assert_eq!(state.judgements, judged);
        let accepted: Vec<&[String]> =
            state.acceptance_criteria.iter().map(|one| one.accepted.as_slice()).collect();
        let expected = [texts(&about[..1]), texts(&about[1..2]), Vec::new()];
        let expected = if holds { expected } else { [const { Vec::new() }; 3] };
        assert_eq!(accepted, expected);
    }
}

#[test]
fn what_changed_beside_the_code_is_counted_by_its_kinds() {
    let none = Change::default;
    for (change, expected) in [
        (none(), None),
        (Change { code: 3, ..none() }, None),
        (Change { tests: 3, added: 3, ..none() }, Some("only tests were added (3)")),
        (Change { tests: 3, added: 2, ..none() }, Some("only tests were changed (3)")),
        (Change { tests: 3, added: 4, ..none() }, Some("only tests were added (3)")),
        (Change { configuration: 2, ..none() }, Some("only configuration was changed (2)")),
        (Change { documents: 1, ..none() }, Some("only documents were changed (1)")),
        (Change { dependencies: 1, ..none() }, Some("only dependencies were changed (1)")),
        (
            Change { submodules: texts(&["a", "b"]), ..none() },
            Some("only submodules were changed (2)"),
        ),
        (
            Change { tests: 1, configuration: 2, documents: 3, ..none() },
            Some("only tests, configuration and documents were changed (6)"),
        ),
    ] {
        assert_eq!(what_changed(&change).as_deref(), expected);
    }
}
