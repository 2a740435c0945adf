//! Measures what a round really changed, regardless of its report.
//!
//! A plan is compared as text, by lines and by sections; beads are compared by the work that they
//! describe. The code that runs the round takes both versions, before and after it.

mod beads;
mod distance;
mod text;

pub use beads::{Piece, beads, digest, of_beads, of_tasks};
pub use distance::distance;
pub use text::plan;

use super::RefineSettings;
use crate::state::Extra;
use crate::text::plural::counted;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The change of an artefact in one round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ArtefactChange {
    Plan(PlanChange),
    Beads(BeadChange),
}

/// How much of a plan changed. One that lacks a member is unknown, not zero.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PlanChange {
    /// Lines added, removed or replaced; the smallest possible number.
    pub lines: u64,
    /// Sections added, removed or replaced; the smallest possible number.
    pub sections: u64,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// How many beads changed. A bead that was both closed and rewritten counts as closed. One that lacks a member is unknown.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BeadChange {
    pub added: u64,
    /// Beads with different content, and beads that were reopened.
    pub changed: u64,
    /// Beads that were open before.
    pub closed: u64,
    pub removed: u64,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ArtefactChange {
    /// The size of the change, in lines of the plan or in beads.
    pub fn amount(&self) -> u64 {
        match self {
            ArtefactChange::Plan(change) => change.lines,
            ArtefactChange::Beads(change) => {
                change.added + change.changed + change.closed + change.removed
            }
        }
    }

    /// True if the change is small enough for a plateau.
    pub fn is_small(&self, settings: &RefineSettings) -> bool {
        match self {
            ArtefactChange::Plan(_) => self.amount() <= settings.lines,
            ArtefactChange::Beads(_) => self.amount() <= settings.beads,
        }
    }
}

impl fmt::Display for ArtefactChange {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = match self {
            _ if self.amount() == 0 => return to.write_str("nothing"),
            ArtefactChange::Plan(PlanChange { lines, sections, .. }) => {
                let lines = counted(*lines as usize, "line", "lines");
                return write!(
                    to,
                    "{lines} in {}",
                    counted(*sections as usize, "section", "sections")
                );
            }
            ArtefactChange::Beads(BeadChange { added, changed, closed, removed, .. }) => {
                [(added, "added"), (changed, "changed"), (closed, "closed"), (removed, "removed")]
            }
        };
        let parts = parts.iter().filter(|(number, _)| **number > 0);
        let parts: Vec<String> = parts.map(|(number, what)| format!("{number} {what}")).collect();
        to.write_str(&parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(value: Value) -> ArtefactChange {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_change_is_said_in_words() {
        for (value, expected) in [
            (json!({"lines": 0, "sections": 0}), "nothing"),
            (json!({"lines": 1, "sections": 1}), "1 line in 1 section"),
            (json!({"lines": 7, "sections": 2}), "7 lines in 2 sections"),
            (json!({"added": 0, "changed": 0, "closed": 0, "removed": 0}), "nothing"),
            (
                json!({"added": 2, "changed": 1, "closed": 0, "removed": 3}),
                "2 added, 1 changed, 3 removed",
            ),
        ] {
            assert_eq!(read(value).to_string(), expected);
        }
    }

    #[test]
    fn small_is_up_to_five_lines_or_one_bead() {
        let settings = RefineSettings::default();
        for (value, small) in [
            (json!({"lines": 5, "sections": 5}), true),
            (json!({"lines": 6, "sections": 1}), false),
            (json!({"added": 0, "changed": 1, "closed": 0, "removed": 0}), true),
            (json!({"added": 1, "changed": 0, "closed": 1, "removed": 0}), false),
            (json!({"added": 0, "changed": 0, "closed": 1, "removed": 1}), false),
        ] {
            assert_eq!(read(value.clone()).is_small(&settings), small, "{value}");
        }
    }

    #[test]
    fn what_it_was_written_as_reads_back_with_what_nobody_knows() {
        for value in [
            json!({"lines": 1, "sections": 2, "words": 9}),
            json!({"added": 1, "changed": 2, "closed": 3, "removed": 4, "labels": ["x"]}),
        ] {
            assert_eq!(serde_json::to_value(read(value.clone())).unwrap(), value);
        }
        for value in [json!({}), json!({"lines": 1}), json!({"added": 1}), json!(3), json!("0")] {
            assert!(serde_json::from_value::<ArtefactChange>(value.clone()).is_err(), "{value}");
        }
    }
}
