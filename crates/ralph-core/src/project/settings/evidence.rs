//! The section `[evidence]`: how Ralph observes what a criterion is worth.
//!
//! Only the user decides what counts as proof, so a project's file needs trust for all of it.

use serde::{Deserialize, Serialize};

/// The section `[evidence]`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EvidenceSettings {
    /// A command that prepares a clean copy of the project, such as `npm ci`. With it, each criterion has to pass once
    /// in a copy without ignored files, with an empty home folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clean: Option<String>,
    /// Commands of criteria that run at a request for completion only once, on the files as they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_observed: Vec<String>,
}

impl EvidenceSettings {
    pub(super) fn over(self, below: EvidenceSettings) -> EvidenceSettings {
        EvidenceSettings {
            clean: self.clean.or(below.clean),
            not_observed: [below.not_observed, self.not_observed].concat(),
        }
    }

    pub(super) fn refused(&self) -> Option<String> {
        let is_empty = self.clean.as_deref().is_some_and(|clean| clean.trim().is_empty());
        is_empty
            .then(|| "`evidence.clean` is a command such as `npm ci`, not an empty text".to_owned())
    }
}
