//! The state of consensus planning.
//!
//! The project's own document, `.omc/ralplan-state.json`, is a copy for people and other tools. No
//! decision is based on the copy: anyone who can write to the project could forge an approval
//! there.

use super::{DecidedBy, DecisionKind, Extra, PlanPhase};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Rejections after which the plan goes to the user as it is.
pub const MAX_REJECTIONS: u32 = 5;

/// A planner, an architect and a critic working on one plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RalplanState {
    /// The phase of the planning.
    pub phase: PlanPhase,
    /// How many times a critic has rejected the plan since the user was last asked.
    pub iteration: u32,
    /// Rejections after which the user is asked anyway.
    pub max_iterations: u32,
    /// The plan's file, relative to the project; empty until a planner names it.
    pub plan_path: String,
    /// What to plan, in the user's words.
    pub task: String,
    /// When the planning began.
    pub started_at: Timestamp,
    /// Digest of the text that a planner reported and that passed the quality gates.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ready_hash: String,
    /// Digest of the text that a critic is judging or has judged; empty if there is none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub plan_hash: String,
    /// The client's ids of all agents that reported as planners.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub planners: Vec<String>,
    /// The client's ids of all agents that reported as critics.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub critics: Vec<String>,
    /// Agents whose report was sent back once; it is not sent back a second time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sent_back: Vec<String>,
    /// True once the gap finder has reported.
    #[serde(skip_serializing_if = "super::is_false")]
    pub consulted_gap_finder: bool,
    /// The gap finder's report, for the planner.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub gaps: String,
    /// The criteria of the plan that is judged, each in one line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<String>,
    /// The tasks of that plan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
    /// Quality gates that the last reported plan failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed_gates: Vec<String>,
    /// Questions that the architect has not answered yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<String>,
    /// Answers of the architect that no plan has used yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<String>,
    /// What the planner must fix: a critic's issues, or the user's feedback.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub feedback: String,
    /// The last verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<PlanVerdict>,
    /// True if the user is asked although no critic has approved.
    #[serde(skip_serializing_if = "super::is_false")]
    pub forced: bool,
    /// Open concerns when the user was asked without an approval.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub concerns: Vec<String>,
    /// The user's last decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<PlanDecision>,
    /// Summary of the state when a stop last told the session the next step.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub told_at: String,
    /// Consecutive stops at which that summary was unchanged.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub still: u32,
    /// The last lines of the event log, for people.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
    /// A line for each event that the user has not seen yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub untold: Vec<String>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Default for RalplanState {
    fn default() -> Self {
        RalplanState {
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
            criteria: Vec::new(),
            tasks: Vec::new(),
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

impl RalplanState {
    /// Ends the planning with its loop. Without the user's approval it counts as cancelled,
    /// whatever ended the loop.
    pub(super) fn end(&mut self) {
        if !self.phase.is_over() {
            self.phase = PlanPhase::Cancelled;
            self.log.push("[RALPLAN] Cancelled".to_owned());
        }
    }
}

/// A critic's verdict on a plan.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PlanVerdict {
    /// The client's id of the critic.
    pub agent: String,
    /// Digest of the text that the critic judged.
    pub plan_hash: String,
    /// True for an approval.
    pub okay: bool,
    /// What the planner must fix.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<String>,
}

/// A user's decision about a plan.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PlanDecision {
    /// What the user decided.
    pub kind: DecisionKind,
    /// The user's own words; empty if there were none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Digest of the plan at the time of the decision.
    pub plan_hash: String,
    /// How the user decided.
    pub by: DecidedBy,
    /// When the user decided.
    pub at: Timestamp,
}
