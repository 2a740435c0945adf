//! Decides whether a finished turn may end the loop.
//!
//! The order of the rules matters. The user's commands come first. A completion request comes
//! before the limits, so that work finished on the last iteration counts as complete and not as
//! capped. The limits come before the stall, so that the ending names its real cause.

pub mod blocked;
pub mod progress;
pub mod replay;
pub mod rounds;

use crate::evidence::completion_feedback::Withheld;
use crate::evidence::receipt::Proof;
use crate::evidence::request::Answer;
use crate::evidence::{pinned, request};
use crate::state::{
    Completion, DrivenTurn, EndingKind, LoopError, LoopState, PauseCause, Phase, Signal, TaskStatus,
};
use crate::stop::progress::ProgressSample;
use crate::tasks::graph;
use crate::text::plural::noun;
use crate::text::token::CompletionRequest;
use crate::text::truncate::bounded;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What the hook observed when the turn was about to end.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StopInputs {
    /// The current time.
    pub now: Timestamp,
    /// The client's id of the turn.
    pub prompt_id: String,
    /// The completion request in the last text block of the turn.
    pub request: CompletionRequest,
    /// Running subagents, as the client describes them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<String>,
    /// True if a `/ralph…` command that the user typed is waiting for the turn to end.
    #[serde(default, skip_serializing_if = "is_false")]
    pub command_waits: bool,
    /// True if the main conversation has not received the user's STEER yet.
    #[serde(default, skip_serializing_if = "is_false")]
    pub steer_waits: bool,
    /// True if the mode's document is no longer in the project: the user removed it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub document_gone: bool,
    /// The router's output for an orchestration; `None` in every other mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Routed>,
    /// Whether the turn called a tool; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worked: Option<bool>,
    /// Fingerprint of the tree; `None` if unavailable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// The result of the checks for a completion request; `None` if they were not needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// If checks ran: the hash of the work outside the tree before them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_before_checks: Option<String>,
    /// If checks ran: the fingerprint of the tree after them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree_after_checks: Option<String>,
}

/// The facts about the tasks that a stop decision needs. Separate from the state, so that the
/// record of a decision does not hold thousands of tasks.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TaskProgress {
    /// True if there are tasks and all are done.
    pub all_done: bool,
    /// True if a task could start now.
    pub is_ready: bool,
    /// True if this session is a round, and its task is done or given up, or it has none.
    #[serde(default, skip_serializing_if = "is_false")]
    pub round_is_over: bool,
    /// Why no proof could complete the loop now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<Withheld>,
    /// Hash of all task states and check results.
    pub print: String,
}

/// The decision about a turn that is about to end.
#[derive(Debug, Clone, PartialEq)]
pub enum StopVerdict {
    /// The turn may end; the loop is unchanged.
    LetGo(AllowReason),
    /// The loop has ended; the state says how.
    Ended(EndingKind),
    /// The turn continues.
    GoOn,
}

/// Why a turn may end although the loop has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllowReason {
    /// The loop never started or has ended.
    NotLive,
    /// The loop is paused.
    Paused,
    /// Background subagents are running; the client wakes the model when they finish.
    WorkersRun,
    /// A command that the user typed is waiting.
    CommandWaits,
    /// A person must do something first; the loop is now paused.
    Blocked,
    /// The round is over; `ralph run` runs the criteria or starts the next round.
    RoundIsOver,
    /// A plan is waiting for the user's decision.
    AwaitsPerson,
}

impl AllowReason {
    /// The reason, for the journal.
    pub fn describe(self) -> &'static str {
        match self {
            AllowReason::NotLive => "the loop is not live",
            AllowReason::Paused => "the loop is paused",
            AllowReason::WorkersRun => "background subagents are still at work",
            AllowReason::CommandWaits => "a command that the person typed is waiting",
            AllowReason::Blocked => "a person must do something first",
            AllowReason::RoundIsOver => "the round is over",
            AllowReason::AwaitsPerson => "a person must decide about the plan",
        }
    }
}

impl StopVerdict {
    /// The verdict in a few words, for the journal and for comparison.
    pub fn describe(&self) -> String {
        match self {
            StopVerdict::LetGo(why) => format!("let go: {}", why.describe()),
            StopVerdict::Ended(kind) => format!("ended: {kind}"),
            StopVerdict::GoOn => "go on".to_owned(),
        }
    }
}

/// A stop decision, the text for the model, and the inputs.
#[derive(Debug, Clone, PartialEq)]
pub struct StopDecision {
    pub verdict: StopVerdict,
    /// What the model gets if its turn continues; empty for other verdicts.
    pub step: NextStep,
    /// The inputs of the decision.
    pub record: StopRecord,
}

/// True if the decision will need the fingerprint of the tree, which costs a child process.
pub fn wants_tree(mode: &dyn AtStop, state: &LoopState) -> bool {
    state.is_running() && mode.wants_tree()
}

/// True if the decision will need proof: the checks run before it.
pub fn wants_proof(mode: &dyn AtStop, state: &LoopState, seen: &StopInputs) -> bool {
    Withheld::from_state(state).is_none()
        && may_rest(state, seen).is_none()
        && mode.wants_proof(state, seen)
}

/// True if the criteria run once more for a loop that has just ended, so that its ending states
/// which of them hold. They neither decide the ending nor run after a cancel.
pub fn wants_last_run(mode: &dyn AtStop, state: &LoopState, seen: &StopInputs) -> bool {
    let kind = state.ending.as_ref().map(|ending| &ending.kind);
    mode.has_criteria()
        && kind.is_some_and(|kind| !matches!(kind, EndingKind::Complete | EndingKind::Cancelled))
        && !state.acceptance_criteria.is_empty()
        && seen.proof.is_none()
        && pinned::is_as_frozen(state)
}

/// True if the model requests a completion that criteria must prove, and nothing else comes first.
pub(crate) fn asks_for_completion(state: &LoopState, seen: &StopInputs) -> bool {
    // After each round Ralph runs the criteria anyway, whatever the model says.
    let asks =
        seen.request == CompletionRequest::Made && needs_proof(state) && state.round.is_none();
    asks && !seen.steer_waits && state.blocked.is_none()
}

/// Decides, and writes the consequences into the state.
pub fn decide(mode: &dyn AtStop, state: &mut LoopState, seen: &StopInputs) -> StopDecision {
    let work = work(state, seen.now);
    let asks_criteria = seen.request == CompletionRequest::Made || mode.wants_proof(state, seen);
    let before = slim(state, asks_criteria);
    let verdict = rule(mode, state, &work, seen);
    let outcome = RecordedOutcome::from_verdict(&verdict, state);
    let record = StopRecord { before, work, seen: seen.clone(), outcome };
    let mut step = NextStep::default();
    if verdict == StopVerdict::GoOn {
        step = mode.next_step(state, seen);
        state.details_due.clone_from(&step.details);
    }
    StopDecision { verdict, step, record }
}

fn work(state: &LoopState, now: Timestamp) -> TaskProgress {
    let summary = graph::digest(&state.task_graph, now).summary;
    TaskProgress {
        all_done: summary.all_done(),
        is_ready: summary.ready > 0,
        round_is_over: round_is_over(state),
        withheld: Withheld::from_state(state),
        print: progress::print_of_work(state, now),
    }
}

/// True if the task of this round is closed, or the round has none: the next one gets a fresh
/// session.
fn round_is_over(state: &LoopState) -> bool {
    let Some(round) = &state.round else { return false };
    let task = state.task_graph.iter().find(|task| task.id == round.task);
    task.is_none_or(|task| task.status != TaskStatus::InProgress)
}

/// Applies the rules in order.
fn rule(
    mode: &dyn AtStop,
    state: &mut LoopState,
    work: &TaskProgress,
    seen: &StopInputs,
) -> StopVerdict {
    if let Some(why) = may_rest(state, seen) {
        if why == AllowReason::WorkersRun {
            state.progress.signal = Signal::Waiting;
        }
        // No reply is outstanding: the user's next prompt does not reveal an interruption.
        state.turn = None;
        return StopVerdict::LetGo(why);
    }
    mode.at_stop(state, work, seen)
}

/// Pauses for a person if the model reported a blocker and no other task is ready.
pub(crate) fn blocked(
    state: &mut LoopState,
    work: &TaskProgress,
    seen: &StopInputs,
) -> Option<StopVerdict> {
    // The user's latest message may resolve the blocker.
    let Some(blocked) = state.blocked.take_if(|_| !work.is_ready && !seen.steer_waits) else {
        // Reported too early: other work is ready, and the loop was told so.
        state.blocked = None;
        return None;
    };
    state.progress.signal = Signal::Blocked;
    Some(wait_for_person(state, blocked.what, seen.now))
}

/// Pauses the loop until a person has done what stands in `why`, and lets the turn end.
pub(crate) fn wait_for_person(
    state: &mut LoopState,
    why: impl Into<String>,
    now: Timestamp,
) -> StopVerdict {
    state.pause(PauseCause::BlockedOnHuman, why, now);
    StopVerdict::LetGo(AllowReason::Blocked)
}

/// The rules of a plain loop.
fn plain(state: &mut LoopState, work: &TaskProgress, seen: &StopInputs) -> StopVerdict {
    if let Some(verdict) = blocked(state, work, seen) {
        return verdict;
    }
    if work.all_done && state.phase == Phase::Implementation {
        state.phase = Phase::Verification;
    }
    state.refused.clear();
    state.observing.clear();
    // The model requested completion before it read the user's latest message.
    if !seen.steer_waits
        && work.withheld.is_none()
        && let Some(verdict) = requested(state, seen)
    {
        return verdict;
    }
    if let Some((kind, detail)) = used_up(state, seen.now) {
        return end(state, kind, detail, seen.now);
    }
    if work.round_is_over && !seen.steer_waits {
        state.turn = None;
        return StopVerdict::LetGo(AllowReason::RoundIsOver);
    }
    let shown = ProgressSample {
        work: seen.work_before_checks.as_deref().unwrap_or(&work.print),
        work_after_checks: &work.print,
        tree: seen.tree.as_deref(),
        tree_after_checks: seen.tree_after_checks.as_deref(),
        worked: seen.worked,
        refused: seen.request == CompletionRequest::Made,
    };
    if seen.steer_waits {
        // The work changes now: earlier stops without progress no longer count.
        state.forget_progress();
    } else if let Some(stall) = progress::stalled(state, &shown) {
        let verdict = end(state, EndingKind::Stalled, stall.detail, seen.now);
        if let Some(ending) = &mut state.ending {
            ending.cause = Some(stall.cause);
        }
        return verdict;
    }
    // Counted before the reply is sent: if the reply is lost, a repeated hook must not get a free
    // iteration.
    state.iteration += 1;
    state.turn = Some(DrivenTurn::new(seen.prompt_id.clone(), seen.now));
    StopVerdict::GoOn
}

/// Steps 1 to 4: reasons to let the turn end whatever the state of the work.
fn may_rest(state: &LoopState, seen: &StopInputs) -> Option<AllowReason> {
    if !state.is_live() {
        Some(AllowReason::NotLive)
    } else if !state.is_running() {
        Some(AllowReason::Paused)
    } else if seen.command_waits {
        Some(AllowReason::CommandWaits)
    } else if !seen.workers.is_empty() && time_used_up(state, seen.now).is_none() {
        // A worker that hangs must not outlast the loop's time limit.
        Some(AllowReason::WorkersRun)
    } else {
        None
    }
}

/// True if the token is only a request that must be proven.
pub(crate) fn needs_proof(state: &LoopState) -> bool {
    state.completion != Completion::Token && !state.acceptance_criteria.is_empty()
}

/// Step 6: what a request for completion leads to; `None` without a request, and if it is refused.
fn requested(state: &mut LoopState, seen: &StopInputs) -> Option<StopVerdict> {
    if seen.request != CompletionRequest::Made {
        return None;
    }
    let unverified = EndingKind::CompleteUnverified;
    if !needs_proof(state) {
        let detail = match state.acceptance_criteria.is_empty() {
            true => "the completion token was given; there was no criterion to prove it by",
            false => "the completion token was given; nothing was verified",
        };
        return Some(end(state, unverified, detail.to_owned(), seen.now));
    }
    let is_last = used_up(state, seen.now).is_some();
    match granted(state, seen.proof.as_ref()?, is_last) {
        Answer::Complete(detail) => Some(end(state, EndingKind::Complete, detail, seen.now)),
        Answer::Unverified { detail, .. } => Some(end(state, unverified, detail, seen.now)),
        Answer::AskUser(refused) => {
            let why = format!("{}; `/ralph accept` accepts it", refused.why);
            Some(wait_for_person(state, why, seen.now))
        }
        Answer::Unfinished(why) => {
            state.refused = why;
            // A request that counts no turn must not pass a limit of time or cost.
            (!is_last).then(|| {
                // Ralph's own work takes longer than one request; the model did its turn.
                state.turn = Some(DrivenTurn::new(seen.prompt_id.clone(), seen.now));
                StopVerdict::GoOn
            })
        }
        Answer::Refused(_) | Answer::NotMet => None,
    }
}

/// The answer to a request for completion. Writes into the state which criteria are met, and what is refused now.
/// `is_last`: no later request can get the second answer.
pub(crate) fn granted(state: &mut LoopState, proof: &Proof, is_last: bool) -> Answer {
    for criterion in &mut state.acceptance_criteria {
        criterion.verified = proof.proves(criterion);
    }
    state.change.clone_from(&proof.change);
    let answer = request::answer(state, proof, is_last);
    if let Answer::Refused(refused) = &answer {
        state.refused.clone_from(&refused.why);
        let new = refused.about.iter().filter(|about| !state.refusals.contains(about));
        let new: Vec<String> = new.cloned().collect();
        state.refusals.extend(new);
    }
    answer
}

/// True if the next turn or round would end at a limit.
pub(crate) fn used_up_by_next(state: &LoopState, now: Timestamp) -> bool {
    state.iteration + 1 >= state.max_iterations || used_up(state, now).is_some()
}

/// Step 7: a limit that has been reached.
pub(crate) fn used_up(state: &LoopState, now: Timestamp) -> Option<(EndingKind, String)> {
    if state.iteration >= state.max_iterations {
        let detail = format!(
            "went on {} {}, as often as it may",
            state.iteration,
            noun(state.iteration, "time", "times")
        );
        return Some((EndingKind::MaxIterations, detail));
    }
    let detail = time_used_up(state, now).or_else(|| spent(state))?;
    Some((EndingKind::Budget, detail))
}

/// The limit of tokens or cost that has been reached.
pub fn spent(state: &LoopState) -> Option<String> {
    tokens_used_up(state).or_else(|| money_used_up(state))
}

/// True if no limit has been reached; otherwise ends the loop.
pub fn may_go_on(state: &mut LoopState, now: Timestamp) -> bool {
    if state.ending.is_none()
        && let Some((kind, detail)) = used_up(state, now)
    {
        end(state, kind, detail, now);
    }
    state.ending.is_none()
}

/// The loop's remaining working time.
pub fn time_left(state: &LoopState, now: Timestamp) -> Duration {
    let ran = state.worked_seconds(now);
    Duration::from_secs(state.limits.max_minutes.saturating_mul(60).saturating_sub(ran))
}

fn time_used_up(state: &LoopState, now: Timestamp) -> Option<String> {
    let minutes = state.worked_seconds(now) / 60;
    let most = state.limits.max_minutes;
    (minutes >= most).then(|| {
        format!("worked for {minutes} of at most {most} {}", noun(most, "minute", "minutes"))
    })
}

fn tokens_used_up(state: &LoopState) -> Option<String> {
    let (used, most) = (state.usage.total(), state.limits.max_tokens?);
    (used >= most)
        .then(|| format!("used {used} of at most {most} {}", noun(most, "token", "tokens")))
}

fn money_used_up(state: &LoopState) -> Option<String> {
    let (used, most) = (state.usage.cost, state.limits.max_cost?);
    (used >= most).then(|| format!("cost ${used:.2} of at most ${most:.2}"))
}

pub(crate) fn end(
    state: &mut LoopState,
    kind: EndingKind,
    detail: String,
    now: Timestamp,
) -> StopVerdict {
    if !kind.is_completion() {
        state.errors.push(LoopError { at: now, message: format!("{kind}: {detail}") });
    }
    state.end(kind.clone(), detail, now);
    StopVerdict::Ended(kind)
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// The next step of an orchestration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RouterStep {
    /// Agents must be called.
    Call,
    /// Nothing, until a call ends or a set time arrives.
    Wait,
    /// Nothing until the user's next signal: the user sent PAUSE.
    Paused,
    /// The end: the user sent STOP.
    Stopped,
    /// The end: all work is done.
    Complete,
    /// The end for now: the user decides what comes next.
    AwaitingFeedback,
    /// The end: the orchestration cannot continue.
    Failed,
}

/// The router's output, as far as decisions need it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Routed {
    /// The next step.
    pub due: RouterStep,
    /// The next step in words.
    pub says: String,
    /// Hash of the orchestration's progress.
    #[serde(default)]
    pub stands: String,
    /// Names of the signals that are consumed once this takes effect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heard: Vec<String>,
}

/// What the model gets if its turn continues. The client shows the user all that a stop answers, so
/// only one line is answered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NextStep {
    /// The loop's progress and what to do next. The user reads this line as well.
    pub line: String,
    /// Instructions and output, which follow with the next tool call.
    pub details: String,
}

/// Longest [`NextStep::line`], in UTF-16 units.
const LINE_LIMIT: usize = 300;

impl NextStep {
    /// `Ralph 3/25: 1 of 2 criteria hold; next: fix it`. `progress` may be empty.
    pub(crate) fn new(position: &str, progress: &str, next: &str, details: String) -> NextStep {
        let between = if progress.is_empty() { "" } else { "; " };
        let line = format!("Ralph {position}: {progress}{between}next: {next}");
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        NextStep { line: bounded(&line, LINE_LIMIT), details }
    }
}

/// The stop rules of one mode.
pub trait AtStop: Sync {
    /// Whether the decision needs the fingerprint of the tree.
    fn wants_tree(&self) -> bool {
        self.has_criteria()
    }

    /// Whether the criteria in the state are those of this loop.
    fn has_criteria(&self) -> bool {
        true
    }

    /// Whether the criteria run before the decision. Also called to decide what the record keeps, so
    /// it must not assume that the loop runs.
    fn wants_proof(&self, state: &LoopState, seen: &StopInputs) -> bool {
        self.has_criteria() && asks_for_completion(state, seen)
    }

    /// Decides if neither a user's command nor a worker lets the turn end.
    fn at_stop(
        &self,
        state: &mut LoopState,
        work: &TaskProgress,
        seen: &StopInputs,
    ) -> StopVerdict {
        plain(state, work, seen)
    }

    /// What the model gets if its turn continues.
    fn next_step(&self, state: &LoopState, seen: &StopInputs) -> NextStep;
}

// The inputs and the outcome of a stop decision, as stored in the journal.
//
// With the record, a decision can be explained, or repeated under later rules. It therefore holds
// everything that the rules read and nothing else: a state may hold thousands of tasks.

/// A decision with all its inputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StopRecord {
    /// The state before the decision, without the parts that the decision does not read.
    pub before: LoopState,
    pub work: TaskProgress,
    /// What the hook observed.
    pub seen: StopInputs,
    pub outcome: RecordedOutcome,
}

/// The parts of an outcome that are compared. Texts are not among them: better wording is not a
/// different decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordedOutcome {
    /// The verdict, as [`StopVerdict::describe`] puts it.
    pub verdict: String,
    /// The loop's phase after the decision.
    pub phase: Phase,
    /// Iterations after the decision.
    pub iteration: u32,
    /// The progress signal of the stop.
    pub signal: Signal,
    /// For a stall: its cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Signal>,
}

impl RecordedOutcome {
    /// The outcome of a verdict that left the state like this.
    pub fn from_verdict(verdict: &StopVerdict, after: &LoopState) -> RecordedOutcome {
        RecordedOutcome {
            verdict: verdict.describe(),
            phase: after.phase.clone(),
            iteration: after.iteration,
            signal: after.progress.signal.clone(),
            cause: after.ending.as_ref().and_then(|ending| ending.cause.clone()),
        }
    }
}

impl StopRecord {
    /// Repeats the decision under the current rules.
    pub fn decide_again(&self, mode: &dyn AtStop) -> RecordedOutcome {
        let mut state = self.before.clone();
        let verdict = rule(mode, &mut state, &self.work, &self.seen);
        RecordedOutcome::from_verdict(&verdict, &state)
    }
}

/// The state without its bulk: tasks, texts and, unless completion was requested, receipts.
fn slim(state: &mut LoopState, is_asked: bool) -> LoopState {
    let bulk = LoopState {
        task_graph: std::mem::take(&mut state.task_graph),
        context_report: std::mem::take(&mut state.context_report),
        prompt: std::mem::take(&mut state.prompt),
        lineage: std::mem::take(&mut state.lineage),
        errors: std::mem::take(&mut state.errors),
        details_due: std::mem::take(&mut state.details_due),
        acceptance_criteria: std::mem::take(&mut state.acceptance_criteria),
        ..LoopState::default()
    };
    let mut slim = state.clone();
    // The read offsets of the transcripts do not affect the decision; the total does.
    slim.usage.sources.clear();
    if let Some(session) = slim.orchestration_mut() {
        (session.given, session.calls) = (Vec::new(), Vec::new());
    }
    if is_asked {
        slim.acceptance_criteria.clone_from(&bulk.acceptance_criteria);
        for receipt in slim.acceptance_criteria.iter_mut().filter_map(|one| one.receipt.as_mut()) {
            receipt.tail.clear();
        }
    }
    state.task_graph = bulk.task_graph;
    state.context_report = bulk.context_report;
    state.prompt = bulk.prompt;
    state.lineage = bulk.lineage;
    state.errors = bulk.errors;
    state.details_due = bulk.details_due;
    state.acceptance_criteria = bulk.acceptance_criteria;
    slim
}

#[cfg(test)]
mod bounds_tests;
#[cfg(test)]
mod tests;
