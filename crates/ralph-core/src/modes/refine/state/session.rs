//! One refinement. The fields that the document specifies come first.

use crate::modes::refine::measure::ArtefactChange;
use crate::modes::refine::{Mode, PlanAfter, RefineSettings, RoundEnd, Status};
use crate::state::Extra;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A refinement: what was done, and its state. The members without a default make a value a refinement: to treat a lost
/// one as empty would hide the loss.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Refinement {
    /// What is refined.
    pub mode: Mode,
    #[serde(default)]
    pub started_at: Timestamp,
    /// The number of completed rounds. A round that was cut does not count.
    pub iterations_completed: u32,
    /// The sum of the changes reported by the rounds that gave a number.
    #[serde(default)]
    pub total_changes: u64,
    pub status: Status,
    /// The round that reached the plateau.
    pub plateau_at: Option<u32>,
    /// The results of all rounds in chronological order. A round that was cut comes before its
    /// repetition.
    pub history: Vec<RoundEntry>,
    // The fields below are Ralph's own.
    /// The plan's file, in the mode `plan`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub plan_file: String,
    #[serde(default)]
    pub settings: RefineSettings,
    /// Digest of the artefact as the last round left it, or of the user's edit if that was kept.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub artefact: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<OpenRound>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RoundEntry {
    /// The number of the round, from 1.
    pub iteration: u32,
    /// How many changes the round reports; `None` if unknown.
    pub changes: Option<u32>,
    /// The changes in the round's own words; for a round that was cut, the reason.
    pub summary: String,
    // The fields below are Ralph's own.
    /// The proposals in the round's own words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub proposed: Vec<String>,
    /// The measured change; `None` if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<ArtefactChange>,
    #[serde(skip_serializing_if = "is_done")]
    pub end: RoundEnd,
    /// What happened to the plan that the round wrote.
    #[serde(skip_serializing_if = "is_applied")]
    pub plan: PlanAfter,
    /// True if the artefact was changed from outside between the previous round and this one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub edited_before: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct OpenRound {
    /// The number of the round, from 1.
    pub iteration: u32,
    pub started_at: Timestamp,
    /// True once Ralph has asked for its lines again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub asked_again: bool,
    /// True if the artefact was changed from outside since the previous round.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub edited_before: bool,
    /// The session whose agent makes the round; empty if a client of its own does.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub client_session: String,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

fn is_done(end: &RoundEnd) -> bool {
    *end == RoundEnd::Done
}

fn is_applied(plan: &PlanAfter) -> bool {
    *plan == PlanAfter::Applied
}

impl Refinement {
    /// A refinement of this plan, or of the tasks if it is empty, without any round yet.
    pub fn new(plan_file: &str, settings: RefineSettings, now: Timestamp) -> Refinement {
        Refinement {
            mode: if plan_file.is_empty() { Mode::Beads } else { Mode::Plan },
            started_at: now,
            iterations_completed: 0,
            total_changes: 0,
            status: Status::Running,
            plateau_at: None,
            history: Vec::new(),
            plan_file: plan_file.to_owned(),
            settings,
            artefact: String::new(),
            round: None,
            ended_at: None,
            extra: Extra::new(),
        }
    }

    /// How many rounds remain.
    pub fn left(&self) -> u32 {
        self.settings.max_iterations.saturating_sub(self.iterations_completed)
    }

    /// True if it refines this plan, or the tasks if `plan_file` is empty.
    pub fn refines(&self, plan_file: &str) -> bool {
        match plan_file {
            "" => self.mode == Mode::Beads,
            _ => self.mode == Mode::Plan && self.plan_file == plan_file,
        }
    }

    /// What is refined, for the user.
    pub fn subject(&self) -> &str {
        if self.mode == Mode::Plan { &self.plan_file } else { "the tasks" }
    }
}
