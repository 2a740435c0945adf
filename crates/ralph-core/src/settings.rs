//! The settings of `ralph.toml`: what a person sets once for all loops, or for one project's.
//!
//! They are read when a loop starts and frozen into its state, so that nothing changes under a
//! running loop. A project's file may tune; it names no command to run and switches nothing on that
//! the person did not.

use crate::state::{Completion, LoopState};
use serde::{Deserialize, Serialize};

/// What may be set.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// How many times a loop may go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u32>,
    /// Wall clock of a loop, in minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_minutes: Option<u64>,
    /// Stops in a row without progress after which a loop ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stall_limit: Option<u32>,
    /// Minutes without news after which a session that waits for background workers is woken; at
    /// most [`crate::waiting::LONGEST_MINUTES`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background_minutes: Option<u64>,
    /// Which rule decides completion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion: Option<Completion>,
}

impl Settings {
    /// These settings where they say something, else those below them.
    pub fn over(self, below: Settings) -> Settings {
        Settings {
            max_iterations: self.max_iterations.or(below.max_iterations),
            max_minutes: self.max_minutes.or(below.max_minutes),
            stall_limit: self.stall_limit.or(below.stall_limit),
            background_minutes: self.background_minutes.or(below.background_minutes),
            completion: self.completion.or(below.completion),
        }
    }

    /// What a project's own file may say without its owner's trust: bounds may be lowered or
    /// raised, but the rule of completion is the person's.
    pub fn of_untrusted_project(self) -> Settings {
        Settings { completion: None, ..self }
    }

    /// Writes the settings into a new loop and freezes them there.
    pub fn apply(&self, state: &mut LoopState) {
        if let Some(number) = self.max_iterations {
            state.max_iterations = number;
        }
        if let Some(number) = self.max_minutes {
            state.limits.max_minutes = number;
        }
        if let Some(number) = self.stall_limit {
            state.stall_limit = number;
        }
        if let Some(completion) = &self.completion {
            state.completion = completion.clone();
        }
        state.settings = serde_json::to_value(self).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_projects_file_tunes_and_does_not_weaken() {
        let project = Settings {
            max_iterations: Some(3),
            completion: Some(Completion::Token),
            ..Settings::default()
        };
        let user =
            Settings { max_iterations: Some(9), max_minutes: Some(5), ..Settings::default() };
        let merged = project.of_untrusted_project().over(user);
        assert_eq!(merged.max_iterations, Some(3));
        assert_eq!(merged.max_minutes, Some(5));
        assert_eq!(merged.completion, None);
    }
}
