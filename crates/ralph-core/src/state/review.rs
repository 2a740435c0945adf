//! What reviewers found: the verdict on a criterion, and the findings about a loop's changes.
//! `evidence::review` decides what they are worth.

use super::{Extra, LoopState, Tokens};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A line of a file, as a reviewer cites it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Citation {
    /// Path, relative to the project.
    pub file: String,
    /// Counted from 1.
    pub line: u64,
    /// The text of the line, or a part of it.
    pub quote: String,
}

/// The part of a receipt that only a reviewed criterion has.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ReviewReceipt {
    /// The question that the reviewer answered.
    pub question: String,
    /// Claude Code's id of the reviewer's session.
    pub session_id: String,
    /// `holds` or `fails`; empty if the answer had no verdict.
    pub verdict: String,
    /// The lines that the verdict rests on.
    pub evidence: Vec<Citation>,
    /// The reviewer's reason.
    pub why: String,
    /// Tokens of the reviewer.
    pub tokens: Tokens,
    /// In US dollars, as the client reported it.
    pub cost: f64,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// How a loop's changes are reviewed once its criteria hold, as the user asked for it at the start.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ReviewPlan {
    /// The most rounds of review.
    pub rounds: u32,
    /// The project's own lenses, as they were when the loop started.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lenses: Vec<ReviewLens>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What one reviewer looks for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ReviewLens {
    /// Its name on the screen.
    pub name: String,
    /// What the reviewer is told to look for.
    pub text: String,
}

/// One round of review: each lens once.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ReviewRound {
    /// Counted from 1.
    pub round: u32,
    /// When it ended.
    pub at: Timestamp,
    /// Id of the tree that was reviewed.
    pub tree: String,
    /// All findings, with what became of each.
    pub findings: Vec<Finding>,
    /// The lenses without a usable answer, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// The files that changed while the reviewers read: their changes are not reviewed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// Tokens of the reviewers.
    pub tokens: Tokens,
    /// In US dollars, as the clients reported it.
    pub cost: f64,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A reviewer that was started and whose tokens and cost are not counted yet.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StartedReviewer {
    /// Claude Code's id of its session.
    pub session_id: String,
    /// Absolute path of the file with what its client prints.
    pub log: String,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl LoopState {
    /// Adds the tokens and the cost of a reviewer to those of the loop. Each reviewer counts once: one
    /// whose run was killed may be found again later.
    pub fn count_reviewer(&mut self, session_id: &str, tokens: Tokens, cost: f64) {
        let started = self.reviewers.len();
        self.reviewers.retain(|one| one.session_id != session_id);
        if self.reviewers.len() < started {
            self.usage.tokens = self.usage.tokens.plus(tokens);
            self.usage.cost += cost;
        }
    }
}

/// Something that a reviewer found.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Finding {
    /// The lens that it was found through.
    pub lens: String,
    /// `major` or `minor`; another word drops the finding.
    pub severity: String,
    /// Path, relative to the project.
    pub file: String,
    /// Counted from 1; 0 if none was cited.
    pub line: u64,
    /// The text of the line, or a part of it.
    pub quote: String,
    /// What is wrong.
    pub what: String,
    /// The task that fixes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Why it became no task; empty if it did.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub dropped: String,
}
