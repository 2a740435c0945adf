//! Which checks a file gets, by what it is and what stands around it.
//!
//! A language is a file here and a row in `LANGUAGES`. Several may speak of one file: a workflow is
//! YAML too, and what formats it may format ten other languages.

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

/// A language: the names of its files, and what it wants of one of them.
type Language = (&'static [&'static str], fn(&dyn Around) -> CheckBuilder);

/// All languages, in the order in which their fixers run: what puts text in order comes last, since
/// the fixers before it do not.
///
/// A name has at most one `*`, which stands for anything.
const LANGUAGES: &[Language] = &[
    (javascript::NAMES, javascript::wanted),
    (&["*.py", "*.pyi"], python::wanted),
    (&["*.ipynb"], python::notebook),
    // A script without an ending is known by its first line.
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

/// Folders whose files are somebody else's, or a tool's own.
const FOREIGN: &[&str] = &["node_modules", "site-packages", ".git"];

/// The checks for the file that is around here.
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

/// The last part of a path; empty where it is not text, which no tool's configuration names.
fn name_of(path: &Path) -> &str {
    path.file_name().and_then(OsStr::to_str).unwrap_or_default()
}

/// A path as an argument and for a person. Paths that are not text do not reach a hook: its input is.
fn text_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The folders from the file's up to the root.
fn upward(around: &dyn Around) -> impl Iterator<Item = &Path> {
    around.file().ancestors().skip(1).take_while(|folder| folder.starts_with(around.root()))
}

/// The folder that holds this.
fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

/// A path as it is said to a person: from the project's root.
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
