//! Recipes in a project's justfile or Makefile.

use super::{EcosystemCommands, RootFiles};

/// The names of a justfile, the one that just takes first.
pub(crate) const JUSTFILES: [&str; 3] = ["justfile", "Justfile", ".justfile"];
/// The names of a Makefile, the one that GNU make takes first.
pub(crate) const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

const TESTS: [&str; 2] = ["test", "tests"];
const CHECKS: [&str; 4] = ["typecheck", "type-check", "lint", "check"];

/// A task that can be run by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Recipe<'a> {
    pub(crate) name: &'a str,
    /// The names of its required arguments.
    pub(crate) arguments: String,
    /// Its description in the file.
    pub(crate) help: Option<&'a str>,
}

pub(super) fn find(files: &RootFiles<'_>) -> EcosystemCommands {
    let text = |names: &[&str]| {
        names.iter().map(|name| files.text(name)).find(|text| !text.is_empty()).unwrap_or_default()
    };
    let (just, make) = (text(&JUSTFILES), text(&MAKEFILES));
    let (just, make) = (of_just(&just), of_make(&make));
    let first =
        |wanted: &[&str]| named(&just, wanted, "just").or_else(|| named(&make, wanted, "make"));
    EcosystemCommands { tests: first(&TESTS), check: first(&CHECKS) }
}

/// A recipe with a required argument cannot be run by its name alone.
fn named(recipes: &[Recipe<'_>], wanted: &[&str], runner: &str) -> Option<String> {
    let name = wanted.iter().find(|name| {
        recipes.iter().any(|recipe| recipe.name == **name && recipe.arguments.is_empty())
    })?;
    Some(format!("{runner} {name}"))
}

/// The recipes of a justfile.
pub(crate) fn of_just(text: &str) -> Vec<Recipe<'_>> {
    let mut recipes = Vec::new();
    let (mut comment, mut is_private) = (None, false);
    for line in whole_lines(text) {
        if let Some(says) = line.strip_prefix('#') {
            comment = Some(says);
        } else if line.starts_with('[') {
            is_private |= line.contains("private");
        } else {
            let recipe = head_and_rest(line).and_then(|(head, _)| just_recipe(head, comment));
            recipes.extend(recipe.filter(|recipe| !is_private && !recipe.name.starts_with('_')));
            (comment, is_private) = (None, false);
        }
    }
    recipes
}

/// The targets of a Makefile, without pattern rules.
pub(crate) fn of_make(text: &str) -> Vec<Recipe<'_>> {
    let mut recipes = Vec::new();
    let (mut comment, mut is_definition) = (None, false);
    for line in whole_lines(text) {
        is_definition |= line.starts_with("define ");
        if is_definition {
            is_definition = !line.starts_with("endef");
        } else if line.starts_with('#') {
            comment = line.strip_prefix("##");
        } else {
            let targets = head_and_rest(line).map(|(head, rest)| make_targets(head, rest, comment));
            recipes.extend(targets.into_iter().flatten());
            // `.PHONY: test` may be between a comment and its target.
            comment = comment.filter(|_| line.starts_with('.'));
        }
    }
    recipes
}

/// Lines without indentation that do not continue the previous line.
fn whole_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut goes_on = false;
    text.lines().filter(move |line| {
        let begins = !goes_on && !line.starts_with([' ', '\t']);
        goes_on = line.ends_with('\\');
        begins
    })
}

fn head_and_rest(line: &str) -> Option<(&str, &str)> {
    // `name := value` is a variable, in both kinds of file.
    line.split_once(':').filter(|(_, rest)| !rest.trim_start_matches(':').starts_with('='))
}

/// Leaves out names such as the `.PHONY` in `.PHONY: test`.
fn make_targets<'a>(head: &'a str, rest: &'a str, comment: Option<&'a str>) -> Vec<Recipe<'a>> {
    let (code, beside) = rest.split_once('#').unwrap_or((rest, ""));
    // `test: export X = 1` sets a variable for a target and defines no target.
    if code.contains('=') || head.contains('=') {
        return Vec::new();
    }
    let is_made = |name: &&str| !name.starts_with('.') && !name.contains(['%', '$']);
    let help = beside.strip_prefix('#').or(comment).map(str::trim);
    let names = head.split_whitespace().filter(is_made);
    names.map(|name| Recipe { name, help, ..Recipe::default() }).collect()
}

fn just_recipe<'a>(head: &'a str, comment: Option<&'a str>) -> Option<Recipe<'a>> {
    let mut words = head.split_whitespace();
    let name = words.next()?.trim_start_matches('@');
    let is_needed = |parameter: &&str| !parameter.contains('=') && !parameter.starts_with('*');
    let arguments: Vec<&str> = words.filter(is_needed).collect();
    Some(Recipe { name, arguments: arguments.join(" "), help: comment.map(str::trim) })
}
