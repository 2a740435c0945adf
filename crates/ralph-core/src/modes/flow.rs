//! What the modes that call agents have in common: a call of the Agent tool, and the words for a
//! session that makes it.

use crate::state::{LoopState, Registration};
use crate::text::truncate::bounded;
use serde::Serialize;
use std::fmt::Write as _;

/// The input of one call of the Agent tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentInput {
    pub description: String,
    pub subagent_type: String,
    pub prompt: String,
    /// False if the agent's report decides the next step; true if the session wakes when it ends.
    pub run_in_background: bool,
}

/// The prefix of agent names in this session.
pub fn prefix(state: &LoopState) -> &'static str {
    if state.via == Some(Registration::Plugin) { "ralph:" } else { "" }
}

/// The one call that is due, as given at a stop.
pub(super) fn call_in_words(agent: &str, prompt: &str) -> String {
    format!(
        "Next: call the Agent tool with subagent_type `{agent}`, run_in_background false and this prompt, word for \
         word:\n{prompt}"
    )
}

/// Everything that a session without context needs: how the loop stands with its rules, the user's
/// messages since the start, newest first, and the next step.
pub(super) fn loop_prompt(mut text: String, steers: &[String], next: &str) -> String {
    for steer in steers {
        let _ = write!(text, "\nThe user said: STEER: {}", bounded(steer, 160));
    }
    text + "\n" + next
}
