//! Derives acceptance criteria from a project's own files: its tests and its type check.
//!
//! Only what a file states counts: a guessed criterion may never pass, and a command that the
//! project does not have proves nothing. The most specific statement wins; a Makefile's `test` is
//! used only if no ecosystem applies.

pub mod bounds;
pub mod check;
pub mod project_facts;
pub mod reader;
pub mod settings;

pub(crate) mod ecosystems;
#[cfg(test)]
mod fixture;

pub use ecosystems::lacks_script;

use crate::state::Criterion;
use ecosystems::ECOSYSTEMS;
use reader::{Folder, ProjectReader};
use std::collections::BTreeSet;

/// The files in the project's root, as the ecosystems query them.
struct RootFiles<'a> {
    reader: &'a dyn ProjectReader,
    names: BTreeSet<String>,
    is_cut: bool,
}

impl RootFiles<'_> {
    fn has(&self, name: &str) -> bool {
        self.names.contains(name) || self.is_cut && self.reader.exists(name.as_ref())
    }

    fn has_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.has(name))
    }

    /// The text of a file; empty if it does not exist.
    fn text(&self, name: &str) -> String {
        self.reader.text(name.as_ref()).unwrap_or_default()
    }

    fn says(&self, name: &str, word: &str) -> bool {
        self.text(name).contains(word)
    }

    fn has_ending(&self, endings: &[&str]) -> bool {
        self.names.iter().any(|name| endings.iter().any(|ending| name.ends_with(ending)))
    }
}

/// The commands that the files of one ecosystem state.
#[derive(Debug, Clone, Default, PartialEq)]
struct EcosystemCommands {
    /// The command that runs all tests.
    tests: Option<String>,
    /// The command that checks types, otherwise the one that lints.
    check: Option<String>,
}

/// The criteria that the project itself states: `AC-T`, `AC-T2` … for tests, `AC-L`, `AC-L2` … for
/// type checks and lints. Empty if the files state none.
pub fn criteria(reader: &dyn ProjectReader) -> Vec<Criterion> {
    let Folder { entries, is_cut } = reader.folder("".as_ref()).unwrap_or_default();
    let names = entries.into_iter().map(|entry| entry.name).collect();
    let files = RootFiles { reader, names, is_cut };
    let found: Vec<EcosystemCommands> = ECOSYSTEMS.iter().map(|one| one.find(&files)).collect();
    let recipe = ecosystems::recipes(&files);
    let tests = or_else(found.iter().filter_map(|one| one.tests.clone()).collect(), recipe.tests);
    let checks = or_else(found.into_iter().filter_map(|one| one.check).collect(), recipe.check);
    let alone = tests.len() == 1;
    let mut criteria = named("AC-T", tests, |command| match alone {
        true => "All tests pass".to_owned(),
        false => format!("All tests pass: {command}"),
    });
    criteria.extend(named("AC-L", checks, |command| format!("{} clean", plainly(command))));
    criteria
}

fn or_else(commands: Vec<String>, otherwise: Option<String>) -> Vec<String> {
    if commands.is_empty() { otherwise.into_iter().collect() } else { commands }
}

fn named(prefix: &str, commands: Vec<String>, describe: impl Fn(&str) -> String) -> Vec<Criterion> {
    let id = |at: usize| if at == 0 { prefix.to_owned() } else { format!("{prefix}{}", at + 1) };
    commands
        .into_iter()
        .enumerate()
        .map(|(at, command)| Criterion {
            id: id(at),
            description: describe(&command),
            verification_command: command,
            ..Criterion::default()
        })
        .collect()
}

/// The command without its launcher: `tsc --noEmit` for `npx tsc --noEmit`.
fn plainly(command: &str) -> &str {
    ["npx --no-install ", "npx ", "pnpm exec ", "bunx ", "vendor/bin/"]
        .iter()
        .find_map(|launcher| command.strip_prefix(launcher))
        .unwrap_or(command)
}

#[cfg(test)]
mod tests;
