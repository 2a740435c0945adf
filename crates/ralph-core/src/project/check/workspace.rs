//! The surroundings of an edited file, as the languages query them.

use crate::project::reader::ProjectReader;
use std::path::{Path, PathBuf};

/// An edited file and its surroundings. Nothing above the project's root is read. The root is the
/// top of the file's work tree, otherwise the outermost folder with a manifest.
pub trait Around: ProjectReader {
    /// The edited file, absolute.
    fn file(&self) -> &Path;

    /// The nearest file with one of these names, from the file's folder up to the root. In one
    /// folder, the first name in the list wins.
    fn nearest(&self, names: &[&str]) -> Option<PathBuf> {
        let folders = self.file().ancestors().skip(1);
        let mut below_root = folders.take_while(|folder| folder.starts_with(self.root()));
        below_root.find_map(|folder| {
            names.iter().map(|name| folder.join(name)).find(|path| self.exists(path))
        })
    }

    /// The names in a folder; empty if the folder does not exist.
    fn names(&self, folder: &Path) -> Vec<String> {
        let entries = self.folder(folder).unwrap_or_default().entries;
        entries.into_iter().map(|entry| entry.name).collect()
    }

    /// The command for a tool: the project's own installation (`node_modules/.bin`, `.venv/bin`,
    /// `vendor/bin`, `uv run`, mise), otherwise the one on `PATH`.
    fn tool(&self, name: &str) -> Option<ToolCommand>;

    /// Only the project's own installation. The one on `PATH` may be another version, or another
    /// tool with the same name.
    fn own_tool(&self, name: &str) -> Option<ToolCommand>;

    /// A path in Ralph's own storage for data that a tool keeps between runs. Equal keys give equal
    /// paths.
    fn kept(&self, key: &str) -> PathBuf;
}

/// How a tool is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCommand {
    /// The program and the arguments before the tool's own: `["…/bin/eslint"]`, or
    /// `["uv", "run", "--no-sync", "ruff"]`.
    pub line: Vec<String>,
    /// Where it was found, for a person: "`node_modules/.bin`", "`PATH`".
    pub found: String,
}

impl ToolCommand {
    pub fn with(&self, arguments: &[&str]) -> super::Program {
        let line = self.line.iter().cloned().chain(arguments.iter().map(|one| (*one).to_owned()));
        super::Program { line: line.collect(), variables: Vec::new() }
    }
}
