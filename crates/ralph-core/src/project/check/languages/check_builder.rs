//! Collects the checks that a language wants for a file, and those that cannot run.

use std::path::{Path, PathBuf};

use super::super::parsers::OutputFormat;
use super::super::workspace::{Around, ToolCommand};
use super::super::{Check, CheckKind, CheckMethod, FindingScope, Lacking, Program};
use super::{folder_of, said};

/// The checks of one language for a file, in the order in which its fixers run.
#[derive(Debug, Default)]
pub(super) struct CheckBuilder {
    folder: PathBuf,
    pub(super) said: Vec<Result<Check, Lacking>>,
}

impl CheckBuilder {
    /// An empty builder. Checks run in the file's folder unless [`Draft::at`] changes it.
    pub(super) fn new(around: &dyn Around) -> Self {
        Self { folder: folder_of(around.file()).to_path_buf(), said: Vec::new() }
    }

    /// Adds a check that rewrites the file.
    pub(super) fn fix(
        &mut self,
        name: &str,
        by: impl Into<CheckMethod>,
        form: OutputFormat,
    ) -> Draft<'_> {
        self.add(CheckKind::Fix, name, by.into(), form)
    }

    /// Adds a check that only reads the file.
    pub(super) fn look(
        &mut self,
        name: &str,
        by: impl Into<CheckMethod>,
        form: OutputFormat,
    ) -> Draft<'_> {
        self.add(CheckKind::Look, name, by.into(), form)
    }

    /// Adds a run of the tests that belong to the file.
    pub(super) fn test(
        &mut self,
        name: &str,
        by: impl Into<CheckMethod>,
        form: OutputFormat,
    ) -> Draft<'_> {
        self.add(CheckKind::Test, name, by.into(), form)
    }

    /// Adds a check that the project wants but that cannot run.
    pub(super) fn lacks(&mut self, name: &str, why: impl Into<String>) {
        self.said.push(Err(Lacking { name: name.to_owned(), why: why.into() }));
    }

    /// The tool that this file configures. If it is not installed, that is recorded with `remedy`,
    /// a command or the end of a sentence: "run `npm install`".
    pub(super) fn configured(
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
    pub(super) fn run(
        &mut self,
        kind: CheckKind,
        name: &str,
        by: &Configured,
        arguments: &[&str],
        form: OutputFormat,
    ) -> Draft<'_> {
        let program = by.tool.with(arguments).into();
        self.add(kind, name, program, form).at(&by.folder).because(by.why.as_str())
    }

    fn add(
        &mut self,
        kind: CheckKind,
        name: &str,
        by: CheckMethod,
        form: OutputFormat,
    ) -> Draft<'_> {
        self.said.push(Ok(Check {
            name: name.to_owned(),
            kind,
            by,
            folder: self.folder.clone(),
            scope: FindingScope::File,
            form,
            why: String::new(),
            limit: None,
        }));
        let Some(Ok(check)) = self.said.last_mut() else { unreachable!("it was pushed above") };
        Draft(check)
    }
}

/// An installed tool that the project configures.
#[derive(Debug, Clone)]
pub(super) struct Configured {
    pub(super) tool: ToolCommand,
    /// The folder with its configuration: many tools look for it only in their working directory.
    pub(super) folder: PathBuf,
    /// Why it runs, for a person.
    pub(super) why: String,
}

/// An added check whose details can still be set.
pub(super) struct Draft<'a>(&'a mut Check);

impl Draft<'_> {
    /// Sets the working directory, if it is not the file's folder.
    pub(super) fn at(self, folder: &Path) -> Self {
        self.0.folder = folder.to_path_buf();
        self
    }

    /// Sets the scope, if the findings depend on more than the file.
    pub(super) fn whole(self, path: &Path) -> Self {
        self.0.scope = FindingScope::Whole(path.to_path_buf());
        self
    }

    /// Sets why the check applies: "`packages/app/tsconfig.json` includes it". Every check has a
    /// reason.
    pub(super) fn because(self, why: impl Into<String>) -> Self {
        self.0.why = why.into();
        self
    }
}

impl From<Program> for CheckMethod {
    fn from(program: Program) -> Self {
        Self::Program(program)
    }
}
