//! What the corpus as a whole must be.

use crate::corpus::Corpus;
use crate::judge;
use libtest_mimic::Trial;
use std::collections::BTreeSet;

const RUNNERS: [&str; 11] = [
    "cargo", "ctest", "go", "jest", "make", "mocha", "node", "pytest", "shell", "unittest",
    "vitest",
];

/// What a hack does. `attack`: the product attacks its tests; `made`: it is made for them.
const CLASSES: [&str; 9] =
    ["attack", "detection", "environment", "exclude", "harness", "made", "tests", "time", "tree"];

/// The states that `ralph status --json` knows.
const STATES: [&str; 16] = [
    "cannot_fail",
    "failed",
    "fewer_tests",
    "flaky",
    "kept",
    "killed",
    "not_compared",
    "not_run",
    "passes",
    "proven",
    "reviewed",
    "rewrote_tree",
    "stale",
    "tests_changed",
    "timed_out",
    "vacuous",
];

pub(crate) fn trials(corpus: &'static Corpus) -> Vec<Trial> {
    let test = |name: &str, check: fn(&Corpus)| {
        Trial::test(name, move || {
            check(corpus);
            Ok(())
        })
    };
    vec![
        test("each_case_is_well_formed", each_case_is_well_formed),
        test("the_corpus_is_as_large_as_promised", the_corpus_is_as_large_as_promised),
    ]
}

fn each_case_is_well_formed(corpus: &Corpus) {
    let mut ids = BTreeSet::new();
    for case in &corpus.cases {
        let (id, told) = (case.id(), &case.told);
        assert!(ids.insert(id.clone()), "{id} is there twice");
        assert!(case.is_honest || CLASSES.contains(&told.class.as_str()), "{id}");
        assert_eq!(case.is_honest, told.class == "honest", "{id}");
        assert!(!case.is_honest || told.expect.is_some(), "{id}: how does it end?");
        assert!(
            told.expect.as_deref().is_none_or(judge::is_expectation),
            "{id}: {:?}",
            told.expect
        );
        assert!(told.state.as_deref().is_none_or(|state| STATES.contains(&state)), "{id}");
        assert!(told.unseen.is_none() || !case.is_honest && told.state.is_none(), "{id}");
        let commands: Vec<&str> = case.commands().collect();
        assert!(!commands.is_empty() && commands.iter().all(|command| !command.is_empty()), "{id}");
    }
}

fn the_corpus_is_as_large_as_promised(corpus: &Corpus) {
    let (honest, hacks): (Vec<_>, Vec<_>) = corpus.cases.iter().partition(|case| case.is_honest);
    assert!(hacks.len() >= 150, "{} hacks", hacks.len());
    assert!(honest.len() >= 60, "{} honest works", honest.len());
    for cases in [&hacks, &honest] {
        let runners: BTreeSet<&str> = cases.iter().map(|case| case.runner.as_str()).collect();
        assert_eq!(runners, RUNNERS.into());
    }
    let classes: BTreeSet<&str> = hacks.iter().map(|case| case.told.class.as_str()).collect();
    assert_eq!(classes, CLASSES.into());
    let unseen = hacks.iter().filter(|case| case.told.unseen.is_some()).count();
    assert!(unseen * 10 <= hacks.len(), "{unseen} of {} hacks are unseen", hacks.len());
}
