//! What a session is told about its project when it begins: one file for each fact.
//!
//! A fact is made from what stands in the project and from nothing else, and what cannot be had is
//! absent. All of it is the repository's own text: [`show`] quotes it and [`page`] fences it, so
//! that it reads as data and not as an instruction.

mod cargo;
pub mod choice;
mod ci;
mod git;
mod go;
mod hide;
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

use super::reader::{EntryKind, Folder, FolderEntry, ProjectReader};
use serde_json::Value;
use std::time::Duration;

/// A project as the facts read it. Its folders lack what git ignores, and `.git` itself.
pub trait Project: ProjectReader {
    /// The document that a file holds; none if it has no text or another form.
    fn document(&self, path: &str, form: FileFormat) -> Option<Value>;

    /// The text of a file of the work tree's own git folder (`HEAD`, `rebase-merge/msgnum`, …), or,
    /// of what its work trees share (`config`, `shallow`, `logs/refs/stash`), of the repository's; none
    /// outside a repository.
    fn git_text(&self, path: &str) -> Option<String>;

    /// The main work tree, where this is a linked one.
    fn main_work_tree(&self) -> Option<String>;

    /// What git prints; none if there is no git or no repository, or it fails or takes too long.
    fn git(&self, arguments: &[&str]) -> Option<Vec<u8>>;
}

/// How a document is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFormat {
    /// JSON; comments and trailing commas are read over.
    Json,
    /// TOML.
    Toml,
    /// YAML, its first document. An alias reads as null.
    Yaml,
}

/// What is known, as it is shown: a heading, and lines below it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fact {
    /// What it is about, with the most important in the same line.
    pub heading: String,
    /// The rest, the most useful first.
    pub lines: Vec<String>,
}

impl Fact {
    /// A fact of one line.
    pub fn line(heading: impl Into<String>) -> Fact {
        Fact { heading: heading.into(), lines: Vec::new() }
    }
}

/// A kind of fact.
#[derive(Debug, Clone, Copy)]
pub struct FactKind {
    /// Its name in the settings.
    pub name: &'static str,
    /// The most UTF-16 units of the page that it may take.
    pub units: usize,
    /// True if it is left out unless the settings ask for it.
    pub on_request: bool,
    /// Makes it.
    pub gather: fn(&dyn Project) -> Option<Fact>,
}

const fn kind(
    name: &'static str,
    units: usize,
    gather: fn(&dyn Project) -> Option<Fact>,
) -> FactKind {
    FactKind { name, units, on_request: false, gather }
}

const fn on_request(kind: FactKind) -> FactKind {
    FactKind { on_request: true, ..kind }
}

/// How long git may take for an answer.
pub const GIT: Duration = Duration::from_secs(2);

/// How long all facts together may take, with every call of git.
pub const BUDGET: Duration = Duration::from_secs(7);

/// All kinds, the most useful first: that is the order on the page, and what comes last is cut
/// first.
pub const KINDS: [FactKind; 13] = [
    kind("git", 700, git::fact),
    on_request(kind("branch", 150, git::branch)),
    on_request(kind("commits", 700, git::commits)),
    on_request(kind("changes", 700, git::changes)),
    kind("node", 1_300, node::fact),
    kind("cargo", 400, cargo::fact),
    kind("python", 300, python::fact),
    kind("go", 200, go::fact),
    kind("tasks", 600, tasks::fact),
    kind("ci", 400, ci::fact),
    kind("typescript", 500, typescript::fact),
    kind("supabase", 500, supabase::fact),
    // It takes the room that is left.
    kind("structure", page::MOST, structure::fact),
];

/// Kinds of earlier versions. Settings may still name them, without effect.
pub const FORMER: [&str; 2] = ["compose", "runtimes"];

/// Their names. A list of its own, so that who only checks a name is not linked with all the facts.
pub const NAMES: [&str; KINDS.len()] = {
    let mut names = [""; KINDS.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = KINDS[at].name;
        at += 1;
    }
    names
};
