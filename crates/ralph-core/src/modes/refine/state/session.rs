//! One session, under the document's own names first.

use crate::modes::refine::measure::ArtefactChange;
use crate::modes::refine::{Mode, PlanAfter, RefineSettings, RoundEnd, Status};
use crate::state::Extra;
use crate::text::from_json::{FromJson, Mistake, from_json, mistake};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A refinement: what was done, and where it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub struct RefineSession {
    /// What is refined.
    pub mode: Mode,
    /// When it began.
    pub started_at: Timestamp,
    /// How many rounds it has had; one that was cut is no round.
    pub iterations_completed: u32,
    /// How many changes those said that said a number.
    pub total_changes: u64,
    /// Where it stands.
    pub status: Status,
    /// The round that reached the plateau.
    pub plateau_at: Option<u32>,
    /// What each round came to, in the order of time. One that was cut stands before the same once more.
    pub history: Vec<RoundEntry>,
    // What follows is ours.
    /// The plan's file, in the mode `plan`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub plan_file: String,
    /// Its bounds.
    pub settings: RefineSettings,
    /// Digest of the artefact as the last round left it, or as the edit stood that was kept.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub artefact: String,
    /// The round that is under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<OpenRound>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What a round came to.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub struct RoundEntry {
    /// Which round, from 1 on.
    pub iteration: u32,
    /// How many changes it says it made; none where that is not known.
    pub changes: Option<u32>,
    /// Which, in its words; for a round that was cut, why.
    pub summary: String,
    // What follows is ours.
    /// What it proposed, in its words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub proposed: Vec<String>,
    /// What really changed; none where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<ArtefactChange>,
    /// How it ended.
    #[serde(skip_serializing_if = "is_done")]
    pub end: RoundEnd,
    /// What became of the plan that it wrote.
    #[serde(skip_serializing_if = "is_applied")]
    pub plan: PlanAfter,
    /// True where somebody else changed the artefact between the round before and this one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub edited_before: bool,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

from_json!(RoundEntry {
    iteration, changes, summary, proposed, measured, end, plan, edited_before, ended_at; extra
});

/// A round that is under way.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub struct OpenRound {
    /// Which round, from 1 on.
    pub iteration: u32,
    /// When it began.
    pub started_at: Timestamp,
    /// True once its lines were asked for again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub asked_again: bool,
    /// True where somebody else changed the artefact since the round before.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub edited_before: bool,
    /// The client's session, in which the lines are asked for again.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub client_session: String,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

from_json!(OpenRound { iteration, started_at, asked_again, edited_before, client_session; extra });

fn is_done(end: &RoundEnd) -> bool {
    *end == RoundEnd::Done
}

fn is_applied(plan: &PlanAfter) -> bool {
    *plan == PlanAfter::Applied
}

impl RefineSession {
    /// One that has had no round yet. `plan_file` is empty in the mode `beads`.
    pub fn new(
        mode: Mode,
        plan_file: &str,
        settings: RefineSettings,
        now: Timestamp,
    ) -> RefineSession {
        RefineSession {
            mode,
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

    /// How many rounds it may still have.
    pub fn left(&self) -> u32 {
        self.settings.max_iterations.saturating_sub(self.iterations_completed)
    }

    /// True for two sessions that would change the same thing.
    pub fn shares_artefact(&self, mode: &Mode, plan_file: &str) -> bool {
        self.mode == *mode && (*mode == Mode::Beads || self.plan_file == plan_file)
    }
}

impl FromJson for RefineSession {
    fn from_json(value: Value) -> Result<Self, Mistake> {
        let names = ["mode", "status", "iterations_completed", "history"];
        // Without these it is no session, and what was lost of one must not be taken for nothing.
        if let Some(name) = names.iter().find(|name| value.get(name).is_none()) {
            return mistake("there").map_err(|mistake| mistake.inside(name));
        }
        let mut members = crate::text::from_json::Members::of(value)?;
        let mut read =
            RefineSession::new(Mode::Beads, "", RefineSettings::default(), Timestamp::UNIX_EPOCH);
        macro_rules! take {
            ($($name:ident)+) => { $(members.take(stringify!($name), &mut read.$name)?;)+ };
        }
        take!(mode started_at iterations_completed total_changes status plateau_at history);
        take!(plan_file settings artefact round ended_at);
        read.extra = members.rest();
        Ok(read)
    }
}

impl TryFrom<Value> for RefineSession {
    type Error = Mistake;

    fn try_from(value: Value) -> Result<Self, Mistake> {
        RefineSession::from_json(value)
    }
}
