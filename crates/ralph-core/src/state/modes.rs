//! The mode of a loop, with the state that only that mode needs.
//!
//! The document has two members for it: `mode` with the word, and one named after the mode. An absent member gets its
//! defaults, as everywhere in the document. For the mode of a newer version, the word is kept here and its member among the
//! unknown ones. Where a mode has a document in the project, that is a copy for people and other tools: no decision is based
//! on it, since anyone who can write to the project could forge an approval there.

use super::{
    ClientProcess, DecidedBy, DecisionKind, Extra, LoopState, Mode, PlanPhase, is_default,
};
use crate::text::json;
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Which rules drive a loop, and the state that they need.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum ModeState {
    /// The Ralph loop, which has no state of its own.
    #[default]
    Plain,
    /// Consensus planning.
    Ralplan(Box<RalplanState>),
    /// An orchestration (ralph-v2).
    Orchestration(OrchestrationState),
    /// Refinement of a plan or of tasks.
    Refine(RefineState),
    /// The mode of a newer version, by its word.
    Other(String),
}

impl ModeState {
    /// The word of the mode in the document.
    pub fn word(&self) -> Mode {
        match self {
            ModeState::Plain => Mode::Plain,
            ModeState::Ralplan(_) => Mode::Ralplan,
            ModeState::Orchestration(_) => Mode::Orchestration,
            ModeState::Refine(_) => Mode::Refine,
            ModeState::Other(word) => Mode::Other(word.clone()),
        }
    }

    /// Removes the word and the mode's member from the document.
    ///
    /// # Errors
    /// Which member has another type.
    pub(super) fn take(members: &mut Extra) -> Result<ModeState, String> {
        fn own<T: DeserializeOwned + Default>(
            members: &mut Extra,
            name: &str,
        ) -> Result<T, String> {
            match members.remove(name) {
                None | Some(Value::Null) => Ok(T::default()),
                Some(value) => json::read(value).map_err(|mistake| format!("`{name}`: {mistake}")),
            }
        }
        let word = own(members, "mode")?;
        Ok(match word {
            Mode::Plain => ModeState::Plain,
            Mode::Ralplan => ModeState::Ralplan(Box::new(own(members, "ralplan")?)),
            Mode::Orchestration => ModeState::Orchestration(own(members, "session")?),
            Mode::Refine => ModeState::Refine(own(members, "refine")?),
            Mode::Other(word) => ModeState::Other(word),
        })
    }
}

impl Serialize for ModeState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("mode", &self.word())?;
        match self {
            ModeState::Plain | ModeState::Other(_) => {}
            ModeState::Ralplan(plan) => map.serialize_entry("ralplan", plan)?,
            ModeState::Orchestration(session) => map.serialize_entry("session", session)?,
            ModeState::Refine(refining) => map.serialize_entry("refine", refining)?,
        }
        map.end()
    }
}

impl PartialEq<Mode> for ModeState {
    fn eq(&self, word: &Mode) -> bool {
        self.word() == *word
    }
}

impl From<RalplanState> for ModeState {
    fn from(plan: RalplanState) -> ModeState {
        ModeState::Ralplan(Box::new(plan))
    }
}

impl From<OrchestrationState> for ModeState {
    fn from(session: OrchestrationState) -> ModeState {
        ModeState::Orchestration(session)
    }
}

impl From<RefineState> for ModeState {
    fn from(refining: RefineState) -> ModeState {
        ModeState::Refine(refining)
    }
}

macro_rules! own {
    ($($(#[$about:meta])* $name:ident $name_mut:ident $variant:ident $kept:ident;)+) => {
        impl LoopState {
            $(
                $(#[$about])*
                pub fn $name(&self) -> Option<&$kept> {
                    if let ModeState::$variant(own) = &self.mode { Some(own) } else { None }
                }

                $(#[$about])*
                pub fn $name_mut(&mut self) -> Option<&mut $kept> {
                    if let ModeState::$variant(own) = &mut self.mode { Some(own) } else { None }
                }
            )+
        }
    };
}

own! {
    /// The state of consensus planning; `None` in every other mode.
    ralplan ralplan_mut Ralplan RalplanState;
    /// The state of an orchestration; `None` in every other mode.
    orchestration orchestration_mut Orchestration OrchestrationState;
    /// The state of a refinement; `None` in every other mode.
    refining refining_mut Refine RefineState;
}

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
    #[serde(skip_serializing_if = "is_default")]
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
    #[serde(skip_serializing_if = "is_default")]
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
    #[serde(skip_serializing_if = "is_default")]
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

/// An orchestration and its calls.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct OrchestrationState {
    /// The name of its folder below `.ralph-sessions/`.
    pub id: String,
    /// Calls that have started and not ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<OrchestrationCall>,
    /// The next calls, as last given to the session.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub given: Vec<OrchestrationCall>,
    /// The next step in words, if it is not a call.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub says: String,
    /// Summary of the state when a stop last told the session the next step.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub told_at: String,
    /// Consecutive stops at which that summary was unchanged.
    #[serde(skip_serializing_if = "is_default")]
    pub still: u32,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A call of an agent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct OrchestrationCall {
    /// The client's id of the call; empty for a call not made yet.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub call: String,
    /// The client's id of the agent; empty until it is known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub agent: String,
    /// The mode in which the agent is called.
    pub mode: String,
    /// The task that the call is about; empty if it is not about one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub task: String,
    /// The iteration of the call.
    pub iteration: u32,
    /// The question cycle of the call; 0 if there is none.
    #[serde(skip_serializing_if = "is_default")]
    pub cycle: u32,
    /// The prompt.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub prompt: String,
    /// When the call was made.
    pub since: Timestamp,
    /// The client process in which the agent runs. Agents end with their client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientProcess>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What the loop of a session keeps about its refinement. The loop's `iteration` is the number of
/// completed rounds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RefineState {
    /// The refinement's name in the project's document.
    pub name: String,
    /// The same name, quoted for a shell.
    pub word: String,
    /// Completed rounds of that refinement when this loop began.
    pub from: u32,
    /// Rounds that the same session made before, for other refinements.
    pub earlier: u32,
    /// The open round; 0 if none is open.
    pub open: u32,
    /// The client's ids of all calls of the Agent tool that were allowed.
    pub calls: Vec<String>,
    /// Completed rounds plus calls at the last stop.
    pub told_at: u32,
    /// Consecutive stops at which that number was unchanged.
    pub still: u32,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

#[cfg(test)]
mod mode_tests {
    use super::*;
    use serde_json::json;

    fn rewritten(document: &Value) -> Value {
        let state: LoopState = serde_json::from_value(document.clone()).unwrap();
        serde_json::to_value(state).unwrap()
    }

    #[test]
    fn each_mode_is_written_as_it_was_read() {
        for (mode, name, own) in [
            ("ralplan", "ralplan", json!({"phase": "critic_review", "mood": "good"})),
            ("session", "session", json!({"id": "260131-120000", "mood": "good"})),
            ("refine", "refine", json!({"name": "plan", "word": "plan", "mood": "good"})),
            ("of tomorrow", "tomorrow", json!({"mood": "good"})),
        ] {
            let back = rewritten(&json!({"mode": mode, name: own}));
            assert_eq!(back["mode"], mode);
            for (member, value) in own.as_object().unwrap() {
                assert_eq!(&back[name][member], value, "{mode}: {member}");
            }
        }
    }

    #[test]
    fn a_mode_without_its_member_has_the_defaults() {
        let state: LoopState =
            serde_json::from_value(json!({"mode": "ralplan", "ralplan": null})).unwrap();
        assert_eq!(state.mode, ModeState::from(RalplanState::default()));
        let state: LoopState = serde_json::from_value(json!({"mode": "session"})).unwrap();
        assert_eq!(state.mode, ModeState::from(OrchestrationState::default()));
    }

    #[test]
    fn a_member_of_another_mode_is_kept_and_not_read() {
        let stray = json!({"mode": "loop", "ralplan": {"phase": 7}, "session": [1]});
        let state: LoopState = serde_json::from_value(stray).unwrap();
        assert!(state.ralplan().is_none());
        let back = serde_json::to_value(state).unwrap();
        assert_eq!((&back["ralplan"], &back["session"]), (&json!({"phase": 7}), &json!([1])));
    }

    #[test]
    fn a_mode_is_equal_to_its_own_word_only() {
        assert!(ModeState::Plain == Mode::Plain && ModeState::Plain != Mode::Refine);
        let plan: ModeState = RalplanState::default().into();
        assert!(plan == Mode::Ralplan && plan != Mode::Plain);
    }
}
