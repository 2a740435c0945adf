//! Chooses the checks for a file from its name and its surroundings.
//!
//! A language is a function in this folder and a row in `LANGUAGES`. Several may apply to one file: a
//! workflow is YAML too, and a formatter may cover ten other languages.

mod data_formats;
mod few_tools;
mod javascript;
mod python;
#[cfg(test)]
mod world;

use super::parsers::OutputFormat;
use super::workspace::{Around, ToolCommand};
use super::{Check, CheckKind, CheckMethod, CheckPlan, FindingScope, Lacking, Program};
use crate::text::globs;
use regex_lite::{Regex, escape};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A language: the names of its files, and the function that adds the checks.
type Language = (&'static [&'static str], fn(&dyn Around, &mut CheckBuilder));

/// All languages, in the order in which their fixers run: formatters come last, because the fixers
/// before them do not format.
const LANGUAGES: &[Language] = &[
    (javascript::NAMES, javascript::wanted),
    (&["*.py", "*.pyi"], python::wanted),
    (&["*.ipynb"], python::notebook),
    // A script without an extension is recognised by its first line.
    (&["*"], few_tools::shell),
    (&["*.sql"], few_tools::sql),
    (&["*.rs"], few_tools::rust),
    (&["*.go"], few_tools::go),
    (&["*.rb"], few_tools::ruby),
    (&["*"], few_tools::simple),
    (data_formats::JSON_NAMES, data_formats::json),
    (&["*.toml"], data_formats::toml),
    (&["*.yaml", "*.yml"], data_formats::yaml),
    (&["*"], javascript::formatters),
];

/// Folders whose files belong to others or to a tool.
const FOREIGN: &[&str] = &["node_modules", "site-packages", ".git"];

/// The checks for the edited file.
pub fn plan(around: &dyn Around) -> CheckPlan {
    let folder = folder_of(around.file()).to_path_buf();
    let mut wanted = CheckBuilder { folder, plan: CheckPlan::default() };
    if !is_foreign(around) {
        let name = name_of(around.file());
        for (_, add) in LANGUAGES.iter().filter(|(names, _)| matches_any(names, name)) {
            add(around, &mut wanted);
        }
    }
    wanted.plan.checks.sort_by_key(|check| check.kind);
    wanted.plan
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
    patterns.iter().any(|pattern| globs::ignores(pattern.as_bytes(), name.as_bytes()))
}

/// True if a part of the text matches a pattern of ours; `^` is the start of a line.
fn has(text: &str, pattern: &str) -> bool {
    Regex::new(&format!("(?m){pattern}")).is_ok_and(|pattern| pattern.is_match(text))
}

/// Collects the checks for a file, in the order in which its fixers run.
struct CheckBuilder {
    /// The folder of the edited file.
    folder: PathBuf,
    plan: CheckPlan,
}

impl CheckBuilder {
    /// Adds a check that the project wants but that cannot run.
    fn lacks(&mut self, name: &str, why: impl Into<String>) {
        self.plan.lacking.push(Lacking { name: name.to_owned(), why: why.into() });
    }

    /// The tool that this file configures. If it is not installed, that is recorded with `remedy`,
    /// a command or the end of a sentence: "run `npm install`".
    fn configured(
        &mut self,
        around: &dyn Around,
        name: &str,
        by: &Path,
        remedy: &str,
    ) -> Option<Configured> {
        let why = format!("{} configures it", said(around, by));
        let Some(tool) = around.tool(name) else {
            self.lacks(name, format!("{why}, but it is not installed; {remedy}"));
            return None;
        };
        Some(Configured { tool, folder: folder_of(by).to_path_buf(), why })
    }

    /// Adds a run of a tool in the folder of its configuration.
    fn run(
        &mut self,
        kind: CheckKind,
        name: &str,
        by: &Configured,
        arguments: &[&str],
        form: OutputFormat,
    ) -> &mut Check {
        self.add(kind, name, by.tool.with(arguments), form).at(&by.folder).because(by.why.as_str())
    }

    /// Adds a check in the file's folder.
    fn add(
        &mut self,
        kind: CheckKind,
        name: &str,
        by: impl Into<CheckMethod>,
        form: OutputFormat,
    ) -> &mut Check {
        self.plan.checks.push(Check {
            name: name.to_owned(),
            kind,
            by: by.into(),
            folder: self.folder.clone(),
            scope: FindingScope::File,
            form,
            why: String::new(),
            limit: None,
        });
        self.plan.checks.last_mut().expect("it was pushed above")
    }
}

/// An installed tool that the project configures.
#[derive(Debug, Clone)]
struct Configured {
    tool: ToolCommand,
    /// The folder with its configuration: many tools look for it only in their working directory.
    folder: PathBuf,
    /// Why it runs, for a person.
    why: String,
}

impl Check {
    /// Sets the working directory, if it is not the file's folder.
    fn at(&mut self, folder: &Path) -> &mut Self {
        self.folder = folder.to_path_buf();
        self
    }

    /// Sets the scope, if the findings depend on more than the file.
    fn whole(&mut self, path: &Path) -> &mut Self {
        self.scope = FindingScope::Whole(path.to_path_buf());
        self
    }

    /// Sets why the check applies: "`packages/app/tsconfig.json` includes it". Every check has a
    /// reason.
    fn because(&mut self, why: impl Into<String>) -> &mut Self {
        self.why = why.into();
        self
    }
}

impl From<Program> for CheckMethod {
    fn from(program: Program) -> Self {
        Self::Program(program)
    }
}

// Finds a tool's configuration: in a file of its own, or in a table of a shared file.
//
// In shared files only the table headings are read: they show that the tool is in use, and the
// tool reads the rest.

/// The places in which a tool looks for its configuration.
#[derive(Debug, Clone, Copy)]
struct ConfigFiles {
    /// Files of its own.
    files: &'static [&'static str],
    /// Shared files, each with its table: `("pyproject.toml", "tool.ruff")`.
    tables: &'static [(&'static str, &'static str)],
}

impl ConfigFiles {
    /// Only files of the tool's own.
    const fn files(files: &'static [&'static str]) -> Self {
        Self { files, tables: &[] }
    }
}

/// The tool, if the project configures it or, for the reason given, if it is installed. One that is
/// configured and not installed is recorded as lacking.
fn configured(
    around: &dyn Around,
    places: ConfigFiles,
    name: &str,
    remedy: &str,
    installed: Option<&str>,
    wanted: &mut CheckBuilder,
) -> Option<Configured> {
    if let Some(by) = nearest(around, places) {
        return wanted.configured(around, name, &by, remedy);
    }
    let (why, folder) = (installed?.to_owned(), folder_of(around.file()).to_path_buf());
    Some(Configured { tool: around.tool(name)?, folder, why })
}

/// The nearest configuration of the tool, from the file's folder up to the root.
fn nearest(around: &dyn Around, places: ConfigFiles) -> Option<PathBuf> {
    upward(around).find_map(|folder| in_folder(around, folder, places))
}

fn in_folder(around: &dyn Around, folder: &Path, places: ConfigFiles) -> Option<PathBuf> {
    let own = places.files.iter().map(|name| folder.join(name)).find(|path| around.exists(path));
    own.or_else(|| {
        let shared = places.tables.iter().map(|(name, table)| (folder.join(name), table));
        shared.into_iter().find(|(path, table)| holds(around, path, table)).map(|(path, _)| path)
    })
}

fn holds(around: &dyn Around, path: &Path, table: &str) -> bool {
    around.text(path).is_some_and(|text| has_table(&text, table))
}

/// True if the text has this table or a subtable: `[tool.ruff]`, `[tool.ruff.lint]`, `[mypy-x]`,
/// `[sqlfluff:rules]`.
fn has_table(text: &str, table: &str) -> bool {
    has(text, &format!(r"^\s*\[+{}[\].:-]", escape(table)))
}

#[cfg(test)]
mod tests {
    use super::world::FileFixture;
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        let matches = |pattern, name| matches_any(&[pattern], name);
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

#[cfg(test)]
mod config_files_tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: bool) {
        assert_eq!(has_table(text, "tool.ruff"), expected, "{text}");
    }

    #[test]
    fn a_table_counts_and_those_below_it() {
        check("[tool.ruff]", true);
        check("x = 1\n  [tool.ruff.lint]\n", true);
        check("[[tool.ruff.overrides]]", true);
    }

    #[test]
    fn what_only_resembles_it_does_not_count() {
        check("", false);
        check("[tool.ruffle]", false);
        check("[tool.ruff", false);
        check("tool.ruff.lint = 1", false);
        check("# [tool.ruff]", false);
        check("[project]\n[tool.black]", false);
    }

    #[test]
    fn the_tables_of_ini_files_count_too() {
        assert!(has_table("[mypy-numpy.*]", "mypy"));
        assert!(has_table("[sqlfluff:rules]", "sqlfluff"));
    }
}
