//! The section `[review]`: whether the changes of unattended loops are reviewed before they end.
//!
//! A review starts clients, so a project's file needs trust to switch it on.

use crate::modes::build::review::ROUNDS;
use serde::{Deserialize, Serialize};

/// The most rounds of review.
const MOST_ROUNDS: u32 = 20;

/// The section `[review]`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReviewSettings {
    /// True to review what `ralph run`, `ralph build` and `ralph parallel run` changed once the criteria
    /// hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Rounds of review after which the loop ends in any case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
}

impl ReviewSettings {
    pub(super) fn over(self, below: ReviewSettings) -> ReviewSettings {
        ReviewSettings {
            enabled: self.enabled.or(below.enabled),
            rounds: self.rounds.or(below.rounds),
        }
    }

    pub(super) fn of_untrusted_project(self) -> ReviewSettings {
        // Switched off, or fewer rounds, costs nothing; more rounds than usual cost the user.
        ReviewSettings {
            enabled: self.enabled.filter(|enabled| !enabled),
            rounds: self.rounds.filter(|rounds| *rounds <= ROUNDS),
        }
    }

    pub fn is_enabled(&self) -> bool {
        self.enabled == Some(true)
    }

    /// Whether a reviewer may judge what an unattended run would be refused for.
    pub fn may_judge(&self) -> bool {
        self.enabled != Some(false)
    }

    pub fn most_rounds(&self) -> u32 {
        self.rounds.unwrap_or(ROUNDS)
    }

    pub(super) fn refused(&self) -> Option<String> {
        let rounds = self.rounds.filter(|rounds| !(1..=MOST_ROUNDS).contains(rounds))?;
        Some(format!("`review.rounds` is a whole number from 1 to {MOST_ROUNDS}, not {rounds}"))
    }
}
