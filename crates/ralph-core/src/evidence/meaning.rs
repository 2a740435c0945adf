//! What a command means beyond its text: the scripts that it runs, the configuration of its runner,
//! and files that stand in the way of what it names.
//!
//! All of it is read from text and nothing is run, so it is never complete; what is found is frozen
//! with the command. Compared is the meaning and not the bytes: another script in `package.json`,
//! another dependency, or another format changes nothing.

mod cargo;
mod config;
mod just;
mod make;
mod node;
mod peel;
mod python;
mod resolve;
mod runners;
mod tasks;
mod text;

pub use runners::Naming;

use crate::shell::vacuous;
use crate::state::LoopState;
use crate::text::from_json::from_json;
use crate::text::hex::sha256;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The files of a project, and the few of a person that tools read.
pub trait Files {
    /// The text of a file: a path below the project, or one that begins with `~/`.
    fn text(&self, path: &str) -> Option<String>;
    /// The names in a folder below the project.
    fn names(&self, folder: &str) -> Vec<String>;
    /// What a text of TOML holds.
    fn toml(&self, text: &str) -> Option<Value>;
}

/// How much a change of a piece says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Weight {
    /// Any change may prove less.
    #[default]
    Frozen,
    /// A new one proves more; a changed one, or one that is gone, may prove less.
    Grows,
    /// It is named, and decides nothing.
    Named,
    /// A script that the command names itself, and that may be the work: only one that cannot fail
    /// proves less.
    Direct,
    /// It takes the place of what the command names, so one that is new is never harmless.
    Shadow,
}

impl Weight {
    fn as_str(self) -> &'static str {
        match self {
            Weight::Frozen => "",
            Weight::Grows => "grows",
            Weight::Named => "named",
            Weight::Direct => "direct",
            Weight::Shadow => "shadow",
        }
    }
}

/// One piece of what a command means.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Piece {
    /// Without what has no meaning; none where it is looked for and not there.
    text: Option<String>,
    weight: Weight,
    /// True for a line of shell.
    is_shell: bool,
}

/// What one command means, as far as texts tell.
#[derive(Debug, Clone, Default)]
pub struct Meaning {
    pieces: BTreeMap<String, Piece>,
    /// A known runner that must report its tests, where nothing hides or diverts its output.
    pub reporter: Option<&'static str>,
    /// The folders in which the runners look for test files, and how those are called.
    pub tests: BTreeSet<(String, Naming)>,
    runners: BTreeSet<&'static str>,
}

/// What a criterion's command means.
pub fn of(command: &str, files: &dyn Files) -> Meaning {
    resolve::resolve(command, files)
}

/// One piece as it was when a person agreed to it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub struct PinnedPart {
    /// The criterion's id.
    pub criterion: String,
    /// What it is, in words.
    pub what: String,
    /// Digest of its meaning; empty if it was not there.
    pub sha256: String,
    /// How much a change says; empty for what is frozen.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub weight: String,
}

from_json!(PinnedPart { criterion, what, sha256, weight });

/// More pieces of one command are not kept: the state is read at every stop.
const MOST_PARTS: usize = 256;

impl Meaning {
    /// The pieces, to be kept with what a person agreed to.
    pub fn parts(&self, criterion: &str) -> Vec<PinnedPart> {
        let part = |(what, piece): (&String, &Piece)| PinnedPart {
            criterion: criterion.to_owned(),
            what: what.clone(),
            sha256: piece.digest(),
            weight: piece.weight.as_str().to_owned(),
        };
        self.pieces.iter().take(MOST_PARTS).map(part).collect()
    }

    fn add(&mut self, what: String, weight: Weight, text: Option<String>) {
        let is_shell = false;
        self.pieces.entry(what).or_insert(Piece { text, weight, is_shell });
    }

    fn add_shell(&mut self, what: String, weight: Weight, text: Option<String>) {
        let is_shell = true;
        self.pieces.entry(what).or_insert(Piece { text, weight, is_shell });
    }
}

impl Piece {
    fn digest(&self) -> String {
        let Some(text) = &self.text else { return String::new() };
        sha256(text)[..32].to_owned()
    }

    /// True for a script that succeeds whatever the work looks like.
    fn is_trivial(&self) -> bool {
        self.is_shell && self.text.as_deref().is_some_and(|text| vacuous::refuse(text).is_some())
    }
}

/// A difference from what a person agreed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeaningChange {
    /// What it is and what became of it: "script `test` of package.json changed".
    pub what: String,
    /// True if the command may prove less by it.
    pub proves_less: bool,
}

/// What differs between the pieces that were recorded of a command and those of today.
pub fn changes(recorded: &[&PinnedPart], today: &Meaning) -> Vec<MeaningChange> {
    let known: BTreeMap<&str, &PinnedPart> =
        recorded.iter().map(|part| (part.what.as_str(), *part)).collect();
    // What was not there at the start is the work, with all that belongs to it.
    let unfinished = recorded.iter().any(|part| part.sha256.is_empty());
    let mut found = Vec::new();
    let mut note = |what: &str, became: &str, proves_less: bool| {
        found.push(MeaningChange { what: format!("{what} {became}"), proves_less });
    };
    for (what, piece) in &today.pieces {
        let digest = piece.digest();
        match known.get(what.as_str()) {
            Some(before) if before.sha256 == digest => {}
            Some(before) if before.sha256.is_empty() => {
                note(what, "is new", piece.is_trivial());
            }
            Some(before) => {
                let became = if piece.text.is_some() { "changed" } else { "is gone" };
                let less = match before.weight.as_str() {
                    "named" => piece.weight == Weight::Frozen,
                    "direct" => piece.is_trivial(),
                    _ => true,
                };
                note(what, became, less);
            }
            None if piece.text.is_none() || piece.weight == Weight::Grows => {}
            None => {
                let less = match piece.weight {
                    Weight::Shadow => true,
                    Weight::Named | Weight::Direct => false,
                    _ => !unfinished || piece.is_trivial(),
                };
                note(what, "is new", less);
            }
        }
    }
    for part in recorded {
        let is_gone = !part.sha256.is_empty() && !today.pieces.contains_key(&part.what);
        // Where there is no room for more, nothing can be said of the rest.
        if is_gone && today.pieces.len() < MOST_PARTS {
            let less = !matches!(part.weight.as_str(), "named" | "direct" | "shadow");
            note(&part.what, "is gone", less);
        }
    }
    found
}

/// Notes in the state what differs today of what its commands mean.
pub fn note(state: &mut LoopState, mut today: impl FnMut(&str) -> Meaning) {
    let Some(recorded) = state.frozen.as_ref().and_then(|frozen| frozen.meaning.clone()) else {
        return;
    };
    let mut noted = Vec::new();
    for criterion in &mut state.acceptance_criteria {
        let of_it: Vec<&PinnedPart> =
            recorded.iter().filter(|part| part.criterion == criterion.id).collect();
        let found = changes(&of_it, &today(&criterion.verification_command));
        criterion.meaning_changed.clear();
        for change in found {
            if change.proves_less {
                criterion.meaning_changed.push(change.what);
            } else if !noted.contains(&change.what) {
                noted.push(change.what);
            }
        }
        criterion.meaning_changed.truncate(MOST_NOTED);
    }
    noted.truncate(MOST_NOTED);
    state.meaning_noted = noted;
}

const MOST_NOTED: usize = 20;

#[cfg(test)]
mod tests;
