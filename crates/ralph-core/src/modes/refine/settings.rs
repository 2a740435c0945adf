//! The limits of a refinement. They are stored with it, so that it continues under the same rules.

use crate::state::Extra;
use serde::{Deserialize, Serialize};

/// The limits of a refinement, and when it counts as settled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RefineSettings {
    /// The maximum number of rounds.
    pub max_iterations: u32,
    /// Consecutive rounds of little change that make a plateau.
    pub plateau_threshold: u32,
    /// The first round that may be a plateau.
    pub min_iterations: u32,
    /// The most changed lines of a plan that count as little.
    pub lines: u64,
    /// The most changed beads that count as little.
    pub beads: u64,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Default for RefineSettings {
    fn default() -> Self {
        RefineSettings {
            max_iterations: 10,
            plateau_threshold: 2,
            min_iterations: 3,
            lines: 5,
            beads: 1,
            extra: Extra::new(),
        }
    }
}

/// The most rounds that fit in one session.
pub const MOST_IN_FOREGROUND: u32 = 5;

impl RefineSettings {
    /// The upper limit of every number of rounds.
    pub const MOST: u32 = 10_000;

    /// The same settings, limited to the rounds that fit in one session.
    #[must_use]
    pub fn in_foreground(self) -> RefineSettings {
        RefineSettings { max_iterations: self.max_iterations.min(MOST_IN_FOREGROUND), ..self }
    }

    /// Why these settings are invalid, and what to write instead; `None` if they are valid.
    pub fn refused(&self) -> Option<String> {
        let numbers = [
            ("max_iterations", self.max_iterations),
            ("plateau_threshold", self.plateau_threshold),
            ("min_iterations", self.min_iterations),
        ];
        let (name, given) = numbers.into_iter().find(|(_, n)| !(1..=Self::MOST).contains(n))?;
        Some(format!("`{name}` must be a whole number from 1 to {}, not {given}", Self::MOST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_not_said_has_its_default_and_what_is_unknown_stays() {
        let value = json!({"lines": 9, "colour": "red"});
        let settings: RefineSettings = serde_json::from_value(value).unwrap();
        let extra = Extra::from([("colour".to_owned(), json!("red"))]);
        assert_eq!(settings, RefineSettings { lines: 9, extra, ..RefineSettings::default() });
        let again = serde_json::to_value(&settings).unwrap();
        assert_eq!(serde_json::from_value::<RefineSettings>(again).unwrap(), settings);
    }

    #[test]
    fn a_bound_of_none_is_refused_and_a_conversation_has_fewer_rounds() {
        let settings = RefineSettings::default();
        assert_eq!(settings.refused(), None);
        assert_eq!(settings.clone().in_foreground().max_iterations, 5);
        let short = RefineSettings { max_iterations: 3, ..settings.clone() };
        assert_eq!(short.in_foreground().max_iterations, 3);
        let none = RefineSettings { plateau_threshold: 0, ..settings.clone() };
        let why = none.refused().unwrap();
        assert_eq!(why, "`plateau_threshold` must be a whole number from 1 to 10000, not 0");
        assert!(RefineSettings { max_iterations: 0, ..settings.clone() }.refused().is_some());
        assert!(RefineSettings { min_iterations: 10_001, ..settings }.refused().is_some());
    }
}
