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
    pub fn from_agent_type(kind: &str) -> Option<AgentRole> {
        let kind = kind.strip_prefix("ralph:").unwrap_or(kind);
        AgentRole::ALL.into_iter().find(|agent| agent.name() == kind)
    }
}

impl fmt::Display for AgentRole {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.name())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "&'static str", try_from = "String")]
pub enum Mode {
    /// Creates the orchestration's plan, progress and metadata.
    Initialize,
    /// Breaks the plan into tasks.
    TaskBreakdown,
    /// Updates the plan from the user's feedback.
    Update,
    /// Updates the tasks from the changed plan.
    Rebreakdown,
    /// Splits one task that is too large.
    RebreakdownTask,
    /// Writes the orchestration's status.
    UpdateMetadata,
    /// Repairs progress and metadata.
    RepairState,
    /// Asks what the plan leaves unclear.
    Brainstorm,
    /// Answers the questions.
    Research,
    /// Asks what the user's feedback leaves unclear.
    FeedbackAnalysis,
    Execute,
    TaskReview,
    /// Fails a task whose executor is gone.
    TimeoutFail,
    /// Judges the iteration.
    SessionReview,
}

/// Each mode with its word and the agent to call.
const MODES: [(Mode, &str, AgentRole); 14] = [
    (Mode::Initialize, "INITIALIZE", AgentRole::Planner),
    (Mode::TaskBreakdown, "TASK_BREAKDOWN", AgentRole::Planner),
    (Mode::Update, "UPDATE", AgentRole::Planner),
    (Mode::Rebreakdown, "REBREAKDOWN", AgentRole::Planner),
    (Mode::RebreakdownTask, "REBREAKDOWN_TASK", AgentRole::Planner),
    (Mode::UpdateMetadata, "UPDATE_METADATA", AgentRole::Planner),
    (Mode::RepairState, "REPAIR_STATE", AgentRole::Planner),
    (Mode::Brainstorm, "brainstorm", AgentRole::Questioner),
    (Mode::Research, "research", AgentRole::Questioner),
    (Mode::FeedbackAnalysis, "feedback-analysis", AgentRole::Questioner),
    (Mode::Execute, "EXECUTE", AgentRole::Executor),
    (Mode::TaskReview, "TASK_REVIEW", AgentRole::Reviewer),
    (Mode::TimeoutFail, "TIMEOUT_FAIL", AgentRole::Reviewer),
    (Mode::SessionReview, "SESSION_REVIEW", AgentRole::Reviewer),
];

impl Mode {
    pub fn all() -> impl Iterator<Item = Mode> {
        MODES.into_iter().map(|(mode, ..)| mode)
    }

    pub fn word(self) -> &'static str {
        // The table is in the order of the modes.
        MODES[self as usize].1
    }

    pub fn from_word(word: &str) -> Option<Mode> {
        Mode::all().find(|mode| mode.word() == word)
    }

    /// The word for the prompt; `None` if the task implies the mode.
    pub fn said(self) -> Option<&'static str> {
        (!matches!(self, Mode::Execute | Mode::TaskReview)).then(|| self.word())
    }

    /// The planning task that the agent marks as done, in this iteration.
    pub fn planning_task(self, iteration: u32) -> Option<&'static str> {
        match self {
            Mode::Initialize => Some("plan-init"),
            Mode::Brainstorm => Some("plan-brainstorm"),
            Mode::Research if iteration > 1 => Some("plan-reresearch"),
            Mode::Research => Some("plan-research"),
            Mode::TaskBreakdown => Some("plan-breakdown"),
            Mode::FeedbackAnalysis => Some("plan-rebrainstorm"),
            Mode::Update => Some("plan-update"),
            Mode::Rebreakdown => Some("plan-rebreakdown"),
            _ => None,
        }
    }

    pub fn agent(self) -> AgentRole {
        MODES[self as usize].2
    }
}

impl From<Mode> for &'static str {
    fn from(mode: Mode) -> &'static str {
        mode.word()
    }
}

impl TryFrom<String> for Mode {
    type Error = String;

    fn try_from(word: String) -> Result<Mode, String> {
        Mode::from_word(&word).ok_or_else(|| format!("`{word}` is not a mode of an agent"))
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
            assert_eq!(AgentRole::from_agent_type(agent.name()), Some(agent));
            assert_eq!(AgentRole::from_agent_type(&format!("ralph:{agent}")), Some(agent));
        }
        for other in ["Planner", "other:Ralph-v2-Planner", "ralph-v2-planner", ""] {
            assert_eq!(AgentRole::from_agent_type(other), None, "{other}");
        }
    }

    #[test]
    fn a_mode_is_stored_under_its_word() {
        for (mode, word, agent) in MODES {
            assert_eq!((mode.word(), mode.agent()), (word, agent), "the table is in order");
            let json = serde_json::to_string(&mode).unwrap();
            assert_eq!(json, format!("\"{mode}\""));
            assert_eq!(serde_json::from_str::<Mode>(&json).unwrap(), mode);
        }
    }
}
