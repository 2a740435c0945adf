//! The section `[refine]`: the limits of a refinement, and when it counts as settled.
//!
//! It contains only numbers and names no command, so a project may set it without being trusted.

use crate::modes::refine;
use serde::{Deserialize, Serialize};

/// The section `[refine]`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Refine {
    /// Rounds after which it ends in any case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u32>,
    /// Rounds in a row with little change that make a plateau.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plateau_threshold: Option<u32>,
    /// The first round that may be a plateau.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_iterations: Option<u32>,
    /// Changed lines of a plan that count as little.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<u64>,
    /// Changed beads that count as little.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beads: Option<u64>,
}

impl Refine {
    pub(super) fn over(self, below: Refine) -> Refine {
        Refine {
            max_iterations: self.max_iterations.or(below.max_iterations),
            plateau_threshold: self.plateau_threshold.or(below.plateau_threshold),
            min_iterations: self.min_iterations.or(below.min_iterations),
            lines: self.lines.or(below.lines),
            beads: self.beads.or(below.beads),
        }
    }

    /// The limits of a refinement: these settings, and the defaults for the others.
    pub fn bounds(&self) -> refine::RefineSettings {
        let default = refine::RefineSettings::default();
        refine::RefineSettings {
            max_iterations: self.max_iterations.unwrap_or(default.max_iterations),
            plateau_threshold: self.plateau_threshold.unwrap_or(default.plateau_threshold),
            min_iterations: self.min_iterations.unwrap_or(default.min_iterations),
            lines: self.lines.unwrap_or(default.lines),
            beads: self.beads.unwrap_or(default.beads),
            ..default
        }
    }

    pub(super) fn refused(&self) -> Option<String> {
        self.bounds().refused().map(|why| format!("`[refine]`: {why}"))
    }
}
