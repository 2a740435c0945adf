//! Consensus planning: a planner writes, an architect advises, a critic judges, a person decides.
//!
//! Every gate is here and in the guard. What an agent says moves a planning only as far as the role
//! that the client itself names for it goes, and nothing that an agent says is ever a person's consent.

mod call;
pub mod driven;
pub mod export;
pub mod formats;
pub mod gates;
mod next;
mod pause;
pub mod question;
mod step;

pub use call::may_call;
pub use next::{AgentInput, NextPlanStep, next};
pub(crate) use pause::at_stop;
pub use pause::{
    announcement, asked, continues_line, contract, is_told, prefix, started_line, take_up, told,
};
pub use step::{PlanEvent, PlanOutcome, PlanRefusal, PlanSeen, begin, step};

use crate::state::{LoopState, Ralplan};
use crate::text::hex::sha256;
use crate::text::sanitize;

/// Where plans are, from the top of the project.
pub const PLANS: &str = ".omc/plans/";

/// The project's own document, from the top of the project.
pub const MIRROR: &str = ".omc/ralplan-state.json";

/// Digits of a plan's digest by which people and agents call it.
pub const SHORT: usize = 12;

/// An agent of a planning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Writes the plan, and nothing else.
    Planner,
    /// Answers questions; reads only.
    Architect,
    /// Judges the plan; reads only.
    Critic,
    /// Looks for what a task leaves open, before it is planned; reads only.
    GapFinder,
}

impl Role {
    /// All of them.
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
    pub fn of(kind: &str) -> Option<Role> {
        let kind = kind.strip_prefix("ralph:").unwrap_or(kind);
        Role::ALL.into_iter().find(|role| role.agent() == kind)
    }
}

/// The digest of a plan's text.
pub fn digest(text: &[u8]) -> String {
    sha256(text)
}

/// The digits by which people and agents call a digest.
pub fn short(hash: &str) -> &str {
    hash.get(..SHORT).unwrap_or(hash)
}

/// True for a place where a plan may be: a Markdown file below [`PLANS`], and no way out of there. A person
/// has to be able to read its name, or they could not be asked about it.
pub fn is_plans_place(path: &str) -> bool {
    let Some(name) = path.strip_prefix(PLANS) else { return false };
    let parts_hold = name.split('/').all(|part| !matches!(part, "" | "." | ".."));
    parts_hold
        && name.len() > ".md".len()
        && name.ends_with(".md")
        && !name.contains('\\')
        && !name.chars().any(sanitize::acts)
}

/// The log with these lines at its end; the oldest are left out where it grows too long.
pub fn log_of(mut before: Vec<String>, lines: &[String]) -> Vec<String> {
    before.extend_from_slice(lines);
    let more = before.len().saturating_sub(LOG_KEPT);
    before.drain(..more);
    before
}

/// Lines of the log that are kept.
const LOG_KEPT: usize = 100;

/// Lines that are kept for the person: who was away for longer finds the others in the log.
const UNTOLD_KEPT: usize = 12;

/// Keeps lines of the log for the next event whose message the client shows; it shows none of an agent's end.
pub fn keep_to_tell(plan: &mut Ralplan, lines: &[String]) {
    plan.untold.extend_from_slice(lines);
    let more = plan.untold.len().saturating_sub(UNTOLD_KEPT);
    plan.untold.drain(..more);
}

/// What the person has not been shown of the log, one line each; empty where there is nothing. It counts as shown
/// from then on.
pub fn to_tell(state: &mut LoopState) -> String {
    let untold = state.ralplan_mut().map(|plan| std::mem::take(&mut plan.untold));
    untold.unwrap_or_default().join("\n")
}

/// How far the critics have come, for people: `2/5`.
pub fn position(plan: &Ralplan) -> String {
    format!("{}/{}", plan.iteration, plan.max_iterations)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_known_with_and_without_the_plugins_prefix() {
        for role in Role::ALL {
            assert_eq!(Role::of(role.agent()), Some(role));
            assert_eq!(Role::of(&format!("ralph:{}", role.agent())), Some(role));
        }
        for other in ["planner", "other:ralplan-critic", "ralplan-critic-2", "Ralplan-Critic", ""] {
            assert_eq!(Role::of(other), None, "{other}");
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
    fn a_line_is_told_once_and_the_oldest_are_left_out() {
        let mut state = LoopState { mode: Ralplan::default().into(), ..LoopState::default() };
        let lines: Vec<String> = (1..=UNTOLD_KEPT + 1).map(|n| n.to_string()).collect();
        keep_to_tell(state.ralplan_mut().unwrap(), &lines);
        assert_eq!(to_tell(&mut state), lines[1..].join("\n"));
        assert_eq!(to_tell(&mut state), "");
        assert_eq!(to_tell(&mut LoopState::default()), "");
    }

    #[test]
    fn a_digest_is_called_by_its_first_digits() {
        let hash = digest(b"plan");
        assert_eq!((hash.len(), short(&hash)), (64, &hash[..12]));
        assert_eq!(short("abc"), "abc");
    }
}
