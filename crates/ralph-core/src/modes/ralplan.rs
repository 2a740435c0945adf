//! Consensus planning: a planner writes, an architect advises, a critic judges, and a person
//! decides.
//!
//! Every gate is here or in the guard. An agent's report moves a planning only as far as the role
//! allows that the client itself names for the agent, and no report counts as a person's consent.

pub mod driven;
pub mod export;
pub mod formats;
pub mod gates;
mod next;
mod pause;
pub mod question;
mod step;

pub use next::{NextPlanStep, may_call, next};
pub(super) use pause::Ralplan;
pub use pause::{asked, is_told, next_step_text};
pub use step::{PlanEvent, PlanOutcome, PlanSeen, begin, reported_path, step};

use crate::state::{LoopState, RalplanState};
use crate::text::sanitize;

/// The folder of plans, relative to the top of the project.
pub const PLANS: &str = ".omc/plans/";

/// The project's own state document, relative to the top of the project.
pub const MIRROR: &str = ".omc/ralplan-state.json";

/// How many hex digits of a plan's hash users and agents see.
pub const SHORT: usize = 12;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Writes the plan, and nothing else.
    Planner,
    /// Answers questions; reads only.
    Architect,
    /// Judges the plan; reads only.
    Critic,
    /// Looks for gaps in a task before it is planned; reads only.
    GapFinder,
}

impl Role {
    pub const ALL: [Role; 4] = [Role::Planner, Role::Architect, Role::Critic, Role::GapFinder];

    /// The agent's name, without a plugin's prefix.
    pub fn agent(self) -> &'static str {
        match self {
            Role::Planner => "ralplan-planner",
            Role::Architect => "ralplan-architect",
            Role::Critic => "ralplan-critic",
            Role::GapFinder => "ralplan-metis",
        }
    }

    /// The role of an agent, whether it comes from settings or from a plugin.
    pub fn from_agent_type(kind: &str) -> Option<Role> {
        let kind = kind.strip_prefix("ralph:").unwrap_or(kind);
        Role::ALL.into_iter().find(|role| role.agent() == kind)
    }
}

/// Shortens a hash to the digits that users and agents see.
pub fn short(hash: &str) -> &str {
    hash.get(..SHORT).unwrap_or(hash)
}

/// True for a path where a plan may be: a Markdown file below [`PLANS`] that cannot lead out of it.
/// Its name must be printable, because the user is asked about it.
pub fn is_plans_place(path: &str) -> bool {
    let Some(name) = path.strip_prefix(PLANS) else { return false };
    let parts_hold = name.split('/').all(|part| !matches!(part, "" | "." | ".."));
    parts_hold
        && name.len() > ".md".len()
        && name.ends_with(".md")
        && !name.contains('\\')
        && !name.chars().any(sanitize::acts)
}

/// Takes the lines that the user has not been shown yet, joined by line breaks; empty if there
/// are none. They count as shown from then on.
pub fn to_tell(state: &mut LoopState) -> String {
    let untold = state.ralplan_mut().map(|plan| std::mem::take(&mut plan.untold));
    untold.unwrap_or_default().join("\n")
}

/// Which plan it is, of those that a critic may reject: `1/5`.
pub fn position(plan: &RalplanState) -> String {
    let number = plan.iteration.saturating_add(1).min(plan.max_iterations);
    format!("{number}/{}", plan.max_iterations)
}

#[cfg(test)]
mod texts_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_known_with_and_without_the_plugins_prefix() {
        for role in Role::ALL {
            assert_eq!(Role::from_agent_type(role.agent()), Some(role));
            assert_eq!(Role::from_agent_type(&format!("ralph:{}", role.agent())), Some(role));
        }
        for other in ["planner", "other:ralplan-critic", "ralplan-critic-2", "Ralplan-Critic", ""] {
            assert_eq!(Role::from_agent_type(other), None, "{other}");
        }
    }

    #[test]
    fn a_plan_is_a_markdown_file_below_the_folder_of_plans() {
        for path in [".omc/plans/a.md", ".omc/plans/sub/a b.md", ".omc/plans/..a.md"] {
            assert!(is_plans_place(path), "{path}");
        }
        for path in [
            ".omc/plans/../a.md",
            ".omc/plans/x/../../a.md",
            ".omc/plans//a.md",
            ".omc/plans/.md",
            ".omc/plans/a.txt",
            "/p/.omc/plans/a.md",
            "src/a.md",
            ".omc/plans/a\u{202e}.md",
            ".omc/plans/a\n.md",
            ".omc/plans/a\\b.md",
            "",
        ] {
            assert!(!is_plans_place(path), "{path}");
        }
    }

    #[test]
    fn a_digest_is_called_by_its_first_digits() {
        let hash = "0123456789abcdef".repeat(4);
        assert_eq!(short(&hash), "0123456789ab");
        assert_eq!(short("abc"), "abc");
    }
}
