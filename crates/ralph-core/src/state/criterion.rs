//! One condition of "done", and the last time that all of them held.

use super::{Accepted, Extra, Observed, Receipt, Regression, is_false, is_zero as is_default};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What stands before the question where `--ac` names a reviewed criterion.
pub const REVIEW_PREFIX: &str = "review:";

/// One condition that must hold for the work to be done.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Criterion {
    /// `AC-1`, `AC-T` …
    pub id: String,
    /// The condition in words.
    pub description: String,
    /// Written by Ralph from a receipt; a value set by hand is ignored.
    pub verified: bool,
    /// The command that proves the criterion; empty for a reviewed criterion.
    pub verification_command: String,
    /// The question that a reviewer answers about the work tree, where no command can prove the
    /// criterion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<String>,
    /// Paths that the command depends on; empty means the whole tree.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// The last run of the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Receipt>,
    /// Number of tests in the first counted run. A later run with fewer tests does not hold until a
    /// person accepts it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests_expected: Option<u64>,
    /// True once a known test runner has reported tests, counted or not; a later run must report
    /// some too.
    #[serde(skip_serializing_if = "is_false")]
    pub tests_reported: bool,
    /// Number of skipped tests in the first counted run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests_skipped: Option<u64>,
    /// Exceptions that a person or a reviewer accepted: `failures` in the summary of a success.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<String>,
    /// True if the criterion held before the work began and so proves nothing about the work.
    #[serde(skip_serializing_if = "is_false")]
    pub held_before: bool,
    /// True if Ralph saw the criterion fail on the tree of the start.
    #[serde(skip_serializing_if = "is_false")]
    pub failed_before: bool,
    /// What Ralph observed on other files about a command that passes.
    #[serde(skip_serializing_if = "is_default")]
    pub observed: Observed,
    /// Id of the tree on which the criterion last held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_on: Option<String>,
    /// Set while the criterion fails after it had held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turned_red: Option<Regression>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Criterion {
    /// What decides whether the criterion holds, as `--ac` takes it: a command, or
    /// `review: QUESTION`.
    pub fn decided_by(&self) -> Cow<'_, str> {
        match &self.review {
            Some(question) => Cow::Owned(format!("{REVIEW_PREFIX} {question}")),
            None => Cow::Borrowed(&self.verification_command),
        }
    }

    /// The same between backticks, if it is a command.
    pub fn decided_by_quoted(&self) -> String {
        match self.review {
            Some(_) => self.decided_by().into_owned(),
            None => format!("`{}`", self.verification_command),
        }
    }

    /// True if a person accepted this exception.
    pub fn accepts(&self, what: Accepted) -> bool {
        self.accepted.iter().any(|word| word == what.as_str())
    }
}

/// A time at which all criteria held.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Green {
    /// The checkpoint's ref; empty if none could be made.
    pub reference: String,
    /// Id of the tree.
    pub tree: String,
    /// When all criteria held.
    pub at: Timestamp,
}
