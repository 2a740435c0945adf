//! Recipes that a project wrote for itself, in a justfile or a Makefile.

use super::{Found, ProjectFiles};

const TESTS: [&str; 2] = ["test", "tests"];
const CHECKS: [&str; 4] = ["typecheck", "type-check", "lint", "check"];

pub(super) fn find(files: &ProjectFiles) -> Found {
    let text = |names: &[&str]| {
        names
            .iter()
            .map(|name| files.text(name))
            .find(|text| !text.is_empty())
            .unwrap_or_default()
            .to_owned()
    };
    let just = recipes(&text(&["justfile", "Justfile", ".justfile"]), just_recipe);
    // The order in which make itself looks for its file.
    let make = recipes(&text(&["GNUmakefile", "makefile", "Makefile"]), make_targets);
    let first =
        |wanted: &[&str]| named(&just, wanted, "just").or_else(|| named(&make, wanted, "make"));
    Found { tests: first(&TESTS), check: first(&CHECKS) }
}

fn named(recipes: &[String], wanted: &[&str], runner: &str) -> Option<String> {
    let name = wanted.iter().find(|name| recipes.iter().any(|recipe| recipe == *name))?;
    Some(format!("{runner} {name}"))
}

fn recipes(text: &str, read: fn(&str, &str) -> Vec<String>) -> Vec<String> {
    text.lines()
        .filter(|line| !line.starts_with([' ', '\t', '#']))
        .filter_map(|line| line.split_once(':'))
        // `name := value` is a variable, in both kinds of file.
        .filter(|(_, after)| !after.trim_start_matches(':').starts_with('='))
        .flat_map(|(head, after)| read(head, after))
        .collect()
}

/// `.PHONY: test` names `.PHONY`, which is none of ours.
fn make_targets(head: &str, after: &str) -> Vec<String> {
    // `test: export X = 1` sets a variable for a target, and makes no target.
    let assigns = after.split_once('#').map_or(after, |(code, _)| code).contains('=');
    if assigns || head.contains('=') {
        return Vec::new();
    }
    head.split_whitespace().map(str::to_owned).collect()
}

/// A recipe that must be given an argument cannot be run by its name alone.
fn just_recipe(head: &str, _: &str) -> Vec<String> {
    let mut words = head.split_whitespace();
    let Some(name) = words.next() else { return Vec::new() };
    let runs_alone = words.all(|parameter| parameter.contains('=') || parameter.starts_with('*'));
    if runs_alone { vec![name.trim_start_matches('@').to_owned()] } else { Vec::new() }
}
