//! A summary of the state document for one line of output, without the parts that the line does not
//! show.
//!
//! Tasks and criteria are counted while they are read: the status line is drawn after each answer
//! of the model, in every session, and there may be thousands of tasks.

use super::{
    ClientProcess, EndingKind, GlanceEnding, GlanceOrchestration, Limits, Mode, PauseCause, Phase,
    PlanPhase, Registration, SCHEMA_VERSION, TaskStatus,
};
use crate::state::Tokens;
use jiff::Timestamp;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, de};
use std::borrow::Cow;
use std::fmt;

/// What one line of output needs from a loop. Fields as in [`super::LoopState`].
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "they are those of the whole document")]
pub struct Brief {
    pub schema_version: u32,
    pub session_id: String,
    pub loop_id: String,
    pub mode: Mode,
    pub phase: Phase,
    pub iteration: u32,
    pub max_iterations: u32,
    pub pause: Option<BriefPause>,
    pub blocked: Option<BriefBlocked>,
    pub ending: Option<GlanceEnding>,
    pub started_at: Option<Timestamp>,
    pub limits: Limits,
    pub usage: BriefUsage,
    #[serde(rename = "acceptance_criteria")]
    pub criteria: Criteria,
    #[serde(rename = "task_graph")]
    pub tasks: Tasks,
    pub via: Option<Registration>,
    pub project_root: String,
    pub document: String,
    pub ralplan: Option<BriefPlan>,
    pub session: Option<GlanceOrchestration>,
    pub client: Option<ClientProcess>,
}

/// Absent fields have the same defaults as in the whole document.
impl Default for Brief {
    fn default() -> Self {
        Brief {
            schema_version: SCHEMA_VERSION,
            session_id: String::new(),
            loop_id: String::new(),
            mode: Mode::default(),
            phase: Phase::Planned,
            iteration: 0,
            max_iterations: 25,
            pause: None,
            blocked: None,
            ending: None,
            started_at: None,
            limits: Limits::default(),
            usage: BriefUsage::default(),
            criteria: Criteria::default(),
            tasks: Tasks::default(),
            via: None,
            project_root: String::new(),
            document: String::new(),
            ralplan: None,
            session: None,
            client: None,
        }
    }
}

impl Brief {
    /// See [`super::LoopState::awaits_decision`].
    pub fn awaits_decision(&self) -> bool {
        let cause = self.pause.as_ref().map(|pause| &pause.cause);
        let is_live = self.phase.is_running() || self.phase == Phase::Paused;
        is_live && self.ralplan.as_ref().is_some_and(|plan| plan.phase.awaits_decision(cause))
    }

    /// How the loop ended; `None` if it has not ended.
    pub fn ended(&self) -> Option<&EndingKind> {
        self.ending.as_ref().map(|ending| &ending.kind)
    }
}

/// The part of [`super::Pause`] that is shown.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct BriefPause {
    pub cause: PauseCause,
}

/// The part of [`super::Blocked`] that is shown.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct BriefBlocked {
    pub what: String,
}

/// The part of [`crate::state::Usage`] that is shown.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct BriefUsage {
    pub tokens: Tokens,
    /// In US dollars; 0 if no client reported it.
    pub cost: f64,
}

/// The part of [`super::RalplanState`] that is shown.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct BriefPlan {
    pub phase: PlanPhase,
    pub iteration: u32,
    pub max_iterations: u32,
}

/// The number of criteria, and how many held in their last run or review.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Criteria {
    pub total: usize,
    pub held: usize,
    /// Those of `held` that a reviewer judged, and no command proved.
    pub reviewed: usize,
}

/// The number of tasks, and the claimed ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tasks {
    pub total: usize,
    pub done: usize,
    /// Tasks claimed according to the document; a claim may have expired.
    pub claimed: Vec<Claimed>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claimed {
    pub id: String,
    pub name: String,
    /// When the claim expires.
    pub until: Option<Timestamp>,
}

/// No loop has more workers. Only the first claim that has not expired is shown.
const CLAIMS_KEPT: usize = 64;

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct OneCriterion {
    verified: bool,
    receipt: Option<de::IgnoredAny>,
    review: Option<de::IgnoredAny>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct OneTask<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    name: Cow<'a, str>,
    status: Option<TaskStatus>,
    lease_expires_at: Option<Timestamp>,
}

/// Deserializes a list item by item.
struct Each<T, F>(F, std::marker::PhantomData<T>);

impl<'de, T: Deserialize<'de>, F: FnMut(T)> Visitor<'de> for Each<T, F> {
    type Value = ();

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        while let Some(item) = items.next_element()? {
            (self.0)(item);
        }
        Ok(())
    }
}

fn each<'de, T: de::Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
    take: impl FnMut(T),
) -> Result<(), D::Error> {
    deserializer.deserialize_seq(Each(take, std::marker::PhantomData))
}

impl<'de> Deserialize<'de> for Criteria {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut all = Criteria::default();
        each(deserializer, |one: OneCriterion| {
            all.total += 1;
            let is_met = one.verified && one.receipt.is_some();
            all.held += usize::from(is_met);
            all.reviewed += usize::from(is_met && one.review.is_some());
        })?;
        Ok(all)
    }
}

impl<'de> Deserialize<'de> for Tasks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut all = Tasks::default();
        each(deserializer, |one: OneTask<'de>| {
            all.total += 1;
            all.done += usize::from(one.status == Some(TaskStatus::Done));
            if one.status == Some(TaskStatus::InProgress) && all.claimed.len() < CLAIMS_KEPT {
                let (id, name) = (one.id.into_owned(), one.name.into_owned());
                all.claimed.push(Claimed { id, name, until: one.lease_expires_at });
            }
        })?;
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{LoopState, StateView};
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_said_in_passing_is_what_the_whole_document_says() {
        let text = json!({
            "loop_id": "l", "session_id": "s", "mode": "ralplan", "phase": "paused", "iteration": 3,
            "max_iterations": 9, "pause": {"cause": "interrupted", "told": true},
            "blocked": {"what": "log in", "at": "2026-01-02T03:04:05Z"},
            "started_at": "2026-01-02T03:04:05Z", "limits": {"max_minutes": 7, "max_tokens": 9},
            "usage": {"tokens": {"input": 1, "output": 2}, "sources": {"/a": {"offset": 4}}},
            "acceptance_criteria": [{"id": "AC-1", "verified": true, "receipt": {}},
                {"id": "AC-2", "verified": true, "colour": 1}],
            "task_graph": [
                {"id": "T-1", "status": "done"},
                {"id": "T-2", "name": "a \"b\"", "status": "in_progress",
                 "lease_expires_at": "2026-01-02T03:04:05Z"},
                {"id": "T-3", "status": "waiting for spring"},
            ],
            "ralplan": {"phase": "critic_review", "iteration": 2, "max_iterations": 5},
        })
        .to_string();
        let whole: LoopState = serde_json::from_str(&text).unwrap();
        let brief: Brief = serde_json::from_str(&text).unwrap();
        assert_eq!(brief.position(), whole.position());
        assert_eq!((&brief.phase, &brief.mode), (&whole.phase, &whole.mode.word()));
        assert_eq!((&brief.limits, brief.started_at), (&whole.limits, whole.started_at));
        assert_eq!(brief.usage.tokens, whole.usage.tokens);
        assert_eq!(brief.pause.unwrap().cause, whole.pause.as_ref().unwrap().cause);
        assert_eq!(brief.blocked.unwrap().what, whole.blocked.as_ref().unwrap().what);
        assert_eq!(brief.criteria, Criteria { total: 2, held: 1, reviewed: 0 });
        let claimed = Claimed {
            id: "T-2".to_owned(),
            name: "a \"b\"".to_owned(),
            until: whole.task_graph[1].lease_expires_at,
        };
        assert_eq!(brief.tasks, Tasks { total: 3, done: 1, claimed: vec![claimed] });
        let (plan, all) = (brief.ralplan.unwrap(), whole.ralplan().unwrap());
        assert_eq!((&plan.phase, plan.iteration), (&all.phase, all.iteration));
    }

    #[test]
    fn what_a_document_leaves_out_is_the_same_in_passing() {
        let whole: LoopState = serde_json::from_str("{}").unwrap();
        let brief: Brief = serde_json::from_str("{}").unwrap();
        assert_eq!(brief.schema_version, whole.schema_version);
        assert_eq!((brief.position(), &brief.phase), (whole.position(), &whole.phase));
        assert_eq!((brief.tasks.total, brief.criteria.total, brief.ended()), (0, 0, None));
    }
}
