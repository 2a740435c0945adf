//! The facts about its project that a session gets when it starts: their kinds, and which of them the user wants.
//!
//! A fact comes only from the project's content, and information that is not available is left out.
//! All of it is the repository's own text: [`page`] quotes and fences it, so that it
//! reads as data and not as an instruction.

mod files;
mod git;
pub mod page;
#[cfg(test)]
mod tests;

pub use git::STATUS;

use super::reader::{EntryKind, Folder, FolderEntry, ProjectReader};
use super::settings::out_of_bounds;
use serde::Deserialize;
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
    kind("node", 1_300, files::node),
    kind("cargo", 400, files::cargo),
    kind("python", 300, files::python),
    kind("go", 200, files::go),
    kind("tasks", 600, files::tasks),
    kind("ci", 400, files::ci),
    kind("typescript", 500, files::typescript),
    kind("supabase", 500, files::supabase),
    // It takes the remaining space.
    kind("structure", page::MOST, files::structure),
];

/// Kinds of earlier versions. Settings may still name them, without effect.
pub const FORMER: [&str; 2] = ["compose", "runtimes"];

// Applies `[context]` in `ralph.toml` to the facts: switches them off, asks for more, and limits
// the page.

/// No fact fits into fewer units.
const LEAST: u64 = 500;

/// The section `[context]`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ContextSettings {
    /// False: a session gets no facts.
    pub enabled: Option<bool>,
    /// Facts that are left out, by name.
    pub off: Vec<String>,
    /// Facts that are shown only on request, by name.
    pub also: Vec<String>,
    /// The most UTF-16 units of the page.
    pub size: Option<usize>,
}

impl ContextSettings {
    /// The first invalid value, with what to write instead.
    pub fn refused(&self) -> Option<String> {
        let size = self.size.map(|size| size as u64);
        if let Some(why) = out_of_bounds("context.size", size, LEAST..=page::MOST as u64) {
            return Some(why);
        }
        let names = KINDS.map(|kind| kind.name);
        let unknown =
            |name: &&String| !names.contains(&name.as_str()) && !FORMER.contains(&name.as_str());
        let name = self.off.iter().chain(&self.also).find(unknown)?;
        Some(format!("`[context]` names no fact `{name}`; there are {}", names.join(", ")))
    }

    pub fn is_enabled(&self) -> bool {
        self.enabled.unwrap_or(true)
    }

    /// The most UTF-16 units of the page.
    pub fn size(&self) -> usize {
        self.size.unwrap_or(page::TARGET)
    }

    /// The selected kinds of facts, in the order of the page. A kind that is switched off stays
    /// off.
    pub fn kinds(&self) -> Vec<FactKind> {
        let names = |list: &[String], kind: &FactKind| list.iter().any(|name| name == kind.name);
        let is_wanted = |kind: &FactKind| {
            !names(&self.off, kind) && (!kind.on_request || names(&self.also, kind))
        };
        KINDS.into_iter().filter(is_wanted).collect()
    }
}

#[cfg(test)]
mod choice_tests {
    use super::*;

    fn set(off: &[&str], also: &[&str]) -> ContextSettings {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        ContextSettings { off: owned(off), also: owned(also), ..ContextSettings::default() }
    }

    #[track_caller]
    fn check(choice: &ContextSettings, has: &[&str], lacks: &[&str]) {
        let names: Vec<&str> = choice.kinds().iter().map(|kind| kind.name).collect();
        assert!(has.iter().all(|name| names.contains(name)), "{names:?}");
        assert!(!lacks.iter().any(|name| names.contains(name)), "{names:?}");
    }

    #[test]
    fn a_fact_is_switched_off_or_asked_for_by_its_name() {
        check(
            &ContextSettings::default(),
            &["git", "go", "structure"],
            &["branch", "commits", "changes"],
        );
        check(&set(&["go"], &["commits"]), &["git", "commits"], &["go", "branch"]);
        check(&set(&["commits"], &["commits"]), &["git"], &["commits"]);
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        let refused = |choice: ContextSettings| choice.refused().unwrap_or_default();
        assert_eq!(refused(set(&["go"], &["commits"])), "");
        assert_eq!(refused(set(&FORMER, &[])), "");
        assert!(
            refused(set(&["gone"], &[]))
                .starts_with("`[context]` names no fact `gone`; there are git, ")
        );
        assert!(refused(set(&[], &["x"])).contains("no fact `x`"));
        let size = |size| ContextSettings { size: Some(size), ..ContextSettings::default() };
        assert_eq!(refused(size(500)), "");
        assert_eq!(refused(size(10_000)), "");
        let expected = "`context.size` is a whole number from 500 to 10000, not 499";
        assert_eq!(refused(size(499)), expected);
        assert!(refused(size(10_001)).ends_with("not 10001"));
    }
}
