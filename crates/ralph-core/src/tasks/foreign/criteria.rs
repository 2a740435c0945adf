//! Turns the commands and the prose of a plan into criteria.
//!
//! Ralph runs a command. It maps "Tests pass" to the command that the project itself states. Any
//! other condition needs a reader: it becomes a reviewed criterion, which never counts as proven.

use super::commands::{self, PlanCommand};
use super::{PlanNote, problem};
use crate::shell::vacuous;
use crate::state::Criterion;
use crate::tasks::plan::Problem;
use crate::text::truncate::bounded;

/// Maximum length of a criterion's description, in UTF-16 units.
const LONGEST: usize = 300;

/// Collects the criteria of a plan; each command and each condition counts once.
#[derive(Debug)]
pub(super) struct Collector<'a> {
    project: &'a [Criterion],
    pub(super) criteria: Vec<Criterion>,
    pub(super) notes: Vec<PlanNote>,
    pub(super) problems: Vec<Problem>,
}

/// What a condition in prose became.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition {
    /// A command that Ralph runs.
    Command,
    /// Nothing yet: it names no command.
    Prose,
}

impl<'a> Collector<'a> {
    pub(super) fn new(project: &'a [Criterion]) -> Collector<'a> {
        let (criteria, notes, problems) = (Vec::new(), Vec::new(), Vec::new());
        Collector { project, criteria, notes, problems }
    }

    /// The command, unless it proves nothing, which is a problem.
    pub(super) fn proving(&mut self, line: usize, found: PlanCommand) -> Option<PlanCommand> {
        let Some(why) = vacuous::refuse(&found.command) else { return Some(found) };
        let what = format!(
            "`{}` proves nothing: {why}; name a command that fails until the work is done, or remove \
             the line",
            found.command
        );
        self.problems.push(problem(line, what));
        None
    }

    /// Adds a command that the plan names.
    pub(super) fn command(&mut self, line: usize, found: PlanCommand) {
        let Some(PlanCommand { command, about }) = self.proving(line, found) else { return };
        let about = match about.as_str() {
            "" => format!("`{command}` passes"),
            about => bounded(about, LONGEST),
        };
        self.add(about, command);
    }

    /// Adds a condition if it names a command, or one of the project's.
    pub(super) fn condition(&mut self, line: usize, text: &str) -> Condition {
        if let Some(found) = commands::that_passes(text) {
            self.command(line, found);
            return Condition::Command;
        }
        let Some(known) = self.of_project(text) else { return Condition::Prose };
        let (description, command) =
            (known.description.clone(), known.verification_command.clone());
        let what = format!("\"{}\" is the project's own `{command}`", bounded(text, 80));
        self.note(line, what);
        self.add(description, command);
        Condition::Command
    }

    /// Adds a condition that only a reader can judge.
    pub(super) fn reviewed(&mut self, line: usize, text: &str) {
        let text = bounded(text.trim(), LONGEST);
        if self.criteria.iter().any(|one| one.description == text) {
            return;
        }
        self.note(line, format!("\"{}\" names no command, so it is reviewed", bounded(&text, 80)));
        let review = Some(format!("Does this hold? {text}"));
        self.criteria.push(Criterion { description: text, review, ..Criterion::default() });
    }

    pub(super) fn note(&mut self, line: usize, what: String) {
        let note = PlanNote { line, what };
        if !self.notes.iter().any(|one| one.what == note.what) {
            self.notes.push(note);
        }
    }

    fn add(&mut self, description: String, command: String) {
        if self.criteria.iter().any(|one| one.verification_command == command) {
            return;
        }
        self.criteria.push(Criterion {
            description,
            verification_command: command,
            ..Criterion::default()
        });
    }

    /// The project's criterion that a phrase such as "Typecheck passes" means.
    fn of_project(&self, text: &str) -> Option<&'a Criterion> {
        let letters = text.chars().filter(|letter| letter.is_alphanumeric() || *letter == ' ');
        let words = letters.collect::<String>().to_ascii_lowercase();
        let words: Vec<&str> =
            words.split_whitespace().filter(|word| !IDLE.contains(word)).collect();
        let kind = match words.join(" ").as_str() {
            "typecheck"
            | "type check"
            | "types check"
            | "type checking"
            | "typescript compiles"
            | "types"
            | "tsc"
            | "typescript" => ProjectCheck::Types,
            "tests" | "unit tests" | "test suite" | "test" | "full test suite" => {
                ProjectCheck::Tests
            }
            "lint" | "linter" | "linting" | "lints" => ProjectCheck::Lint,
            _ => return None,
        };
        self.project.iter().find(|one| kind.is(one))
    }
}

/// Words that say only that it must succeed.
const IDLE: [&str; 17] = [
    "all",
    "existing",
    "the",
    "pass",
    "passes",
    "passing",
    "must",
    "should",
    "succeeds",
    "clean",
    "is",
    "are",
    "still",
    "ok",
    "without",
    "errors",
    "successfully",
];

/// What a command of the project checks.
#[derive(Clone, Copy)]
enum ProjectCheck {
    Tests,
    Types,
    Lint,
}

impl ProjectCheck {
    fn is(self, criterion: &Criterion) -> bool {
        let command = criterion.verification_command.as_str();
        let has = |parts: &[&str]| parts.iter().any(|part| command.contains(part));
        let is_test = criterion.id.starts_with("AC-T");
        match self {
            ProjectCheck::Tests => is_test,
            ProjectCheck::Types => {
                let compilers = ["tsc", "typecheck", "type-check", "check-types", "check:types"];
                let others = ["mypy", "pyright", "cargo check", "clippy", "go vet", "deno check"];
                !is_test && (has(&compilers) || has(&others) || has(&["build", "compile"]))
            }
            ProjectCheck::Lint => {
                !is_test && has(&["lint", "clippy", "go vet", "ruff", "rubocop", "credo", "biome"])
            }
        }
    }
}
