//! The state file of a loop: the schema of the original pattern plus our own fields.
//!
//! Unknown fields are kept and written back at every level where a user or a newer version may have
//! added one. A file with a newer `schema_version` is never rewritten; the store checks that.

pub mod signals;

mod bounds;
mod environment;
mod glance;
mod limit_flag;
mod mode;
mod orchestration;
mod pinned;
mod plan_file;
mod progress;
mod ralplan;
mod read;
mod receipt;
mod refine;
mod review;
mod tasks;
mod tokens;
mod words;
mod worker;

pub use bounds::Bounds;
pub use environment::Environment;
pub use glance::{Glance, GlanceEnding, GlanceOrchestration, GlancePlan, GlanceTurn, StateView};
pub use limit_flag::LimitFlag;
pub use mode::ModeState;
pub use orchestration::{OrchestrationCall, OrchestrationState};
pub use pinned::{Frozen, PinnedPart, TestFile};
pub use plan_file::{PlanFile, PlanFormat, PlannedTask};
pub use progress::Progress;
pub use ralplan::{MAX_REJECTIONS, PlanDecision, PlanVerdict, RalplanState};
pub use receipt::{Accepted, CriterionRunner, REVIEWED, Receipt, Regression};
pub use refine::RefineState;
pub use review::{
    Citation, Finding, ReviewLens, ReviewPlan, ReviewReceipt, ReviewRound, StartedReviewer,
};
pub use tasks::{KnownTasks, StateText, TaskDigest, TaskList, TaskSummary};
pub use tokens::{Source, Tokens, Usage};
pub(crate) use words::words;
pub use words::{
    Completion, DecidedBy, DecisionKind, EndingKind, EndingTone, Mode, PauseCause, Phase,
    PlanPhase, Signal, StartedBy, TaskStatus, WorkerStanding,
};
pub use worker::Worker;

use crate::text::from_json::{FromJson, Members, Mistake, from_json, mistake};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The schema version that this code writes.
pub const SCHEMA_VERSION: u32 = 1;

/// The default token that requests completion.
pub const COMPLETION_TOKEN: &str = "RALPH_COMPLETE";

/// What stands before the question where `--ac` names a reviewed criterion.
pub const REVIEW_PREFIX: &str = "review:";

/// Members that this version does not know.
pub type Extra = BTreeMap<String, Value>;

/// One loop, as stored in `loops/<loop_id>/state.json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoopState {
    /// Schema version of this document.
    pub schema_version: u32,
    /// Name of the loop's folder.
    pub loop_id: String,
    /// Claude Code's session id; empty until a session is bound.
    pub session_id: String,
    /// Which rules drive the loop, and the state that only they need.
    #[serde(flatten)]
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
    /// When this document was last written.
    pub updated_at: Timestamp,
    /// The criteria that define "done".
    pub acceptance_criteria: Vec<Criterion>,
    /// The criteria and files that the user agreed to when the loop started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frozen: Option<Frozen>,
    /// Test files that differ from the agreed version, as of the last check.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed_tests: Vec<String>,
    /// Changes to the meaning of the commands that do not weaken them, as of the last check.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub meaning_noted: Vec<String>,
    /// The environment variables that decided what runs when the loop started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<Environment>,
    /// What the commands of the loop may write, read and reach; absent if the loop is not
    /// sandboxed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
    /// True until the criteria have run once before the work, as `--baseline` requests.
    #[serde(skip_serializing_if = "is_false")]
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
    /// Prompts that the model has scheduled in this session: when they arrive, no user typed them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scheduled: Vec<String>,
    /// Set by a cancel that lets the running turn finish.
    #[serde(skip_serializing_if = "is_false")]
    pub let_finish: bool,
    /// True from a compaction until the model has received the whole loop prompt at a stop.
    #[serde(skip_serializing_if = "is_false")]
    pub context_lost: bool,
    /// Text about the last stop that the model gets with its next tool call: the client shows the
    /// user whatever a stop itself answers.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub details_due: String,
    /// The round of `ralph build` that runs in this session; absent in a session that a user
    /// started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<BuildRound>,
    /// True if workers do the tasks, each in its own worktree, and the session only starts the
    /// workers and merges their work.
    #[serde(skip_serializing_if = "is_false")]
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
            updated_at: Timestamp::UNIX_EPOCH,
            acceptance_criteria: Vec::new(),
            frozen: None,
            changed_tests: Vec::new(),
            meaning_noted: Vec::new(),
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
            scheduled: Vec::new(),
            let_finish: false,
            context_lost: false,
            details_due: String::new(),
            round: None,
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
        StateView::position(self)
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
            // The loop prompt is repeated when the loop continues.
            self.details_due.clear();
        } else if let Some(pause) = &mut self.pause
            && pause.cause.resumes_by_itself()
            && !cause.resumes_by_itself()
        {
            let told = pause.told;
            *pause = Pause { cause, at: now, detail: detail.into(), told, attended: false };
        }
    }

    /// Continues a paused loop in the phase where it paused. Does nothing if the loop is not
    /// paused.
    pub fn resume(&mut self) {
        if self.phase == Phase::Paused {
            self.phase = self.resume_phase.take().unwrap_or(Phase::Implementation);
            self.pause = None;
            // The user has intervened: earlier stops without progress no longer count.
            self.forget_progress();
            self.blocked = None;
        }
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
        self.pause = None;
        self.details_due.clear();
        self.ending = Some(Ending { kind, at: now, detail: detail.into(), cause: None });
        if let Some(plan) = self.ralplan_mut() {
            plan.end();
        }
    }
}

/// A place where hooks are registered, in ascending rank. If one event starts a hook more than
/// once, only the highest-ranking copy that the loop has seen counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Registration {
    /// The hook got no registration name.
    Unnamed,
    /// A skill's front matter.
    Skill,
    /// A plugin's `hooks.json`.
    Plugin,
    /// A settings file.
    Settings,
}

impl Registration {
    /// All variants, in ascending rank.
    pub const ALL: [Registration; 4] =
        [Registration::Unnamed, Registration::Skill, Registration::Plugin, Registration::Settings];

    /// The word that a registration passes as the last argument.
    pub fn as_str(self) -> &'static str {
        match self {
            Registration::Unnamed => "unnamed",
            Registration::Skill => "skill",
            Registration::Plugin => "plugin",
            Registration::Settings => "settings",
        }
    }

    /// The registration that started an executable, from its last argument.
    pub fn from_argument(argument: Option<&str>) -> Registration {
        match argument {
            Some("settings") => Registration::Settings,
            Some("plugin") => Registration::Plugin,
            Some("skill") => Registration::Skill,
            _ => Registration::Unnamed,
        }
    }
}

impl FromJson for Registration {
    fn from_json(value: Value) -> Result<Self, Mistake> {
        let word = String::from_json(value)?;
        let known = Registration::ALL.into_iter().find(|via| via.as_str() == word);
        known.map_or_else(|| mistake("a way to register"), Ok)
    }
}

/// Why a loop is paused, and since when.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub struct Pause {
    /// Why the loop paused.
    pub cause: PauseCause,
    /// When the loop paused.
    pub at: Timestamp,
    /// Details for people.
    pub detail: String,
    /// True once the user has been told in the session.
    pub told: bool,
    /// True if the user was at the keyboard: they left the session, or their prompt revealed the
    /// pause.
    #[serde(skip_serializing_if = "is_false")]
    pub attended: bool,
}

from_json!(Pause { cause, at, detail, told, attended });

/// How and when a loop ended.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub struct Ending {
    /// The kind of ending.
    pub kind: EndingKind,
    /// When the loop ended.
    pub at: Timestamp,
    /// Details for people.
    pub detail: String,
    /// For `stalled`: the sign of the stall.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Signal>,
}

from_json!(Ending { kind, at, detail, cause });

/// An error in a loop.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub struct LoopError {
    /// When the error occurred.
    pub at: Timestamp,
    /// The error, for people.
    pub message: String,
}

impl FromJson for LoopError {
    fn from_json(value: Value) -> Result<Self, Mistake> {
        // The original pattern documents an empty list, and its loops wrote plain strings.
        if let Value::String(message) = value {
            return Ok(LoopError { message, ..LoopError::default() });
        }
        let mut members = Members::of(value)?;
        let mut read = LoopError::default();
        members.take("at", &mut read.at)?;
        members.take("message", &mut read.message)?;
        Ok(read)
    }
}

impl TryFrom<Value> for LoopError {
    type Error = Mistake;

    fn try_from(value: Value) -> Result<Self, Mistake> {
        FromJson::from_json(value)
    }
}

/// Limits besides `max_iterations`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub struct Limits {
    /// Elapsed time since the start, in minutes.
    pub max_minutes: u64,
    /// Input and output tokens together; `null` means no limit.
    pub max_tokens: Option<u64>,
    /// Cost in US dollars, as headless clients report it; absent means no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<f64>,
    /// Workers that may run at once, whatever the session requests.
    pub max_workers: u32,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

from_json!(Limits { max_minutes, max_tokens, max_cost, max_workers; extra });

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_minutes: 480,
            max_tokens: None,
            max_cost: None,
            max_workers: 4,
            extra: Extra::new(),
        }
    }
}

/// A session that a loop was bound to.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub struct Bound {
    /// Claude Code's session id.
    pub session_id: String,
    /// When the loop left the session.
    pub until: Timestamp,
    /// Why the loop left it: `cleared`, `adopted` …
    pub why: String,
}

from_json!(Bound { session_id, until, why });

/// The turn that a loop drives: our last reply in it was to continue. A user prompt with another id
/// reveals that the turn was cut.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub struct DrivenTurn {
    /// The client's id of the prompt that started the turn; empty if unknown.
    pub prompt_id: String,
    /// When the reply was given.
    pub at: Timestamp,
    /// True once the main conversation has used a tool since that reply.
    #[serde(skip_serializing_if = "is_false")]
    pub worked: bool,
    /// True if the user typed the prompt, and no stop has continued the turn since.
    #[serde(skip_serializing_if = "is_false")]
    pub typed: bool,
    /// True once the user has read that a pause waits for the end of the turn.
    #[serde(skip_serializing_if = "is_false")]
    pub pause_told: bool,
    /// Offset in bytes in the session's transcript before which no row is of this turn; 0 if unknown.
    #[serde(skip_serializing_if = "is_zero")]
    pub transcript_from: u64,
}

from_json!(DrivenTurn { prompt_id, at, worked, typed, pause_told, transcript_from });

impl DrivenTurn {
    /// A turn in which no tool has been used yet.
    pub fn new(prompt_id: impl Into<String>, at: Timestamp) -> DrivenTurn {
        DrivenTurn { prompt_id: prompt_id.into(), at, ..DrivenTurn::default() }
    }

    /// A turn that begins with a prompt of the user.
    pub fn typed(prompt_id: impl Into<String>, at: Timestamp) -> DrivenTurn {
        DrivenTurn { typed: true, ..DrivenTurn::new(prompt_id, at) }
    }
}

/// A session that `ralph run` or `ralph build` started for one round.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub struct BuildRound {
    /// The task's id; empty if all tasks are closed and only criteria remain.
    pub task: String,
    /// Number of the round, from 1.
    pub number: u32,
    /// Fingerprint of the work tree when the round began; absent without git.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// Ids of the tasks that were done when the round began: what it may finish is judged by its
    /// change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub done: Vec<String>,
}

from_json!(BuildRound { task, number, tree, done });

/// A client process. The start time distinguishes it from another process with a reused id.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub struct ClientProcess {
    /// Process id.
    pub pid: u32,
    /// Start time as the system counts it; empty where unavailable.
    pub started: String,
}

from_json!(ClientProcess { pid, started });

impl ClientProcess {
    /// Stands for a client whose session has ended: no process has the id 0.
    pub fn gone() -> ClientProcess {
        ClientProcess { pid: 0, started: String::new() }
    }
}

/// One condition that must hold for the work to be done.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub struct Criterion {
    /// `AC-1`, `AC-T` …
    pub id: String,
    /// The condition in words.
    pub description: String,
    /// Written by Ralph from a receipt; a value set by hand is ignored.
    pub verified: bool,
    /// The command that proves the criterion; empty for a reviewed criterion.
    pub verification_command: String,
    /// The question that a reviewer answers about the work tree, where no command can prove the
    /// criterion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<String>,
    /// Paths that the command depends on; empty means the whole tree.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// The last run of the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Receipt>,
    /// Number of tests in the first counted run. A later run with fewer tests does not hold until a
    /// person accepts it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests_expected: Option<u64>,
    /// True once a known test runner has reported tests, counted or not; a later run must report
    /// some too.
    #[serde(skip_serializing_if = "is_false")]
    pub tests_reported: bool,
    /// Number of skipped tests in the first counted run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests_skipped: Option<u64>,
    /// Changes to the meaning of the command that may weaken it compared with what the user agreed
    /// to, as of the last check.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub meaning_changed: Vec<String>,
    /// Exceptions that a person accepted: `failures` in the summary of a success, `no_summary` of a
    /// known runner.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<String>,
    /// True if the criterion held before the work began and so proves nothing about the work.
    #[serde(skip_serializing_if = "is_false")]
    pub held_before: bool,
    /// Id of the tree on which the criterion last held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_on: Option<String>,
    /// Set while the criterion fails after it had held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turned_red: Option<Regression>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

from_json!(Criterion { id, description, verified, verification_command, review, paths, receipt, tests_expected, tests_reported, tests_skipped, meaning_changed, accepted, held_before, held_on, turned_red; extra } Criterion::believed);

impl Criterion {
    /// A criterion without a receipt was never run, whatever its document says.
    fn believed(mut self) -> Criterion {
        self.verified &= self.receipt.is_some();
        self
    }

    /// True if something can decide whether the criterion holds: a command, or a reviewer.
    pub fn is_decidable(&self) -> bool {
        self.review.is_some() || !self.verification_command.trim().is_empty()
    }

    /// What decides whether the criterion holds, as `--ac` takes it: a command, or
    /// `review: QUESTION`.
    pub fn decided_by(&self) -> Cow<'_, str> {
        match &self.review {
            Some(question) => Cow::Owned(format!("{REVIEW_PREFIX} {question}")),
            None => Cow::Borrowed(&self.verification_command),
        }
    }

    /// The same between backticks, if it is a command.
    pub fn decided_by_quoted(&self) -> String {
        match self.review {
            Some(_) => self.decided_by().into_owned(),
            None => format!("`{}`", self.verification_command),
        }
    }

    /// True if a person accepted this exception.
    pub fn accepts(&self, what: Accepted) -> bool {
        self.accepted.iter().any(|word| word == what.as_str())
    }
}

/// A time at which all criteria held.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub struct Green {
    /// The checkpoint's ref; empty if none could be made.
    pub reference: String,
    /// Id of the tree.
    pub tree: String,
    /// When all criteria held.
    pub at: Timestamp,
}

from_json!(Green { reference, tree, at });

/// What a person must do before the work can continue, as reported by the model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub struct Blocked {
    /// The action needed, in words.
    pub what: String,
    /// When the model reported it.
    pub at: Timestamp,
}

from_json!(Blocked { what, at });

/// A task of the work.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Task {
    /// `T-1` …
    pub id: String,
    /// The task in words.
    pub name: String,
    /// Ids of the tasks that must be done first.
    pub deps: Vec<String>,
    /// The status of the task.
    pub status: TaskStatus,
    /// How to tell that the task is done.
    pub completion_condition: String,
    /// Files that the task will change.
    pub files: Vec<String>,
    /// Commands that must succeed before the task counts as done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verify: Vec<String>,
    /// Who has claimed the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// When the claim expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_expires_at: Option<Timestamp>,
    /// How many times the task was claimed.
    #[serde(skip_serializing_if = "is_zero")]
    pub attempts: u32,
    /// The result, or the reason for a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Default for Task {
    fn default() -> Self {
        Task {
            id: String::new(),
            name: String::new(),
            deps: Vec::new(),
            status: TaskStatus::Pending,
            completion_condition: String::new(),
            files: Vec::new(),
            verify: Vec::new(),
            owner: None,
            lease_expires_at: None,
            attempts: 0,
            result: None,
            extra: Extra::new(),
        }
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_zero<N: Default + PartialEq>(number: &N) -> bool {
    *number == N::default()
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
        state.resume();
        assert_eq!(state.phase, Phase::Verification);
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
    fn a_planning_is_kept_whole_and_seen_at_a_glance() {
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
        let glance: Glance = serde_json::from_value(text).unwrap();
        let plan = glance.ralplan.unwrap();
        assert_eq!(plan.phase, PlanPhase::AwaitingUserApproval);
        assert_eq!((plan.plan_path.as_str(), plan.plan_hash.as_str()), (".omc/plans/a.md", "abc"));
        let alone = serde_json::to_value(LoopState::default()).unwrap();
        assert!(alone.get("ralplan").is_none(), "what says nothing is not written");
    }

    #[test]
    fn a_registration_is_read_by_its_word() {
        for via in Registration::ALL {
            assert_eq!(Registration::from_json(json!(via.as_str())), Ok(via));
        }
        let wrong = Registration::from_json(json!("owl")).unwrap_err();
        assert_eq!(wrong.to_string(), "`` is not a way to register");
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
        use serde::de::value::{Error, MapDeserializer};
        let state = serde_json::from_str::<LoopState>("[]").unwrap_err().to_string();
        assert!(state.contains("expected the state of a loop"), "{state}");
        let task = serde_json::from_str::<Task>("[]").unwrap_err().to_string();
        assert!(task.contains("expected a task"), "{task}");
        let numbered = MapDeserializer::<_, Error>::new([(1_u32, 1_u32)].into_iter());
        let name = LoopState::deserialize(numbered).unwrap_err().to_string();
        assert!(name.contains("expected the name of a member"), "{name}");
    }
}
