//! The four agents of an orchestration, and their modes.
//!
//! An invocation has exactly one mode. Two modes have no `MODE:` line, because the named task
//! implies them: an executor executes, and a reviewer reviews.

use serde::{Deserialize, Serialize};
use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AgentRole {
    /// Plans, and breaks the plan into tasks.
    Planner,
    /// Asks what is unclear, and finds answers.
    Questioner,
    /// Carries out one task.
    Executor,
    /// Judges one task, or an iteration.
    Reviewer,
}

impl AgentRole {
    pub const ALL: [AgentRole; 4] =
        [AgentRole::Planner, AgentRole::Questioner, AgentRole::Executor, AgentRole::Reviewer];

    /// The agent's name, without a plugin's prefix.
    pub fn name(self) -> &'static str {
        match self {
            AgentRole::Planner => "Ralph-v2-Planner",
            AgentRole::Questioner => "Ralph-v2-Questioner",
            AgentRole::Executor => "Ralph-v2-Executor",
            AgentRole::Reviewer => "Ralph-v2-Reviewer",
        }
    }

    /// The agent of this name, whether it comes from settings or from a plugin.
    pub fn of(kind: &str) -> Option<AgentRole> {
        let kind = kind.strip_prefix("ralph:").unwrap_or(kind);
        AgentRole::ALL.into_iter().find(|agent| agent.name() == kind)
    }
}

impl fmt::Display for AgentRole {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.name())
    }
}

/// The purpose of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Mode {
    /// Creates the orchestration's plan, progress and metadata.
    #[serde(rename = "INITIALIZE")]
    Initialize,
    /// Breaks the plan into tasks.
    #[serde(rename = "TASK_BREAKDOWN")]
    TaskBreakdown,
    /// Updates the plan from the user's feedback.
    #[serde(rename = "UPDATE")]
    Update,
    /// Updates the tasks from the changed plan.
    #[serde(rename = "REBREAKDOWN")]
    Rebreakdown,
    /// Splits one task that is too large.
    #[serde(rename = "REBREAKDOWN_TASK")]
    RebreakdownTask,
    /// Writes the orchestration's status.
    #[serde(rename = "UPDATE_METADATA")]
    UpdateMetadata,
    /// Repairs progress and metadata.
    #[serde(rename = "REPAIR_STATE")]
    RepairState,
    /// Asks what the plan leaves unclear.
    #[serde(rename = "brainstorm")]
    Brainstorm,
    /// Answers the questions.
    #[serde(rename = "research")]
    Research,
    /// Asks what the user's feedback leaves unclear.
    #[serde(rename = "feedback-analysis")]
    FeedbackAnalysis,
    #[serde(rename = "EXECUTE")]
    Execute,
    #[serde(rename = "TASK_REVIEW")]
    TaskReview,
    /// Fails a task whose executor is gone.
    #[serde(rename = "TIMEOUT_FAIL")]
    TimeoutFail,
    /// Judges the iteration.
    #[serde(rename = "SESSION_REVIEW")]
    SessionReview,
}

impl Mode {
    pub const ALL: [Mode; 14] = [
        Mode::Initialize,
        Mode::TaskBreakdown,
        Mode::Update,
        Mode::Rebreakdown,
        Mode::RebreakdownTask,
        Mode::UpdateMetadata,
        Mode::RepairState,
        Mode::Brainstorm,
        Mode::Research,
        Mode::FeedbackAnalysis,
        Mode::Execute,
        Mode::TaskReview,
        Mode::TimeoutFail,
        Mode::SessionReview,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Mode::Initialize => "INITIALIZE",
            Mode::TaskBreakdown => "TASK_BREAKDOWN",
            Mode::Update => "UPDATE",
            Mode::Rebreakdown => "REBREAKDOWN",
            Mode::RebreakdownTask => "REBREAKDOWN_TASK",
            Mode::UpdateMetadata => "UPDATE_METADATA",
            Mode::RepairState => "REPAIR_STATE",
            Mode::Brainstorm => "brainstorm",
            Mode::Research => "research",
            Mode::FeedbackAnalysis => "feedback-analysis",
            Mode::Execute => "EXECUTE",
            Mode::TaskReview => "TASK_REVIEW",
            Mode::TimeoutFail => "TIMEOUT_FAIL",
            Mode::SessionReview => "SESSION_REVIEW",
        }
    }

    /// The mode with this word.
    pub fn of(word: &str) -> Option<Mode> {
        Mode::ALL.into_iter().find(|mode| mode.word() == word)
    }

    /// The word for the prompt; `None` if the task implies the mode.
    pub fn said(self) -> Option<&'static str> {
        (!matches!(self, Mode::Execute | Mode::TaskReview)).then(|| self.word())
    }

    /// The agent to call.
    pub fn agent(self) -> AgentRole {
        match self {
            Mode::Initialize
            | Mode::TaskBreakdown
            | Mode::Update
            | Mode::Rebreakdown
            | Mode::RebreakdownTask
            | Mode::UpdateMetadata
            | Mode::RepairState => AgentRole::Planner,
            Mode::Brainstorm | Mode::Research | Mode::FeedbackAnalysis => AgentRole::Questioner,
            Mode::Execute => AgentRole::Executor,
            Mode::TaskReview | Mode::TimeoutFail | Mode::SessionReview => AgentRole::Reviewer,
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_known_with_and_without_the_plugins_prefix() {
        for agent in AgentRole::ALL {
            assert_eq!(AgentRole::of(agent.name()), Some(agent));
            assert_eq!(AgentRole::of(&format!("ralph:{agent}")), Some(agent));
        }
        for other in ["Planner", "other:Ralph-v2-Planner", "ralph-v2-planner", ""] {
            assert_eq!(AgentRole::of(other), None, "{other}");
        }
    }

    #[test]
    fn a_mode_is_stored_under_its_word() {
        for mode in Mode::ALL {
            let json = serde_json::to_string(&mode).unwrap();
            assert_eq!(json, format!("\"{mode}\""));
            assert_eq!(serde_json::from_str::<Mode>(&json).unwrap(), mode);
        }
    }
}
