//! Plays every case once against our executables as they are now, and a part of them against the pattern's
//! text, and keeps the table in `docs/reference/conformance.md` in step with both.
//!
//! `RALPH_UPDATE=1` rewrites the table. The lists of the others are made by one command each, since they
//! take minutes for all cases: `cargo run -p ralph-conformance -- --list
//! tests/conformance/implementations/pattern.expected tests/conformance/implementations/pattern.json`.
//! What others wrote is not here: where a variable names it, a part is played against it as well.

// Shared with test binaries that use more of it.

mod descriptions;

use ralph_conformance::{
    Case, Form, Implementation, Outcome, cases, chosen, failures, listed, outcomes_of, proof,
    repository, run, table,
};
use ralph_test_support::sample::sample;
use ralph_test_support::{executables, scratch_folder};
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

/// The outcomes, with the projects of the cases in the folder for the tests' own.
fn played(implementation: &Implementation, cases: &[Case], form: Form) -> Vec<Outcome> {
    // The process has one; the first test sets it.
    drop(tempfile::env::override_temp_dir(&scratch_folder()));
    run(implementation, cases, form)
}

/// Each with the variable that says where it is, if it is not here.
const OTHERS: [(&str, Option<&str>); 3] =
    [("pattern", None), ("ralph-loop", Some("RALPH_LOOP")), ("oh-my-claudecode", Some("OMC"))];

fn list_of(name: &str) -> String {
    fs::read_to_string(here(&format!("implementations/{name}.expected")))
        .expect("the list is there")
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
    let outcomes = played(&ours, &cases, Form::Once);
    say(&proof("conformance", &outcomes));
    let failed =
        |outcome: &Outcome| matches!(outcome, Outcome::Fails(_) | Outcome::NoLongerPending);
    assert!(!outcomes.iter().any(failed), "\n{}", failures(&cases, &outcomes));
    check_table(&cases, &outcomes);
}

fn check_table(cases: &[Case], ours: &[Outcome]) {
    let others = OTHERS.map(|(name, _)| {
        let outcomes = outcomes_of(&list_of(name), cases).expect("every line names a case");
        (name, outcomes)
    });
    let mut columns = vec![("ralph", ours)];
    columns.extend(others.iter().map(|(name, outcomes)| (*name, &outcomes[..])));
    let fresh = table(cases, &columns);
    let page = repository().join("docs/reference/conformance.md");
    let text = fs::read_to_string(&page).expect("the page is there");
    let (before, rest) = text.split_once("<!-- table -->\n").expect("the page marks its table");
    let (stored, after) = rest.split_once("<!-- end of table -->").expect("and where it ends");
    if std::env::var_os("RALPH_UPDATE").is_some() {
        let text = format!("{before}<!-- table -->\n{fresh}<!-- end of table -->{after}");
        fs::write(&page, text).expect("the page can be written");
    } else {
        assert!(
            stored == fresh,
            "docs/reference/conformance.md is out of date; RALPH_UPDATE=1 rewrites it"
        );
    }
}

#[test]
fn the_others_fail_where_their_lists_say() {
    for (name, variable) in OTHERS {
        let missing = variable.filter(|variable| std::env::var_os(variable).is_none());
        if let Some(variable) = missing {
            say(&format!("skipped: `{variable}` does not say where {name} is"));
        } else if ["bash", "jq", "git"].iter().all(|program| on_path(program)) {
            fails_where_its_list_says(name);
        } else {
            say(&format!("skipped: {name} needs bash, jq and git"));
        }
    }
}

fn fails_where_its_list_says(name: &str) {
    let all = all_cases();
    let list = list_of(name);
    let expected = outcomes_of(&list, &all).expect("every line names a case");
    // Each stop of it starts `jq` a dozen times: a part of the cases is what a test may cost.
    let cases = sample(chosen(all.clone(), Form::Short), 9);
    let name_of = |case: &Case| {
        all.iter().position(|other| other.name == case.name).expect("it is one of them")
    };
    let expected: Vec<_> = cases.iter().map(|case| expected[name_of(case)].clone()).collect();
    let other = implementation(name);
    let outcomes = played(&other, &cases, Form::Short);
    say(&proof(&format!("conformance, {}, short form", other.name), &outcomes));
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
