//! A project for tests: files in a map, and the output of git. Its root is `/w`.

use super::check::jsonc;
use super::project_facts::{Fact, FileFormat, Project};
use super::reader::{EntryKind, Folder, FolderEntry, ProjectReader};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

pub(crate) const ROOT: &str = "/w";

#[derive(Default)]
pub(crate) struct ProjectFixture {
    files: BTreeMap<String, String>,
    documents: BTreeMap<String, Value>,
    git_files: BTreeMap<String, String>,
    printed: BTreeMap<String, Vec<u8>>,
    main_work_tree: Option<String>,
}

impl ProjectFixture {
    pub(crate) fn new() -> ProjectFixture {
        ProjectFixture::default()
    }

    /// Adds a file with this text; JSON documents are parsed from it.
    pub(crate) fn file(mut self, path: &str, text: &str) -> ProjectFixture {
        self.files.insert(path.to_owned(), text.to_owned());
        self
    }

    /// Adds a file with a TOML document.
    pub(crate) fn document(mut self, path: &str, document: Value) -> ProjectFixture {
        self.documents.insert(path.to_owned(), document);
        self.file(path, "(a document)")
    }

    /// Adds a file in the git folder.
    pub(crate) fn git_file(mut self, path: &str, text: &str) -> ProjectFixture {
        self.git_files.insert(path.to_owned(), text.to_owned());
        self
    }

    /// Sets the output of git for these arguments, separated by single spaces.
    pub(crate) fn git_prints(mut self, arguments: &str, printed: &[u8]) -> ProjectFixture {
        self.printed.insert(arguments.to_owned(), printed.to_owned());
        self
    }

    pub(crate) fn linked_to(mut self, main_work_tree: &str) -> ProjectFixture {
        self.main_work_tree = Some(main_work_tree.to_owned());
        self
    }

    /// Compares the heading and, indented below it, the lines.
    #[track_caller]
    pub(crate) fn tells(&self, fact: fn(&dyn Project) -> Option<Fact>, expected: &str) {
        let Some(fact) = fact(self) else { panic!("it tells nothing") };
        let lines = fact.lines.iter().map(|line| format!("\n  {line}"));
        assert_eq!(fact.heading + &lines.collect::<String>(), expected);
    }

    #[track_caller]
    pub(crate) fn tells_nothing(&self, fact: fn(&dyn Project) -> Option<Fact>) {
        assert_eq!(fact(self), None);
    }
}

impl ProjectReader for ProjectFixture {
    fn root(&self) -> &Path {
        Path::new(ROOT)
    }

    fn text(&self, path: &Path) -> Option<String> {
        self.files.get(relative(path)).cloned()
    }

    fn folder(&self, path: &Path) -> Option<Folder> {
        let path = relative(path);
        let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
        let mut entries = BTreeMap::new();
        for rest in self.files.keys().filter_map(|file| file.strip_prefix(&prefix)) {
            match rest.split_once('/') {
                Some((folder, _)) => entries.insert(folder.to_owned(), EntryKind::Folder),
                None => entries.insert(rest.to_owned(), EntryKind::File),
            };
        }
        let entries: Vec<FolderEntry> =
            entries.into_iter().map(|(name, kind)| FolderEntry { name, kind }).collect();
        (!entries.is_empty()).then_some(Folder { entries, is_cut: false })
    }

    fn exists(&self, path: &Path) -> bool {
        self.files.keys().any(|one| Path::new(one).starts_with(relative(path)))
    }
}

/// A path relative to the root, as the map uses it.
fn relative(path: &Path) -> &str {
    path.strip_prefix(ROOT).unwrap_or(path).to_str().unwrap_or_default()
}

impl Project for ProjectFixture {
    fn document(&self, path: &str, form: FileFormat) -> Option<Value> {
        match form {
            FileFormat::Json => jsonc::read(&self.text(path.as_ref())?),
            FileFormat::Toml => self.documents.get(path).cloned(),
        }
    }

    fn git_text(&self, path: &str) -> Option<String> {
        self.git_files.get(path).cloned()
    }

    fn main_work_tree(&self) -> Option<String> {
        self.main_work_tree.clone()
    }

    fn git(&self, arguments: &[&str]) -> Option<Vec<u8>> {
        self.printed.get(&arguments.join(" ")).cloned()
    }
}
