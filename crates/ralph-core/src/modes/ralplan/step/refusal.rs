//! Why the planning ignores an event, in the words that its agents and the user read.

use crate::modes::ralplan::{Role, short};
use crate::state::PlanPhase;
use std::fmt;

/// Why an event is ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanRefusal {
    /// The event belongs to another phase.
    NotNow {
        what: &'static str,
        /// The phase that it belongs to.
        wanted: &'static str,
        phase: PlanPhase,
    },
    Over {
        phase: PlanPhase,
    },
    /// An agent that planned cannot judge.
    PlannerAsCritic {
        agent: String,
    },
    /// An agent that judged cannot plan.
    CriticAsPlanner {
        agent: String,
    },
    /// The client names no agent.
    NoAgent,
    /// No text was given to a critic.
    NothingToJudge,
    /// The plan has changed since the critic was called.
    AnotherText {
        /// The hash of the text to judge.
        judged: String,
        /// The hash of the text as it is now.
        now: String,
    },
    /// The critic reports that it judged another text.
    JudgedAnother {
        /// The digits that the critic names.
        named: String,
        /// The hash of the text to judge.
        judged: String,
    },
    /// It is another agent's turn, or no agent's.
    OutOfTurn {
        /// The role of the agent that was called.
        called: Role,
        /// The role whose turn it is.
        wanted: Option<Role>,
        phase: PlanPhase,
    },
    /// The plan has changed since its planner reported it.
    ChangedSinceReady {
        /// The hash of the text that was reported.
        ready: String,
        /// The hash of the text as it is now.
        now: String,
    },
    /// The critic's prompt does not name the text to judge.
    PromptNamesNoText {
        /// The prompt to use.
        prompt: String,
    },
    /// The user approved a text that no critic has judged.
    NotTheJudged {
        /// The hash of the judged text.
        judged: String,
        /// The hash of the text that the user saw.
        decided: String,
    },
    /// A decision that this version does not know.
    UnknownDecision {
        word: String,
    },
}

impl fmt::Display for PlanRefusal {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanRefusal::NotNow { what, wanted, phase } => write!(
                to,
                "{what} is valid only in the phase `{wanted}`; this planning is in `{phase}`"
            ),
            PlanRefusal::Over { phase } => {
                write!(
                    to,
                    "this planning is over (`{phase}`); type `/ralplan TASK` to start \
                     another"
                )
            }
            PlanRefusal::PlannerAsCritic { agent } => write!(
                to,
                "agent `{agent}` wrote this plan and cannot judge it; call a new `{}`",
                Role::Critic.agent()
            ),
            PlanRefusal::CriticAsPlanner { agent } => write!(
                to,
                "agent `{agent}` judged this plan and cannot write it; call a new `{}`",
                Role::Planner.agent()
            ),
            PlanRefusal::NoAgent => {
                to.write_str("a report is valid only from an agent that the client names")
            }
            PlanRefusal::NothingToJudge => write!(
                to,
                "this critic got no plan; call `{}` with the plan's path",
                Role::Critic.agent()
            ),
            PlanRefusal::AnotherText { judged, now } => write!(
                to,
                "the plan was {} when the critic was called and is {} now; a verdict is valid only \
                 for the text it judged. Call `{}`: a planner reports the present plan again",
                named(judged),
                named(now),
                Role::Critic.agent()
            ),
            PlanRefusal::JudgedAnother { named: other, judged } => write!(
                to,
                "the critic judged {} and the plan is {}; call a new `{}`",
                named(other),
                named(judged),
                Role::Critic.agent()
            ),
            PlanRefusal::OutOfTurn { called, wanted: Some(wanted), phase } => write!(
                to,
                "this planning is in `{phase}`, which ignores a report of `{}`; call `{}`",
                called.agent(),
                wanted.agent()
            ),
            PlanRefusal::OutOfTurn {
                wanted: None, phase: PlanPhase::AwaitingUserApproval, ..
            } => to.write_str(
                "the plan waits for the user, so no agent is due; ask with AskUserQuestion, as \
                     `ralph ralplan status` shows",
            ),
            PlanRefusal::OutOfTurn { wanted: None, phase, .. } => write!(
                to,
                "this planning is in `{phase}`, which calls no agent; `ralph ralplan status` shows \
                 the next step"
            ),
            PlanRefusal::ChangedSinceReady { ready, now } => write!(
                to,
                "the plan was {} when its planner reported it and is {} now; call `{}` to read it \
                 and report it again",
                named(ready),
                named(now),
                Role::Planner.agent()
            ),
            PlanRefusal::PromptNamesNoText { prompt } => write!(
                to,
                "the prompt does not name the text to judge; call `{}` with this prompt, word for \
                 word:\n{prompt}",
                Role::Critic.agent()
            ),
            PlanRefusal::NotTheJudged { judged, decided } => write!(
                to,
                "the plan that was judged is {}, and the file is {} now; Adjust plans and judges \
                 it again, Discard ends it",
                named(judged),
                named(decided)
            ),
            PlanRefusal::UnknownDecision { word } => {
                write!(to, "`{word}` is not a decision; write proceed, adjust or discard")
            }
        }
    }
}

fn named(hash: &str) -> String {
    match hash {
        "" => "not there".to_owned(),
        hash => format!("`{}`", short(hash)),
    }
}
