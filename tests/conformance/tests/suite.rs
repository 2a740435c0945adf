//! Plays every case once against our executables as they are now, and a part of them against the pattern's
//! text, and keeps the table in `docs/conformance.md` in step with both.
//!
//! `RALPH_UPDATE=1` rewrites the table. The pattern's list is made by one command, since bash and jq
//! take minutes for all cases: `cargo run -p ralph-conformance -- --list
//! tests/conformance/implementations/pattern.expected tests/conformance/implementations/pattern.json`

// Shared with test binaries that use more of it.
#[allow(dead_code, unreachable_pub)]
#[path = "../../support/executables.rs"]
mod executables;

use ralph_conformance::{
    Case, Form, Implementation, Outcome, cases, chosen, failures, listed, outcomes_of, proof,
    repository, run, table,
};
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::PathBuf;

fn here(path: &str) -> PathBuf {
    repository().join("tests/conformance").join(path)
}

fn all_cases() -> Vec<Case> {
    cases(&here("cases")).expect("every case can be read")
}

fn implementation(name: &str) -> Implementation {
    Implementation::read(&here(&format!("implementations/{name}.json")))
        .expect("the description can be read")
}

fn pattern_list() -> String {
    fs::read_to_string(here("implementations/pattern.expected")).expect("the list is there")
}

/// The test harness keeps what `println!` prints to itself.
fn say(line: &str) {
    // A standard output that nobody reads is no failure of a case.
    let _unread = writeln!(std::io::stdout(), "{line}");
}

#[test]
fn every_case_holds_for_our_executables_and_the_table_says_so() {
    let cases = all_cases();
    let mut ours = implementation("ralph");
    ours.path = vec![executables::executables().display().to_string()];
    let outcomes = run(&ours, &cases, Form::Once);
    say(&proof("conformance", &outcomes));
    let failed =
        |outcome: &Outcome| matches!(outcome, Outcome::Fails(_) | Outcome::NoLongerPending);
    assert!(!outcomes.iter().any(failed), "\n{}", failures(&cases, &outcomes));
    check_table(&cases, &outcomes);
}

fn check_table(cases: &[Case], ours: &[Outcome]) {
    let list = pattern_list();
    let pattern = outcomes_of(&list, cases).expect("every line names a case");
    let fresh = table(cases, &[("ralph", ours), ("pattern", &pattern)]);
    let page = repository().join("docs/conformance.md");
    let text = fs::read_to_string(&page).expect("the page is there");
    let (before, rest) = text.split_once("<!-- table -->\n").expect("the page marks its table");
    let (stored, after) = rest.split_once("<!-- end of table -->").expect("and where it ends");
    if std::env::var_os("RALPH_UPDATE").is_some() {
        let text = format!("{before}<!-- table -->\n{fresh}<!-- end of table -->{after}");
        fs::write(&page, text).expect("the page can be written");
    } else {
        assert!(stored == fresh, "docs/conformance.md is out of date; RALPH_UPDATE=1 rewrites it");
    }
}

#[test]
fn the_patterns_text_fails_where_the_list_says() {
    if !["bash", "jq", "git"].iter().all(|program| on_path(program)) {
        return say("skipped: the pattern's text needs bash, jq and git");
    }
    let all = all_cases();
    let list = pattern_list();
    let expected = outcomes_of(&list, &all).expect("every line names a case");
    // Each stop of it starts `jq` a dozen times: a third of the cases is what a test may cost.
    let cases: Vec<Case> = chosen(all.clone(), Form::Short).into_iter().step_by(3).collect();
    let name_of = |case: &Case| all.iter().position(|other| other.name == case.name).unwrap();
    let expected: Vec<_> = cases.iter().map(|case| expected[name_of(case)].clone()).collect();
    let pattern = implementation("pattern");
    let outcomes = run(&pattern, &cases, Form::Short);
    say(&proof(&format!("conformance, {}, short form", pattern.name), &outcomes));
    assert_eq!(listed(&cases, &outcomes), listed(&cases, &expected));
}

fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

#[test]
fn there_are_many_cases_and_each_has_a_name_of_its_own() {
    let cases = all_cases();
    let names: BTreeSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(names.len(), cases.len());
    assert!(cases.len() >= 90, "{}", cases.len());
}
