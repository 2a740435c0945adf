//! What stands around an edited file, as the languages ask for it.

use crate::project::reader::ProjectReader;
use std::path::{Path, PathBuf};

/// An edited file and its surroundings. Nothing above the project's root is ever looked at: the top of
/// the file's work tree, or else the outermost folder with a manifest.
pub trait Around: ProjectReader {
    /// The edited file, absolute.
    fn file(&self) -> &Path;

    /// The nearest of these names, from the file's folder up to the root. In one folder, the first
    /// in the list wins.
    fn nearest(&self, names: &[&str]) -> Option<PathBuf> {
        let folders = self.file().ancestors().skip(1);
        let mut below_root = folders.take_while(|folder| folder.starts_with(self.root()));
        below_root.find_map(|folder| {
            names.iter().map(|name| folder.join(name)).find(|path| self.exists(path))
        })
    }

    /// The names in a folder; none where there is no such folder.
    fn names(&self, folder: &Path) -> Vec<String> {
        let entries = self.folder(folder).unwrap_or_default().entries;
        entries.into_iter().map(|entry| entry.name).collect()
    }

    /// How a tool is called: the project's own installation (`node_modules/.bin`, `.venv/bin`,
    /// `vendor/bin`, `uv run`, mise), else the one on `PATH`.
    fn tool(&self, name: &str) -> Option<ToolCommand>;

    /// The project's own installation only. What is on `PATH` may be another version or, as with a
    /// name that several tools share, another tool.
    fn own_tool(&self, name: &str) -> Option<ToolCommand>;

    /// A file of ours outside the project, for what a tool keeps from one run to the next. Equal for
    /// equal keys.
    fn kept(&self, key: &str) -> PathBuf;
}

/// How a tool is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCommand {
    /// The program and the arguments that come before the tool's own: `["…/bin/eslint"]`, or
    /// `["uv", "run", "--no-sync", "ruff"]`.
    pub line: Vec<String>,
    /// Where it was found, for a person: "`node_modules/.bin`", "`PATH`".
    pub found: String,
}

impl ToolCommand {
    /// The tool with these arguments.
    pub fn with(&self, arguments: &[&str]) -> super::Program {
        let line = self.line.iter().cloned().chain(arguments.iter().map(|one| (*one).to_owned()));
        super::Program { line: line.collect(), variables: Vec::new() }
    }
}
