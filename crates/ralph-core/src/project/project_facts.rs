//! The facts about its project that a session gets when it starts: one file per fact.
//!
//! A fact comes only from the project's content, and information that is not available is left out.
//! All of it is the repository's own text: [`show`] quotes it and [`page`] fences it, so that it
//! reads as data and not as an instruction.

mod cargo;
pub mod choice;
mod ci;
mod git;
mod go;
mod node;
pub mod page;
mod python;
mod shape;
pub mod show;
mod structure;
mod supabase;
mod tasks;
#[cfg(test)]
mod tests;
mod typescript;
mod useful;
pub mod yaml;

pub use git::STATUS;

use super::reader::{EntryKind, Folder, FolderEntry, ProjectReader};
use serde_json::Value;
use std::time::Duration;

/// A project as the facts read it. Its folders omit what git ignores, and `.git` itself.
pub trait Project: ProjectReader {
    /// The document in a file; `None` if the file has no text or another format.
    fn document(&self, path: &str, form: FileFormat) -> Option<Value>;

    /// The text of a file in the work tree's own git folder (`HEAD`, `rebase-merge/msgnum`, …), or
    /// in the repository's for files that work trees share (`config`, `shallow`,
    /// `logs/refs/stash`); `None` outside a repository.
    fn git_text(&self, path: &str) -> Option<String>;

    /// The main work tree, if this is a linked one.
    fn main_work_tree(&self) -> Option<String>;

    /// The output of git; `None` if there is no git or no repository, or if it fails or times out.
    fn git(&self, arguments: &[&str]) -> Option<Vec<u8>>;
}

/// The format of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFormat {
    /// JSON; comments and trailing commas are allowed.
    Json,
    Toml,
    /// YAML, its first document. An alias is read as null.
    Yaml,
}

/// A fact as it is shown: a heading, and lines below it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fact {
    /// The subject, with the most important information on the same line.
    pub heading: String,
    /// The rest, most useful first.
    pub lines: Vec<String>,
}

impl Fact {
    /// A fact of one line.
    pub fn line(heading: impl Into<String>) -> Fact {
        Fact { heading: heading.into(), lines: Vec::new() }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct FactKind {
    /// Its name in the settings.
    pub name: &'static str,
    /// How many UTF-16 units of the page it may take.
    pub units: usize,
    /// True if it is left out unless the settings ask for it.
    pub on_request: bool,
    /// True if it needs [`STATUS`], which takes longer than all other facts together.
    pub wants_status: bool,
    pub gather: fn(&dyn Project) -> Option<Fact>,
}

const fn kind(
    name: &'static str,
    units: usize,
    gather: fn(&dyn Project) -> Option<Fact>,
) -> FactKind {
    FactKind { name, units, on_request: false, wants_status: false, gather }
}

const fn on_request(kind: FactKind) -> FactKind {
    FactKind { on_request: true, ..kind }
}

const fn wants_status(kind: FactKind) -> FactKind {
    FactKind { wants_status: true, ..kind }
}

/// Time limit for one call of git.
pub const GIT: Duration = Duration::from_secs(2);

/// Time limit for all facts together, including every call of git.
pub const BUDGET: Duration = Duration::from_secs(7);

/// All kinds, most useful first: this is the order on the page, and the last ones are cut first.
pub const KINDS: [FactKind; 13] = [
    wants_status(kind("git", 700, git::fact)),
    on_request(kind("branch", 150, git::branch)),
    on_request(kind("commits", 700, git::commits)),
    on_request(wants_status(kind("changes", 700, git::changes))),
    kind("node", 1_300, node::fact),
    kind("cargo", 400, cargo::fact),
    kind("python", 300, python::fact),
    kind("go", 200, go::fact),
    kind("tasks", 600, tasks::fact),
    kind("ci", 400, ci::fact),
    kind("typescript", 500, typescript::fact),
    kind("supabase", 500, supabase::fact),
    // It takes the remaining space.
    kind("structure", page::MOST, structure::fact),
];

/// Kinds of earlier versions. Settings may still name them, without effect.
pub const FORMER: [&str; 2] = ["compose", "runtimes"];

/// Names of the kinds. They are a separate list, so that a program that only checks a name is not
/// linked with all facts.
pub const NAMES: [&str; KINDS.len()] = {
    let mut names = [""; KINDS.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = KINDS[at].name;
        at += 1;
    }
    names
};
