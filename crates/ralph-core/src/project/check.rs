//! What is looked at after an edit: which tools apply to a file, and what their findings mean.
//!
//! A language (`languages/`) says which checks a file gets, from what stands around it. A form
//! (`forms/`) reads what a tool printed. `news` tells what is new, and `answer` says it. Which files
//! there are and what a tool printed is found out by others.

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
    /// The tool's own name: `eslint`, `tsc`. Settings switch a check off by it.
    pub name: String,
    /// What the run is for, which is also when it happens.
    pub kind: CheckKind,
    /// What does the work.
    pub by: By,
    /// Where it runs.
    pub folder: PathBuf,
    /// What its findings depend on.
    pub scope: FindingScope,
    /// How its output is read.
    pub form: parsers::OutputFormat,
    /// Why it applies to this file, for a person: "`packages/app/tsconfig.json` includes it".
    pub why: String,
    /// The most it may take, where less than what is left of the budget.
    pub limit: Option<Duration>,
}

/// What does the work of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum By {
    /// A program with its arguments; no shell sees them.
    Program(Program),
    /// A program that reads the file on standard input and prints what the file should hold. For
    /// formatters that would otherwise touch more than the one file.
    Filter(Program),
    /// A line for a shell, which a person wrote into settings that count.
    Shell(String),
    /// A parser of our own.
    Parser(Parser),
}

/// A program and how it is called.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Program {
    /// The program and its arguments.
    pub line: Vec<String>,
    /// Variables that are set for it.
    pub variables: Vec<(String, String)>,
}

/// The parsers that need no tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parser {
    /// JSON as its standard has it.
    Json,
    /// JSON with comments and trailing commas, where the tool that owns the file takes them.
    JsonWithComments,
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

/// What a check is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckKind {
    /// Rewrites the edited file, and may say what it could not put right. Fixers run first and one
    /// after the other.
    Fix,
    /// Looks at it, and at what depends on it.
    Look,
    /// Runs the tests that belong to it.
    Test,
}

/// What the findings of a check depend on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FindingScope {
    /// The edited file and the tool's configuration.
    File,
    /// Everything that this file or folder stands for: a `tsconfig.json`, a package. One run answers
    /// for every edit before it.
    Whole(PathBuf),
}

/// What the languages say of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CheckPlan {
    /// The checks that apply, fixers in the order in which they run.
    pub checks: Vec<Check>,
    /// The checks that the project wants and that cannot be run.
    pub lacking: Vec<Lacking>,
}

/// A check that a project wants and that cannot be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lacking {
    /// The check's name.
    pub name: String,
    /// What is missing, and what to do about it: "`pyproject.toml` configures it, and it is not
    /// installed; run `npm install`".
    pub why: String,
}
