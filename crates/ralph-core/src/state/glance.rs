//! A summary of the state document for tool calls. Its cost does not grow with the rest of the
//! document.

use super::{
    ClientProcess, EndingKind, KnownTasks, LoopState, Mode, Obeyed, Phase, PlanPhase, Registration,
    SCHEMA_VERSION, tasks,
};
use jiff::Timestamp;
use serde::Deserialize;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// What a tool call needs from a loop. Fields as in [`LoopState`].
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub struct Glance {
    pub schema_version: u32,
    pub session_id: String,
    pub loop_id: String,
    pub mode: Mode,
    pub phase: Phase,
    pub iteration: u32,
    pub max_iterations: u32,
    pub turn: Option<GlanceTurn>,
    pub ending: Option<GlanceEnding>,
    pub via: Option<Registration>,
    pub touched: bool,
    pub let_finish: bool,
    pub baseline_pending: bool,
    pub details_due: String,
    pub project_root: String,
    pub document: String,
    pub ralplan: Option<GlancePlan>,
    pub session: Option<GlanceOrchestration>,
    pub client: Option<ClientProcess>,
    pub obeyed: Option<Obeyed>,
}

/// The part of [`super::OrchestrationState`] that a tool call needs.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct GlanceOrchestration {
    pub id: String,
}

/// Absent fields have the same defaults as in the whole document.
impl Default for Glance {
    fn default() -> Self {
        Glance {
            schema_version: SCHEMA_VERSION,
            session_id: String::new(),
            loop_id: String::new(),
            mode: Mode::default(),
            phase: Phase::Planned,
            iteration: 0,
            max_iterations: 25,
            turn: None,
            ending: None,
            via: None,
            touched: false,
            let_finish: false,
            baseline_pending: false,
            details_due: String::new(),
            project_root: String::new(),
            document: String::new(),
            ralplan: None,
            session: None,
            client: None,
            obeyed: None,
        }
    }
}

/// The part of [`super::RalplanState`] that a tool call needs.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct GlancePlan {
    pub phase: PlanPhase,
    pub plan_path: String,
    pub plan_hash: String,
}

/// The part of [`super::DrivenTurn`] that a tool call needs.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct GlanceTurn {
    pub prompt_id: String,
    pub worked: bool,
    pub typed: bool,
    pub pause_told: bool,
    pub transcript_from: u64,
}

/// The part of [`super::Ending`] that a tool call needs.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct GlanceEnding {
    pub kind: EndingKind,
    pub at: Option<Timestamp>,
}

/// A view of the state document: the whole document or a [`Glance`].
pub trait StateView: serde::de::DeserializeOwned {
    /// Reads a document; `known` says what is known of its tasks.
    ///
    /// # Errors
    /// If the document is no state.
    fn of_text(
        document: &Arc<Vec<u8>>,
        _known: impl FnOnce() -> Option<KnownTasks>,
        _now: Timestamp,
    ) -> serde_json::Result<Self> {
        serde_json::from_slice(document)
    }

    fn schema_version(&self) -> u32;
    /// Id of the session that the loop is bound to.
    fn session_id(&self) -> &str;
    /// Completed and maximum iterations: `3/25`.
    fn position(&self) -> String;
    fn phase(&self) -> &Phase;
    fn mode(&self) -> Mode;
    /// The loop's id; a document without one is not a state.
    fn loop_id(&self) -> &str;
    /// The highest-ranking registration seen.
    fn via(&self) -> Option<Registration>;
    /// The folder of the project's own document, for modes that have one. Never outside the
    /// project.
    fn document(&self) -> Option<PathBuf>;
    /// The client process in which the loop was last seen, while the loop is live.
    fn live_client(&self) -> Option<&ClientProcess>;
    /// The prompt that was obeyed last, until it is known who gave it.
    fn obeyed(&self) -> Option<&Obeyed>;
    /// The name of the orchestration that the loop drives.
    fn orchestrated(&self) -> Option<&str>;

    /// Why none of our rules apply to this state; `None` if they do.
    fn strangeness(&self) -> Option<String> {
        match (self.loop_id(), self.phase(), self.mode()) {
            (_, Phase::Ended, _) => None,
            ("", ..) => Some("it names no loop".to_owned()),
            (_, Phase::Other(phase), _) => Some(format!("its phase `{phase}` is not known")),
            (.., Mode::Other(mode)) => Some(format!("its mode `{mode}` is not known")),
            _ => None,
        }
    }

    /// True if the loop is bound to this session. A session without an id has no loop, whatever the
    /// document says.
    fn is_of(&self, session_id: &str) -> bool {
        !session_id.is_empty() && self.session_id() == session_id
    }

    /// True if the loop drives the orchestration that a headless client was started for, according
    /// to that client's environment. Several such clients may run at once; none of them is the
    /// bound session.
    fn is_of_driven(&self, call: impl FnOnce() -> Option<String>) -> bool {
        let Some(id) = self.orchestrated() else { return false };
        // We write the document, so a quoted match identifies the name.
        !id.is_empty() && call().is_some_and(|call| call.contains(&format!("\"{id}\"")))
    }

    /// True if a higher-ranking registration has been seen: its copy of the hook replies, this one
    /// stays silent.
    fn outranks(&self, via: Registration) -> bool {
        self.via().is_some_and(|seen| seen > via)
    }
}

macro_rules! document {
    ($view:ty, |$state:ident| $mode:expr, $orchestrated:expr $(, $more:item)?) => {
        impl StateView for $view {
            $($more)?

            fn schema_version(&self) -> u32 {
                self.schema_version
            }

            fn session_id(&self) -> &str {
                &self.session_id
            }

            fn position(&self) -> String {
                format!("{}/{}", self.iteration, self.max_iterations)
            }

            fn phase(&self) -> &Phase {
                &self.phase
            }

            fn loop_id(&self) -> &str {
                &self.loop_id
            }

            fn via(&self) -> Option<Registration> {
                self.via
            }

            fn live_client(&self) -> Option<&ClientProcess> {
                let is_live = self.phase.is_running() || self.phase == Phase::Paused;
                self.client.as_ref().filter(|_| is_live)
            }

            fn mode(&self) -> Mode {
                let $state = self;
                $mode
            }

            fn obeyed(&self) -> Option<&Obeyed> {
                self.obeyed.as_ref()
            }

            fn orchestrated(&self) -> Option<&str> {
                let $state = self;
                $orchestrated.map(|session| session.id.as_str())
            }

            fn document(&self) -> Option<PathBuf> {
                let below = Path::new(&self.document);
                let is_inside = below.components().all(|part| matches!(part, Component::Normal(_)));
                let is_there = is_inside && !self.document.is_empty();
                is_there.then(|| Path::new(&self.project_root).join(below))
            }
        }
    };
}

document!(
    LoopState,
    |state| state.mode.word(),
    state.orchestration(),
    fn of_text(
        document: &Arc<Vec<u8>>,
        known: impl FnOnce() -> Option<KnownTasks>,
        now: Timestamp,
    ) -> serde_json::Result<LoopState> {
        tasks::of_text(document, known, now)
    }
);
document!(
    Glance,
    |view| view.mode.clone(),
    view.session.as_ref(),
    fn of_text(
        document: &Arc<Vec<u8>>,
        _known: impl FnOnce() -> Option<KnownTasks>,
        _now: Timestamp,
    ) -> serde_json::Result<Glance> {
        let rest = tasks::without_tasks(document);
        let glance = rest.and_then(|rest| serde_json::from_slice(&rest).ok());
        glance.map_or_else(|| serde_json::from_slice(document), Ok)
    }
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_document_leaves_out_is_the_same_at_a_glance() {
        for text in ["{}", r#"{"ending":{}}"#, r#"{"turn":{}}"#, r#"{"iteration":3}"#] {
            let whole: LoopState = serde_json::from_str(text).unwrap();
            let glance: Glance = serde_json::from_str(text).unwrap();
            assert_eq!(glance.schema_version, whole.schema_version, "{text}");
            assert_eq!((&glance.mode, &glance.phase), (&whole.mode.word(), &whole.phase), "{text}");
            assert_eq!(StateView::position(&glance), whole.position(), "{text}");
            let ending = whole.ending.map(|ending| ending.kind);
            assert_eq!(glance.ending.map(|ending| ending.kind), ending, "{text}");
        }
    }

    #[test]
    fn tasks_are_left_out_where_they_stand_as_we_write_them() {
        let begin = "{\n  \"phase\": \"paused\",\n  \"task_graph\": [";
        for (text, is_left_out) in [
            ("\n    {\n      \"deps\": [\n      ]\n    }\n  ],\n  \"iteration\": 7\n}", true),
            ("\n    7\n  ],\n  \"iteration\": 7}", true),
            ("], \"iteration\": 7}", false),
            ("{\"deps\": [\n  ]}\n  ], \"iteration\": 7}", false),
        ] {
            let document = Arc::new(format!("{begin}{text}").into_bytes());
            let glance = Glance::of_text(&document, || None, Timestamp::UNIX_EPOCH).unwrap();
            assert_eq!((glance.phase, glance.iteration), (Phase::Paused, 7), "{text}");
            let rest = tasks::without_tasks(&document);
            let rest = rest.filter(|rest| serde_json::from_slice::<Glance>(rest).is_ok());
            assert_eq!(rest.is_some(), is_left_out, "{text}");
        }
        let cut = Arc::new(format!("{begin}\n    {{").into_bytes());
        assert!(Glance::of_text(&cut, || None, Timestamp::UNIX_EPOCH).is_err());
    }

    #[test]
    fn a_loop_is_of_its_own_session_and_none_is_of_a_session_without_a_name() {
        let bound_to =
            |session_id: &str| Glance { session_id: session_id.into(), ..Glance::default() };
        assert!(bound_to("s").is_of("s"));
        assert!(!bound_to("s").is_of("t"));
        assert!(!bound_to("s").is_of(""));
        assert!(!bound_to("").is_of(""));
    }

    #[test]
    fn a_document_stands_in_the_project_and_nowhere_else() {
        let of = |document: &str| {
            let project_root = "/p".to_owned();
            Glance { project_root, document: document.to_owned(), ..Glance::default() }.document()
        };
        assert_eq!(of(".ralph-sessions/1"), Some(PathBuf::from("/p/.ralph-sessions/1")));
        assert_eq!((of(""), of("../x"), of("/x"), of("a/../../x")), (None, None, None, None));
    }

    #[test]
    fn only_a_higher_rank_outranks() {
        let seen = |via| Glance { via, ..Glance::default() };
        assert!(seen(Some(Registration::Settings)).outranks(Registration::Plugin));
        assert!(!seen(Some(Registration::Plugin)).outranks(Registration::Plugin));
        assert!(!seen(Some(Registration::Plugin)).outranks(Registration::Settings));
        assert!(!seen(None).outranks(Registration::Unnamed));
    }
}
