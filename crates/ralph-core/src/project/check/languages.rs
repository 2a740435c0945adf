//! Chooses the checks for a file from its name and its surroundings.
//!
//! A language is a file in this folder and a row in `LANGUAGES`. Several may apply to one file: a
//! workflow is YAML too, and a formatter may cover ten other languages.

mod check_builder;
mod config_files;
mod formatters;
mod go;
mod javascript;
mod json;
mod package;
mod python;
mod ruby;
mod rust;
mod shell;
mod simple;
mod sql;
#[cfg(test)]
mod world;
mod yaml;

use std::ffi::OsStr;
use std::path::Path;

use super::CheckPlan;
use super::workspace::Around;
use check_builder::CheckBuilder;

/// A language: the names of its files, and the function that chooses the checks.
type Language = (&'static [&'static str], fn(&dyn Around) -> CheckBuilder);

/// All languages, in the order in which their fixers run: formatters come last, because the fixers
/// before them do not format.
///
/// A name has at most one `*`, which matches anything.
const LANGUAGES: &[Language] = &[
    (javascript::NAMES, javascript::wanted),
    (&["*.py", "*.pyi"], python::wanted),
    (&["*.ipynb"], python::notebook),
    // A script without an extension is recognised by its first line.
    (&["*"], shell::wanted),
    (&["*.sql"], sql::wanted),
    (&["*.rs"], rust::wanted),
    (&["*.go"], go::wanted),
    (&["*.rb"], ruby::wanted),
    (&["*"], simple::wanted),
    (json::NAMES, json::wanted),
    (&["*.toml"], json::toml),
    (&["*.yaml", "*.yml"], yaml::wanted),
    (&["*"], formatters::wanted),
];

/// Folders whose files belong to others or to a tool.
const FOREIGN: &[&str] = &["node_modules", "site-packages", ".git"];

/// The checks for the edited file.
pub fn plan(around: &dyn Around) -> CheckPlan {
    let mut plan = CheckPlan::default();
    if is_foreign(around) {
        return plan;
    }
    let name = name_of(around.file());
    for (_, wanted) in LANGUAGES.iter().filter(|(names, _)| matches_any(names, name)) {
        for one in wanted(around).said {
            match one {
                Ok(check) => plan.checks.push(check),
                Err(lacking) => plan.lacking.push(lacking),
            }
        }
    }
    plan.checks.sort_by_key(|check| check.kind);
    plan
}

fn is_foreign(around: &dyn Around) -> bool {
    let below_root = around.file().strip_prefix(around.root()).unwrap_or(around.file());
    below_root.iter().any(|part| FOREIGN.iter().any(|name| part == OsStr::new(name)))
}

/// The last part of a path; empty if it is not UTF-8, which no tool's configuration names.
fn name_of(path: &Path) -> &str {
    path.file_name().and_then(OsStr::to_str).unwrap_or_default()
}

/// A path as an argument and for a person. A path that is not UTF-8 cannot reach a hook, because
/// its input is UTF-8.
fn text_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The folders from the file's up to the root.
fn upward(around: &dyn Around) -> impl Iterator<Item = &Path> {
    around.file().ancestors().skip(1).take_while(|folder| folder.starts_with(around.root()))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

/// A path for a person, relative to the project's root.
fn said(around: &dyn Around, path: &Path) -> String {
    format!("`{}`", path.strip_prefix(around.root()).unwrap_or(path).display())
}

fn matches_any(patterns: &[&str], name: &str) -> bool {
    patterns.iter().any(|pattern| matches(pattern, name))
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, end)) => name.strip_prefix(start).is_some_and(|rest| rest.ends_with(end)),
    }
}

#[cfg(test)]
mod tests {
    use super::world::FileFixture;
    use super::*;

    #[test]
    fn a_name_has_at_most_one_star() {
        for (names, _) in LANGUAGES {
            assert!(names.iter().all(|name| name.matches('*').count() < 2), "{names:?}");
        }
    }

    #[test]
    fn a_star_stands_for_anything() {
        assert!(matches("*.rs", "a.rs"));
        assert!(matches("Dockerfile.*", "Dockerfile.dev"));
        assert!(matches("*", "anything"));
        assert!(!matches("*.rs", "a.rst"));
        assert!(!matches("Dockerfile.*", "Dockerfile"));
        assert!(!matches("a*a", "a"), "what the two sides match is not the same letter");
    }

    #[test]
    fn what_others_wrote_is_not_looked_at() {
        for file in ["node_modules/a/package.json", ".venv/lib/site-packages/a.json", ".git/a.json"]
        {
            FileFixture::edits(file).plans("");
        }
        FileFixture::edits("git/a.json").plans("look json");
    }
}
