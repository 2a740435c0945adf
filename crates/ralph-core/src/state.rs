//! The state file of a loop: the schema of the original pattern plus our own fields.
//!
//! Unknown fields are kept and written back at every level where a user or a newer version may have
//! added one. A file with a newer `schema_version` is never rewritten; the store checks that.

mod modes;
mod progress;
mod proof;
mod session;
pub mod signals;
mod tasks;

mod words;

pub use modes::{
    MAX_REJECTIONS, ModeState, OrchestrationCall, OrchestrationState, PlanDecision, PlanVerdict,
    RalplanState, RefineState,
};
pub use progress::{
    Blocked, Ending, LimitFlag, Limits, LoopError, Obeyed, Pause, Progress, Source, Tokens, Usage,
};
pub use proof::{
    Accepted, Change, Citation, Criterion, CriterionRunner, Finding, Frozen, Green, Judgement,
    Observation, Observed, Outcome, REVIEW_PREFIX, REVIEWED, Receipt, Regression, ReviewLens,
    ReviewPlan, ReviewReceipt, ReviewRound, StartedReviewer,
};
pub use session::{
    Bound, Bounds, BuildRound, ClientProcess, DrivenTurn, Environment, Registration, Worker,
};
pub use tasks::{PlanFile, PlanFormat, PlannedTask, Task, TaskDigest, TaskList, TaskSummary};
pub(crate) use words::words;
pub use words::{
    Completion, DecidedBy, DecisionKind, EndingKind, EndingTone, Mode, PauseCause, Phase,
    PlanPhase, Signal, StartedBy, TaskStatus, WorkerStanding,
};

use jiff::Timestamp;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// The schema version that this code writes.
pub const SCHEMA_VERSION: u32 = 1;

/// The default token that requests completion.
pub const COMPLETION_TOKEN: &str = "RALPH_COMPLETE";

/// Members that this version does not know.
pub type Extra = BTreeMap<String, Value>;

/// One loop, as stored in `loops/<loop_id>/state.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, remote = "Self")]
pub struct LoopState {
    /// Schema version of this document.
    pub schema_version: u32,
    /// Name of the loop's folder.
    pub loop_id: String,
    /// Claude Code's session id; empty until a session is bound.
    pub session_id: String,
    /// Which rules drive the loop, and the state that only they need.
    #[serde(flatten, skip_deserializing)]
    pub mode: ModeState,
    /// The phase of the loop.
    pub phase: Phase,
    /// The phase to return to when a pause ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume_phase: Option<Phase>,
    /// Why the loop is paused, while `phase` is `paused`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause: Option<Pause>,
    /// How the loop ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
    /// Absolute path of the project, as the client reported it when the loop started.
    pub project_root: String,
    /// Folder of the project's own document, below `project_root`, for modes that have one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub document: String,
    /// The user's request.
    pub prompt: String,
    /// How many times the loop may continue before it ends.
    pub max_iterations: u32,
    /// How many times the loop has continued.
    pub iteration: u32,
    /// When the loop was started or planned.
    pub created_at: Timestamp,
    /// When the loop began to run; absent while it is only planned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// How many seconds all pauses took that are over.
    #[serde(skip_serializing_if = "is_default")]
    pub paused_seconds: u64,
    /// When this document was last written.
    pub updated_at: Timestamp,
    /// The criteria that define "done".
    pub acceptance_criteria: Vec<Criterion>,
    /// The criteria that the user agreed to when the loop started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frozen: Option<Frozen>,
    /// What had changed since the start of the loop at the last request for completion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
    /// The observation that runs now, for the status line.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub observing: String,
    /// The refusals that are given once and were given, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refusals: Vec<String>,
    /// Why the last request for completion was refused although all criteria pass.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub refused: String,
    /// What reviewers of an unattended run found about refusals.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub judgements: Vec<Judgement>,
    /// Digest of the commands and the tree with which all criteria last passed one after another.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub held_together: String,
    /// Files that no file of the start was, and that a criterion's command writes anew each time: reports, coverage.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<String>,
    /// Patterns of tests that the user allowed to change before the loop began.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tests_may_change: Vec<String>,
    /// The environment variables that decided what runs when the loop started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<Environment>,
    /// What the commands of the loop may write, read and reach; absent if the loop is not
    /// sandboxed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
    /// True until the criteria have run once before the work, as `--baseline` requests.
    #[serde(skip_serializing_if = "is_default")]
    pub baseline_pending: bool,
    /// The last time that all criteria held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<Green>,
    /// The work, as tasks with dependencies.
    pub task_graph: TaskList,
    /// What planning found out about the project.
    pub context_report: String,
    /// The plan of another tool from which the loop was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_file: Option<PlanFile>,
    /// Fingerprints of the work at the last stops, oldest first.
    pub stall_hashes: Vec<String>,
    /// Progress at the last stops, besides the fingerprints.
    pub progress: Progress,
    /// What the model reported that a person must do before it can continue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked: Option<Blocked>,
    /// The token that requests completion.
    pub completion_token: String,
    /// Errors, in the order in which they occurred.
    pub errors: Vec<LoopError>,
    /// The rule that decides completion.
    pub completion: Completion,
    /// Consecutive stops without progress after which the loop ends as stalled.
    pub stall_limit: u32,
    /// Limits besides `max_iterations`.
    pub limits: Limits,
    /// Tokens that the client has reported since the start.
    pub usage: Usage,
    /// Sessions that the loop was bound to before, oldest first.
    pub lineage: Vec<Bound>,
    /// The settings at the start of the loop.
    pub settings: Value,
    /// The highest-ranking registration seen: `settings`, `plugin` or `skill`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<Registration>,
    /// Who started the loop.
    pub started_by: StartedBy,
    /// The turn that the loop currently drives; absent if no reply is outstanding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<DrivenTurn>,
    /// The client process in which the loop was last seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientProcess>,
    /// True after the first event since the start; until then a new `/ralph` may replace the loop.
    pub touched: bool,
    /// Id of the prompt with which the user cancelled in the session; that prompt already has its
    /// answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancelled_by_prompt: Option<String>,
    /// The prompt that was obeyed last, until it is known who gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub obeyed: Option<Obeyed>,
    /// Prompts that the model has scheduled in this session: when they arrive, no user typed them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scheduled: Vec<String>,
    /// Set by a cancel that lets the running turn finish.
    #[serde(skip_serializing_if = "is_default")]
    pub let_finish: bool,
    /// True from a compaction until the model has received the whole loop prompt at a stop.
    #[serde(skip_serializing_if = "is_default")]
    pub context_lost: bool,
    /// Text about the last stop that the model gets with its next tool call: the client shows the
    /// user whatever a stop itself answers.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub details_due: String,
    /// The round of `ralph build` that runs in this session; absent in a session that a user
    /// started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<BuildRound>,
    /// Rounds of fresh clients that have begun; 0 in a loop that a session drives.
    #[serde(skip_serializing_if = "is_default")]
    pub rounds: u32,
    /// True if workers do the tasks, each in its own worktree, and the session only starts the
    /// workers and merges their work.
    #[serde(skip_serializing_if = "is_default")]
    pub parallel: bool,
    /// Workers that are running, and workers whose worktrees exist or may exist.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<Worker>,
    /// For the loop of a headless worker: the id of the loop whose task it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// How the changes are reviewed once the criteria hold; absent if they are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewPlan>,
    /// The rounds of review, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reviews: Vec<ReviewRound>,
    /// The reviewers at work, and those of a run that was killed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reviewers: Vec<StartedReviewer>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Default for LoopState {
    fn default() -> Self {
        LoopState {
            schema_version: SCHEMA_VERSION,
            loop_id: String::new(),
            session_id: String::new(),
            mode: ModeState::default(),
            phase: Phase::Planned,
            resume_phase: None,
            pause: None,
            ending: None,
            project_root: String::new(),
            document: String::new(),
            prompt: String::new(),
            max_iterations: 25,
            iteration: 0,
            created_at: Timestamp::UNIX_EPOCH,
            started_at: None,
            paused_seconds: 0,
            updated_at: Timestamp::UNIX_EPOCH,
            acceptance_criteria: Vec::new(),
            frozen: None,
            change: None,
            observing: String::new(),
            refusals: Vec::new(),
            refused: String::new(),
            judgements: Vec::new(),
            held_together: String::new(),
            outputs: Vec::new(),
            tests_may_change: Vec::new(),
            environment: None,
            bounds: None,
            baseline_pending: false,
            checkpoint: None,
            task_graph: TaskList::default(),
            context_report: String::new(),
            plan_file: None,
            stall_hashes: Vec::new(),
            progress: Progress::default(),
            blocked: None,
            completion_token: COMPLETION_TOKEN.to_owned(),
            errors: Vec::new(),
            completion: Completion::Verified,
            stall_limit: 3,
            limits: Limits::default(),
            usage: Usage::default(),
            lineage: Vec::new(),
            settings: Value::Null,
            via: None,
            started_by: StartedBy::Person,
            turn: None,
            client: None,
            touched: false,
            cancelled_by_prompt: None,
            obeyed: None,
            scheduled: Vec::new(),
            let_finish: false,
            context_lost: false,
            details_due: String::new(),
            round: None,
            rounds: 0,
            parallel: false,
            workers: Vec::new(),
            parent: None,
            review: None,
            reviews: Vec::new(),
            reviewers: Vec::new(),
            extra: Extra::new(),
        }
    }
}

impl Serialize for LoopState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        LoopState::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for LoopState {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut state = LoopState::deserialize(deserializer)?;
        state.mode = ModeState::take(&mut state.extra).map_err(D::Error::custom)?;
        for criterion in &mut state.acceptance_criteria {
            // A criterion without a receipt was never run, whatever its document says.
            criterion.verified &= criterion.receipt.is_some();
        }
        Ok(state)
    }
}

/// Detail of the pause when the session ends before the user has decided about a plan.
pub const AWAITS_DECISION: &str = "the plan waits for your decision: `ralph ralplan approve`, `adjust` or `discard` in a terminal";

impl LoopState {
    /// True while the loop decides when the model may stop.
    pub fn is_running(&self) -> bool {
        self.phase.is_running()
    }

    /// True while the loop is running or paused: it belongs to its session.
    pub fn is_live(&self) -> bool {
        self.is_running() || self.phase == Phase::Paused
    }

    /// True while the plan needs the user's decision and nothing else blocks it, whether or not the
    /// session that asked is still open.
    pub fn awaits_decision(&self) -> bool {
        let cause = self.pause.as_ref().map(|pause| &pause.cause);
        self.is_live() && self.ralplan().is_some_and(|plan| plan.phase.awaits_decision(cause))
    }

    /// Completed and maximum iterations, for people: `3/25`.
    pub fn position(&self) -> String {
        format!("{}/{}", self.iteration, self.max_iterations)
    }

    /// The client process in which the loop was last seen, while the loop is live.
    pub fn live_client(&self) -> Option<&ClientProcess> {
        self.client.as_ref().filter(|_| self.is_live())
    }

    /// The name of the orchestration that the loop drives.
    pub fn orchestrated(&self) -> Option<&str> {
        self.orchestration().map(|session| session.id.as_str())
    }

    /// The folder of the project's own document, for modes that have one. Never outside the project.
    pub fn document(&self) -> Option<PathBuf> {
        let below = Path::new(&self.document);
        let is_inside = below.components().all(|part| matches!(part, Component::Normal(_)));
        let is_there = is_inside && !self.document.is_empty();
        is_there.then(|| Path::new(&self.project_root).join(below))
    }

    /// Why none of our rules apply to this state; `None` if they do.
    pub fn strangeness(&self) -> Option<String> {
        match (self.loop_id.as_str(), &self.phase, &self.mode) {
            (_, Phase::Ended, _) => None,
            ("", ..) => Some("it names no loop".to_owned()),
            (_, Phase::Other(phase), _) => Some(format!("its phase `{phase}` is not known")),
            (.., ModeState::Other(mode)) => Some(format!("its mode `{mode}` is not known")),
            _ => None,
        }
    }

    /// True if the loop is bound to this session. A session without an id has no loop, whatever the
    /// document says.
    pub fn is_of(&self, session_id: &str) -> bool {
        !session_id.is_empty() && self.session_id == session_id
    }

    /// True if the loop drives the orchestration that a headless client was started for, according
    /// to that client's environment. Several such clients may run at once; none of them is the
    /// bound session.
    pub fn is_of_driven(&self, call: impl FnOnce() -> Option<String>) -> bool {
        let Some(id) = self.orchestrated() else { return false };
        // We write the document, so a quoted match identifies the name.
        !id.is_empty() && call().is_some_and(|call| call.contains(&format!("\"{id}\"")))
    }

    /// True if a higher-ranking registration has been seen: its copy of the hook replies, this one
    /// stays silent.
    pub fn outranks(&self, via: Registration) -> bool {
        self.via.is_some_and(|seen| seen > via)
    }

    /// Records the registration that an event came from, and that the loop had an event.
    pub fn note_event(&mut self, via: Registration) {
        self.via = self.via.max(Some(via));
        self.touched = true;
    }

    /// Pauses the loop. A loop that is already paused keeps its first cause, unless that cause
    /// would let it continue by itself and the new one would not: a pause by the user outlasts a
    /// crash.
    pub fn pause(&mut self, cause: PauseCause, detail: impl Into<String>, now: Timestamp) {
        // Consensus planning that only waits for a decision cannot crash.
        if cause == PauseCause::Crashed && self.is_running() && self.awaits_decision() {
            return self.pause(PauseCause::BlockedOnHuman, AWAITS_DECISION, now);
        }
        if self.is_running() {
            self.resume_phase = Some(self.phase.clone());
            self.phase = Phase::Paused;
            self.pause = Some(Pause { cause, at: now, detail: detail.into(), ..Pause::default() });
            self.turn = None;
            self.observing.clear();
            // The loop prompt is repeated when the loop continues.
            self.details_due.clear();
        } else if let Some(pause) = &mut self.pause
            && pause.cause.resumes_by_itself()
            && !cause.resumes_by_itself()
        {
            let told = pause.told;
            self.paused_seconds += seconds_between(pause.at, now);
            *pause = Pause { cause, at: now, detail: detail.into(), told, attended: false };
        }
    }

    /// Continues a paused loop in the phase where it paused. Does nothing if the loop is not
    /// paused.
    pub fn resume(&mut self, now: Timestamp) {
        if self.phase == Phase::Paused {
            self.phase = self.resume_phase.take().unwrap_or(Phase::Implementation);
            self.end_pause(now);
            // The user has intervened: earlier stops without progress no longer count.
            self.forget_progress();
            self.blocked = None;
        }
    }

    /// As [`LoopState::resume`], with the limits counted from zero again.
    pub fn resume_anew(&mut self, now: Timestamp) {
        self.resume(now);
        self.iteration = 0;
        (self.started_at, self.paused_seconds) = (Some(now), 0);
        self.usage.forget();
    }

    fn end_pause(&mut self, now: Timestamp) {
        let took = self.pause.take().map(|pause| seconds_between(pause.at, now));
        self.paused_seconds += took.unwrap_or(0);
    }

    /// The seconds from the start until then, without the pauses.
    pub fn worked_seconds(&self, until: Timestamp) -> u64 {
        let began = self.started_at.unwrap_or(self.created_at);
        let until = self.pause.as_ref().map_or(until, |pause| pause.at.min(until));
        seconds_between(began, until).saturating_sub(self.paused_seconds)
    }

    /// Takes the text that is due with a tool call of the conversation.
    pub fn take_details(&mut self) -> String {
        if !self.details_due.is_empty() {
            self.context_lost = false;
        }
        std::mem::take(&mut self.details_due)
    }

    /// Restarts the stall detection.
    pub fn forget_progress(&mut self) {
        self.stall_hashes.clear();
        self.progress = Progress::default();
    }

    pub fn end(&mut self, kind: EndingKind, detail: impl Into<String>, now: Timestamp) {
        self.phase = Phase::Ended;
        self.resume_phase = None;
        self.end_pause(now);
        self.details_due.clear();
        self.ending = Some(Ending { kind, at: now, detail: detail.into(), cause: None });
        if let Some(plan) = self.ralplan_mut() {
            plan.end();
        }
    }
}

/// Zero if the clock was set back meanwhile.
fn seconds_between(from: Timestamp, until: Timestamp) -> u64 {
    u64::try_from(until.duration_since(from).as_secs()).unwrap_or(0)
}

/// True for what says nothing: it is not written.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn unknown_members_survive_a_rewrite_at_every_level() {
        let text = json!({
            "loop_id": "l", "colour": {"a": [1]},
            "limits": {"max_minutes": 5, "max_dollars": 3},
            "acceptance_criteria": [{"id": "AC-1", "weight": 2}],
            "task_graph": [{"id": "T-1", "estimate": "2h", "status": "waiting for spring"}],
            "phase": "hibernating", "mode": "loop",
        });
        let state: LoopState = serde_json::from_value(text).unwrap();
        let back = serde_json::to_value(&state).unwrap();
        assert_eq!(back["colour"], json!({"a": [1]}));
        assert_eq!(back["limits"]["max_dollars"], 3);
        assert_eq!(back["acceptance_criteria"][0]["weight"], 2);
        assert_eq!(back["task_graph"][0]["estimate"], "2h");
        assert_eq!(back["task_graph"][0]["status"], "waiting for spring");
        assert_eq!(back["phase"], "hibernating");
        assert!(!state.is_live(), "an unknown phase is not ours to drive");
    }

    #[test]
    fn the_patterns_own_example_reads() {
        let state: LoopState = serde_json::from_value(json!({
            "session_id": "abc", "phase": "implementation", "max_iterations": 25, "iteration": 0,
            "created_at": "2026-01-02T03:04:05Z",
            "acceptance_criteria": [{"id": "AC-T", "description": "All tests pass", "verified": false,
                "verification_command": "npm test"}],
            "task_graph": [{"id": "T-1", "name": "n", "deps": [], "status": "pending",
                "completion_condition": "c", "files": ["f"]}],
            "context_report": "", "stall_hashes": [], "completion_token": "RALPH_COMPLETE", "errors": []
        }))
        .unwrap();
        assert!(state.is_running());
        assert_eq!(state.mode, ModeState::Plain);
        assert_eq!(state.limits.max_minutes, 480);
    }

    #[test]
    fn a_pause_keeps_the_phase_to_return_to() {
        let mut state = LoopState { phase: Phase::Verification, ..LoopState::default() };
        state.pause(PauseCause::Person, "", Timestamp::UNIX_EPOCH);
        state.pause(PauseCause::Crashed, "", Timestamp::UNIX_EPOCH);
        assert_eq!(
            state.pause.as_ref().unwrap().cause,
            PauseCause::Person,
            "the first cause stays"
        );
        state.resume(Timestamp::UNIX_EPOCH);
        assert_eq!(state.phase, Phase::Verification);
    }

    #[test]
    fn the_time_of_pauses_is_no_working_time() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let started_at = Some(at(100));
        let mut state =
            LoopState { phase: Phase::Implementation, started_at, ..LoopState::default() };
        state.pause(PauseCause::Crashed, "", at(110));
        assert_eq!(state.worked_seconds(at(5_000)), 10);
        state.pause(PauseCause::Person, "", at(6_000));
        assert_eq!(state.worked_seconds(at(6_500)), 10);
        state.resume(at(7_000));
        assert_eq!(state.worked_seconds(at(7_005)), 15);
        // A clock that was set back.
        state.pause(PauseCause::Person, "", at(50));
        assert_eq!(state.worked_seconds(at(7_005)), 0);
        state.resume(at(7_005));
        state.pause(PauseCause::Person, "", at(7_010));
        state.end(EndingKind::Cancelled, "", at(9_000));
        assert_eq!(state.worked_seconds(at(9_000)), 0);
    }

    #[test]
    fn a_person_who_pauses_a_crashed_loop_keeps_it_from_going_on_by_itself() {
        let mut state = LoopState { phase: Phase::Implementation, ..LoopState::default() };
        state.pause(PauseCause::Crashed, "gone", Timestamp::UNIX_EPOCH);
        state.pause(PauseCause::HostBudget, "", Timestamp::UNIX_EPOCH);
        assert_eq!(state.pause.as_ref().unwrap().cause, PauseCause::Crashed);
        state.pause(PauseCause::Person, "typed", Timestamp::UNIX_EPOCH);
        let pause = state.pause.as_ref().unwrap();
        assert_eq!((&pause.cause, pause.detail.as_str()), (&PauseCause::Person, "typed"));
        assert_eq!(state.resume_phase, Some(Phase::Implementation));
    }

    #[test]
    fn a_planning_that_waits_for_a_person_does_not_crash() {
        let plan = |phase| LoopState {
            phase: Phase::Implementation,
            mode: RalplanState { phase, ..RalplanState::default() }.into(),
            ..LoopState::default()
        };
        let mut waits = plan(PlanPhase::AwaitingUserApproval);
        waits.pause(PauseCause::Crashed, "the session ended", Timestamp::UNIX_EPOCH);
        let pause = waits.pause.as_ref().unwrap();
        assert_eq!(
            (&pause.cause, pause.detail.as_str()),
            (&PauseCause::BlockedOnHuman, AWAITS_DECISION)
        );
        assert!(waits.awaits_decision());
        // Older versions wrote `crashed` here.
        waits.pause.as_mut().unwrap().cause = PauseCause::Crashed;
        assert!(waits.awaits_decision());
        waits.pause.as_mut().unwrap().cause = PauseCause::Interrupted;
        assert!(!waits.awaits_decision());
        let mut plans = plan(PlanPhase::PlannerPlanning);
        plans.pause(PauseCause::Crashed, "", Timestamp::UNIX_EPOCH);
        assert_eq!(plans.pause.as_ref().unwrap().cause, PauseCause::Crashed);
        assert!(!plans.awaits_decision());
    }

    #[test]
    fn a_planning_is_kept_whole() {
        let text = json!({
            "mode": "ralplan",
            "ralplan": {
                "phase": "awaiting_user_approval", "iteration": 2, "plan_path": ".omc/plans/a.md",
                "plan_hash": "abc", "planners": ["p"], "mood": "good",
                "verdict": {"agent": "c", "plan_hash": "abc", "okay": true},
                "decision": {"kind": "later", "by": "command line"},
            },
        });
        let state: LoopState = serde_json::from_value(text.clone()).unwrap();
        let plan = state.ralplan().unwrap();
        assert_eq!((plan.iteration, plan.max_iterations), (2, 5));
        assert_eq!(plan.decision.as_ref().unwrap().by, DecidedBy::CommandLine);
        let back = serde_json::to_value(&state).unwrap();
        assert_eq!(back["ralplan"]["mood"], "good");
        assert_eq!(back["ralplan"]["decision"]["kind"], "later");
        assert_eq!(serde_json::from_value::<LoopState>(back).unwrap(), state);
        let alone = serde_json::to_value(LoopState::default()).unwrap();
        assert!(alone.get("ralplan").is_none(), "what says nothing is not written");
    }

    #[test]
    fn a_registration_is_read_by_its_word() {
        for via in Registration::ALL {
            assert_eq!(serde_json::from_value::<Registration>(json!(via.as_str())).unwrap(), via);
        }
        let wrong = serde_json::from_value::<Registration>(json!("owl")).unwrap_err().to_string();
        assert!(wrong.starts_with("unknown variant `owl`"), "{wrong}");
    }

    #[test]
    fn registrations_rank_settings_first_and_unnamed_last() {
        let rank = |name| Registration::from_argument(Some(name));
        assert!(rank("settings") > rank("plugin"));
        assert!(rank("plugin") > rank("skill"));
        assert!(rank("skill") > Registration::from_argument(None));
        assert_eq!(rank("--other"), Registration::Unnamed);
    }

    #[test]
    fn an_event_notes_the_highest_registration_and_that_there_was_one() {
        let mut state = LoopState::default();
        state.note_event(Registration::Plugin);
        state.note_event(Registration::Skill);
        assert_eq!((state.via, state.touched), (Some(Registration::Plugin), true));
    }

    #[test]
    fn what_says_nothing_is_not_written() {
        let task = |attempts| {
            let task = Task { attempts, ..Task::default() };
            serde_json::to_value(task).unwrap().get("attempts").cloned()
        };
        let turn = |worked| {
            let turn = DrivenTurn { worked, ..DrivenTurn::default() };
            serde_json::to_value(turn).unwrap().get("worked").cloned()
        };
        assert_eq!((task(0), task(2)), (None, Some(json!(2))));
        assert_eq!((turn(false), turn(true)), (None, Some(json!(true))));
    }

    #[test]
    fn a_document_of_another_shape_is_refused_by_what_it_should_have_been() {
        let refused = |text: &str| serde_json::from_str::<LoopState>(text).unwrap_err().to_string();
        assert!(refused("[]").contains("expected struct LoopState"), "{}", refused("[]"));
        let number = refused("{\n\"iteration\": \"three\"}");
        assert!(number.contains("expected u32 at line 2 column 20"), "{number}");
        let below = refused(r#"{"mode": "ralplan", "ralplan": {"iteration": "one"}}"#);
        assert!(below.contains("`ralplan`: `iteration`: invalid type"), "{below}");
        assert!(refused(r#"{"task_graph": [[]]}"#).contains("expected struct Task"));
    }

    #[test]
    fn a_loop_is_of_its_own_session_and_none_is_of_a_session_without_a_name() {
        let bound_to =
            |session_id: &str| LoopState { session_id: session_id.into(), ..LoopState::default() };
        assert!(bound_to("s").is_of("s"));
        assert!(!bound_to("s").is_of("t"));
        assert!(!bound_to("s").is_of(""));
        assert!(!bound_to("").is_of(""));
    }

    #[test]
    fn a_document_stands_in_the_project_and_nowhere_else() {
        let of = |document: &str| {
            let project_root = "/p".to_owned();
            LoopState { project_root, document: document.to_owned(), ..LoopState::default() }
                .document()
        };
        assert_eq!(of(".ralph-sessions/1"), Some(PathBuf::from("/p/.ralph-sessions/1")));
        assert_eq!((of(""), of("../x"), of("/x"), of("a/../../x")), (None, None, None, None));
    }

    #[test]
    fn only_a_higher_rank_outranks() {
        let seen = |via| LoopState { via, ..LoopState::default() };
        assert!(seen(Some(Registration::Settings)).outranks(Registration::Plugin));
        assert!(!seen(Some(Registration::Plugin)).outranks(Registration::Plugin));
        assert!(!seen(Some(Registration::Plugin)).outranks(Registration::Settings));
        assert!(!seen(None).outranks(Registration::Unnamed));
    }

    #[test]
    fn a_state_that_is_not_ours_to_drive_says_why() {
        let of = |loop_id: &str, phase: Phase, mode: ModeState| {
            let loop_id = loop_id.to_owned();
            LoopState { loop_id, phase, mode, ..LoopState::default() }.strangeness()
        };
        let odd = || Phase::Other("hibernating".to_owned());
        let knit = || ModeState::Other("knit".to_owned());
        assert_eq!(of("L", Phase::Implementation, ModeState::Plain), None);
        assert_eq!(of("", Phase::Ended, knit()), None);
        let said = |why: &str| Some(why.to_owned());
        assert_eq!(of("", odd(), ModeState::Plain), said("it names no loop"));
        assert_eq!(of("L", odd(), knit()), said("its phase `hibernating` is not known"));
        assert_eq!(of("L", Phase::Paused, knit()), said("its mode `knit` is not known"));
    }

    #[test]
    fn a_headless_client_is_of_the_orchestration_that_its_environment_names() {
        let of = |id: &str, call: Option<&str>| {
            let session = OrchestrationState { id: id.to_owned(), ..OrchestrationState::default() };
            let state = LoopState { mode: session.into(), ..LoopState::default() };
            state.is_of_driven(|| call.map(str::to_owned))
        };
        assert!(of("a1", Some(r#"{"session": "a1"}"#)));
        assert!(!of("a1", Some(r#"{"session": "a12"}"#)));
        assert!(!of("a1", None));
        assert!(!of("", Some(r#"{"session": ""}"#)));
        assert!(!LoopState::default().is_of_driven(|| Some("\"\"".to_owned())));
    }

    #[test]
    fn a_client_is_named_only_while_the_loop_is_live() {
        let of = |phase| {
            let client = Some(ClientProcess::default());
            LoopState { phase, client, ..LoopState::default() }.live_client().is_some()
        };
        use Phase::{Ended, Implementation, Paused, Planned};
        assert_eq!([Planned, Implementation, Paused, Ended].map(of), [false, true, true, false]);
    }

    #[test]
    fn details_are_taken_once_and_with_them_the_context_is_known_again() {
        let due = |details: &str| LoopState {
            details_due: details.to_owned(),
            context_lost: true,
            ..LoopState::default()
        };
        let (mut some, mut none) = (due("text"), due(""));
        assert_eq!((some.take_details().as_str(), some.context_lost), ("text", false));
        assert_eq!((some.take_details().as_str(), some.details_due.as_str()), ("", ""));
        assert_eq!((none.take_details().as_str(), none.context_lost), ("", true));
    }

    #[test]
    fn a_loop_that_begins_anew_counts_from_zero() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let mut state = LoopState {
            phase: Phase::Implementation,
            iteration: 7,
            started_at: Some(at(10)),
            paused_seconds: 5,
            ..LoopState::default()
        };
        (state.usage.cost, state.usage.tokens.output) = (1.5, 9);
        state.pause(PauseCause::Person, "", at(20));
        state.resume_anew(at(30));
        assert_eq!((state.phase, state.iteration, state.pause), (Phase::Implementation, 0, None));
        assert_eq!((state.started_at, state.paused_seconds), (Some(at(30)), 0));
        assert_eq!((state.usage.cost, state.usage.total()), (0.0, 0));
    }
}
