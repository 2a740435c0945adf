//! A consensus planning, as the state keeps it.
//!
//! The project's own document, `.omc/ralplan-state.json`, is a picture of this for people and other
//! tools. Nothing is ever decided from the picture: who can write into the project could otherwise
//! write an approval.

use super::{DecidedBy, DecisionKind, Extra, PlanPhase};
use crate::text::from_json::from_json;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Rejections after which a plan goes to the person as it is.
pub const MAX_REJECTIONS: u32 = 5;

/// A planner, an architect and a critic at work on one plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub struct Ralplan {
    /// Where it stands.
    pub phase: PlanPhase,
    /// How often a critic has rejected the plan since the person was last asked.
    pub iteration: u32,
    /// Rejections after which the person is asked all the same.
    pub max_iterations: u32,
    /// The plan's file, from the top of the project; empty until a planner names it.
    pub plan_path: String,
    /// What is to be planned, in the person's words.
    pub task: String,
    /// When it began.
    pub started_at: Timestamp,
    /// Digest of the text that a planner reported and that passed the quality gates.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ready_hash: String,
    /// Digest of the text that a critic judges or has judged; empty when there is none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub plan_hash: String,
    /// The client's ids of all agents that reported as planners.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub planners: Vec<String>,
    /// The client's ids of all agents that reported as critics.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub critics: Vec<String>,
    /// Agents whose report went back to them once; the next one is taken for what it is worth.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sent_back: Vec<String>,
    /// True once the gap finder has reported.
    #[serde(skip_serializing_if = "super::is_false")]
    pub consulted_gap_finder: bool,
    /// What the gap finder said, for the planner.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub gaps: String,
    /// Quality gates that the last reported plan failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed_gates: Vec<String>,
    /// Questions that the architect has yet to answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<String>,
    /// Answers of the architect that no plan has taken up yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<String>,
    /// What the planner has to mend: a critic's issues, or the person's words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub feedback: String,
    /// The last verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<PlanVerdict>,
    /// True where the person is asked though no critic has approved.
    #[serde(skip_serializing_if = "super::is_false")]
    pub forced: bool,
    /// What was left open then.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub concerns: Vec<String>,
    /// What the person decided last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<PlanDecision>,
    /// How things stood when the session was last told at a stop what comes next; one value.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub told_at: String,
    /// At how many stops in a row they stood like that, after the first.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub still: u32,
    /// What happened, for people; the last lines of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
    /// Lines of the log that the person has not been shown yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub untold: Vec<String>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

from_json!(Ralplan {
    phase, iteration, max_iterations, plan_path, task, started_at, ready_hash, plan_hash, planners,
    critics, sent_back, consulted_gap_finder, gaps, failed_gates, questions, answers, feedback,
    verdict, forced, concerns, decision, told_at, still, log, untold; extra
});

impl Default for Ralplan {
    fn default() -> Self {
        Ralplan {
            phase: PlanPhase::PlannerPlanning,
            iteration: 0,
            max_iterations: MAX_REJECTIONS,
            plan_path: String::new(),
            task: String::new(),
            started_at: Timestamp::UNIX_EPOCH,
            ready_hash: String::new(),
            plan_hash: String::new(),
            planners: Vec::new(),
            critics: Vec::new(),
            sent_back: Vec::new(),
            consulted_gap_finder: false,
            gaps: String::new(),
            failed_gates: Vec::new(),
            questions: Vec::new(),
            answers: Vec::new(),
            feedback: String::new(),
            verdict: None,
            forced: false,
            concerns: Vec::new(),
            decision: None,
            told_at: String::new(),
            still: 0,
            log: Vec::new(),
            untold: Vec::new(),
            extra: Extra::new(),
        }
    }
}

impl Ralplan {
    /// The loop of this planning is over. Without a person's consent it was cancelled, whatever ended it.
    pub(super) fn end(&mut self) {
        if !self.phase.is_over() {
            self.phase = PlanPhase::Cancelled;
            self.log.push("[RALPLAN] Cancelled".to_owned());
        }
    }
}

/// What a critic said of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub struct PlanVerdict {
    /// The client's id of the critic.
    pub agent: String,
    /// Digest of the text that it judged.
    pub plan_hash: String,
    /// True for an approval.
    pub okay: bool,
    /// What has to be mended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<String>,
}

from_json!(PlanVerdict { agent, plan_hash, okay, issues });

/// What a person decided about a plan.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub struct PlanDecision {
    /// Which way.
    pub kind: DecisionKind,
    /// In the person's words; empty where there were none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Digest of the plan as it was when the person decided.
    pub plan_hash: String,
    /// By which way it was said.
    pub by: DecidedBy,
    /// When.
    pub at: Timestamp,
}

from_json!(PlanDecision { kind, text, plan_hash, by, at });
