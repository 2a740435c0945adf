//! Checks after an edit: which tools apply to a file, and what their findings mean.
//!
//! A language (`languages/`) chooses the checks for a file from its surroundings. A parser
//! (`parsers/`) reads a tool's output. `baseline` finds what is new, and `answer` reports it. The
//! caller reads the disk and runs the tools.

pub mod answer;
pub mod baseline;
pub mod choice;
pub mod finding;
pub mod jsonc;
pub mod languages;
pub mod parsers;
pub mod timings;
pub mod workspace;

use std::path::PathBuf;
use std::time::Duration;

/// One run of one tool for one edited file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// The tool's own name: `eslint`, `tsc`. Settings use it to switch a check off.
    pub name: String,
    /// The purpose of the run, which also decides when it happens.
    pub kind: CheckKind,
    pub by: CheckMethod,
    /// The working directory.
    pub folder: PathBuf,
    pub scope: FindingScope,
    /// How its output is parsed.
    pub form: parsers::OutputFormat,
    /// Why it applies to this file, for a person: "`packages/app/tsconfig.json` includes it".
    pub why: String,
    /// A time limit, if it is shorter than the rest of the budget.
    pub limit: Option<Duration>,
}

/// What runs a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckMethod {
    /// A program with its arguments, started without a shell.
    Program(Program),
    /// A program that reads the file on standard input and prints its new content. For formatters
    /// that would otherwise change other files too.
    Filter(Program),
    /// A shell command line from trusted settings.
    Shell(String),
    /// One of Ralph's own parsers.
    Parser(Parser),
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Program {
    /// The program and its arguments.
    pub line: Vec<String>,
    /// Environment variables for it.
    pub variables: Vec<(String, String)>,
}

/// The parsers that need no tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parser {
    /// Standard JSON.
    Json,
    /// JSON with comments and trailing commas, for files whose tool accepts them.
    JsonWithComments,
    Toml,
    Yaml,
}

/// The purpose of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckKind {
    /// Rewrites the edited file, and may report what it could not fix. Fixers run first, one after
    /// the other.
    Fix,
    /// Checks the file and what depends on it.
    Look,
    /// Runs the tests that belong to the file.
    Test,
}

/// What the findings of a check depend on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FindingScope {
    /// The edited file and the tool's configuration.
    File,
    /// Everything that this file or folder stands for: a `tsconfig.json`, a package. One run covers
    /// all edits before it.
    Whole(PathBuf),
}

/// The checks that the languages choose for a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CheckPlan {
    /// The checks that apply, with the fixers in the order in which they run.
    pub checks: Vec<Check>,
    /// The checks that the project wants but that cannot run.
    pub lacking: Vec<Lacking>,
}

/// A check that a project wants but that cannot run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lacking {
    /// The check's name.
    pub name: String,
    /// What is missing, and what to do about it: "`pyproject.toml` configures it, and it is not
    /// installed; run `npm install`".
    pub why: String,
}
