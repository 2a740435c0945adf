//! Determines what a command means beyond its text: the scripts that it runs, the configuration of
//! its runner, and files that shadow what it names.
//!
//! All of this is read from text and nothing is run, so it is never complete; whatever is found is
//! pinned with the command. The comparison covers meaning, not bytes: another script in
//! `package.json`, another dependency or another format changes nothing.

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

pub(crate) use just::JUSTFILES;
pub(crate) use make::MAKEFILES;
pub use runners::Naming;

use crate::shell::vacuous;
use crate::state::{LoopState, PinnedPart};
use crate::text::hex::sha256;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Access to the project's files and to the few files in the home folder that tools read.
pub trait Files {
    /// Reads a file: a path below the project, or one that begins with `~/`.
    fn text(&self, path: &str) -> Option<String>;
    /// Lists a folder below the project.
    fn names(&self, folder: &str) -> Vec<String>;
    /// Parses TOML.
    fn toml(&self, text: &str) -> Option<Value>;
}

/// How a change of a piece is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Weight {
    /// Any change may prove less.
    #[default]
    Frozen,
    /// A new piece proves more; a changed or missing one may prove less.
    Grows,
    /// The piece is only reported; a change does not count.
    Named,
    /// A script named in the command itself, which may be the work: a change proves less only if
    /// the script can no longer fail.
    Direct,
    /// A file that shadows what the command names; a new one is never harmless.
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

/// One piece of a command's meaning.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Piece {
    /// The normalized text; `None` if the piece was looked for and is missing.
    text: Option<String>,
    weight: Weight,
    /// True for shell code.
    is_shell: bool,
}

/// What one command means, as far as text shows it.
#[derive(Debug, Clone, Default)]
pub struct Meaning {
    pieces: BTreeMap<String, Piece>,
    /// A known runner that must report its tests: nothing hides or redirects its output.
    pub reporter: Option<&'static str>,
    /// Folders in which the runners look for test files, with the naming scheme.
    pub tests: BTreeSet<(String, Naming)>,
    runners: BTreeSet<&'static str>,
}

/// Determines what a criterion's command means.
pub fn of(command: &str, files: &dyn Files) -> Meaning {
    resolve::resolve(command, files)
}

/// Maximum number of pieces kept per command: the state is read at every stop.
const MOST_PARTS: usize = 256;

impl Meaning {
    /// The pieces to store with what the user agreed to.
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

    /// True for a script that succeeds whatever the state of the work.
    fn is_trivial(&self) -> bool {
        self.is_shell && self.text.as_deref().is_some_and(|text| vacuous::refuse(text).is_some())
    }
}

/// A difference from what the user agreed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeaningChange {
    /// The piece and its change: "script `test` of package.json changed".
    pub what: String,
    /// True if the command may now prove less.
    pub proves_less: bool,
}

/// Compares the recorded pieces of a command with those of today.
pub fn changes(recorded: &[&PinnedPart], today: &Meaning) -> Vec<MeaningChange> {
    let known: BTreeMap<&str, &PinnedPart> =
        recorded.iter().map(|part| (part.what.as_str(), *part)).collect();
    // A piece that was missing at the start is the work, together with everything that belongs to
    // it.
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
        // At the limit, a missing piece may only have been cut off.
        if is_gone && today.pieces.len() < MOST_PARTS {
            let less = !matches!(part.weight.as_str(), "named" | "direct" | "shadow");
            note(&part.what, "is gone", less);
        }
    }
    found
}

/// Records in the state how the meaning of each command differs today.
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
