//! Decides whether a finished turn may end the loop.
//!
//! The rules are tried in order, and the order matters: a person's wish comes before everything, a
//! request for completion before the bounds, so that work finished on the last iteration is
//! complete and not capped, and the bounds before the stall, so that an ending names its real cause.

pub mod replay;
pub mod rounds;

mod at_stop;
mod record;
mod routed;

pub use at_stop::AtStop;
pub use record::{RecordedOutcome, StopRecord};
pub use routed::{Due, Routed};

use crate::evidence::pinned;
use crate::evidence::receipt::Proof;
use crate::state::progress::{self, ProgressSample};
use crate::state::{
    Completion, DrivenTurn, EndingKind, LoopError, LoopState, PauseCause, Phase, Signal, TaskStatus,
};
use crate::tasks::graph;
use crate::text::plural::noun;
use crate::text::token::CompletionRequest;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What the hook saw when the turn wanted to end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StopInputs {
    /// The time.
    pub now: Timestamp,
    /// The client's id of the turn.
    pub prompt_id: String,
    /// What the last text block of the turn says about completion.
    pub request: CompletionRequest,
    /// Subagents that still run, as the client describes them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<String>,
    /// True when a `/ralph…` command that the person typed waits for the turn to end.
    #[serde(default, skip_serializing_if = "is_false")]
    pub command_waits: bool,
    /// True when the conversation has not heard a STEER of the person yet.
    #[serde(default, skip_serializing_if = "is_false")]
    pub steer_waits: bool,
    /// True when a planning's own document is not in the project any more: a person removed it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub document_gone: bool,
    /// What the router of an orchestrated session says; none in every other mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Routed>,
    /// Whether the turn called a tool; none where that cannot be known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worked: Option<bool>,
    /// Fingerprint of the tree; none where there is none to be had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// What the checks found that completion was requested for; none if they were not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// Where checks were run: the work outside the tree before them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_before_checks: Option<String>,
    /// Where checks were run: the fingerprint of the tree after them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree_after_checks: Option<String>,
}

/// What of the tasks a stop is decided from. Kept apart from the state, so that the record of a
/// decision does not hold thousands of tasks.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TaskProgress {
    /// True if there are tasks and all are done.
    pub all_done: bool,
    /// True if a task could be begun now.
    pub is_ready: bool,
    /// True where this session is a round for one task, and that is done or given up.
    #[serde(default, skip_serializing_if = "is_false")]
    pub round_is_over: bool,
    /// Why no proof could complete the loop now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<Withheld>,
    /// One value for all task states and what the checks said.
    pub print: String,
}

/// Why a loop cannot complete, whatever its criteria say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Withheld {
    /// Its workers carry out tasks, and it has none.
    NoTasks,
}

impl Withheld {
    /// The reason, for a state; none where proof decides.
    pub fn of(state: &LoopState) -> Option<Withheld> {
        (state.parallel && state.task_graph.is_empty()).then_some(Withheld::NoTasks)
    }

    /// The reason in words, with what to do.
    pub fn describe(self) -> &'static str {
        match self {
            Withheld::NoTasks => {
                "this loop has no tasks yet, so no worker has done anything; add them with `ralph \
                 plan-sync`"
            }
        }
    }
}

/// The answer to a turn that wants to end.
#[derive(Debug, Clone, PartialEq)]
pub enum StopVerdict {
    /// The turn may end; the loop stays as it is.
    LetGo(AllowReason),
    /// The loop is over, and the state says how.
    Ended(EndingKind),
    /// The turn goes on.
    GoOn,
}

/// Why a turn may end although the loop has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllowReason {
    /// The loop was never started, or is over.
    NotLive,
    /// The loop is paused.
    Paused,
    /// Background subagents run; the client wakes the model when they finish.
    WorkersRun,
    /// A command that the person typed waits.
    CommandWaits,
    /// A person must do something first; the loop is paused now.
    Blocked,
    /// The task of this round is closed; `ralph build` begins the next round.
    RoundIsOver,
    /// A plan waits for a person's decision.
    AwaitsPerson,
}

impl AllowReason {
    /// The reason in words, for the journal.
    pub fn describe(self) -> &'static str {
        match self {
            AllowReason::NotLive => "the loop is not live",
            AllowReason::Paused => "the loop is paused",
            AllowReason::WorkersRun => "background subagents are still at work",
            AllowReason::CommandWaits => "a command that the person typed is waiting",
            AllowReason::Blocked => "a person must do something first",
            AllowReason::RoundIsOver => "the task of this round is closed",
            AllowReason::AwaitsPerson => "a person must decide about the plan",
        }
    }
}

impl StopVerdict {
    /// The verdict in a few words, for the journal and for comparing.
    pub fn describe(&self) -> String {
        match self {
            StopVerdict::LetGo(why) => format!("let go: {}", why.describe()),
            StopVerdict::Ended(kind) => format!("ended: {kind}"),
            StopVerdict::GoOn => "go on".to_owned(),
        }
    }
}

/// What was decided, what the model is told, and from what it was decided.
#[derive(Debug, Clone, PartialEq)]
pub struct StopDecision {
    /// The verdict.
    pub verdict: StopVerdict,
    /// The reason to go on; empty for other verdicts.
    pub says: String,
    /// What it was decided from.
    pub record: StopRecord,
}

/// True when the decision will need the fingerprint of the tree: it costs a child process, so it
/// is taken only then.
pub fn wants_tree(mode: &dyn AtStop, state: &LoopState) -> bool {
    state.is_running() && mode.wants_tree()
}

/// True when the decision will need proof: the checks are run before it.
pub fn wants_proof(mode: &dyn AtStop, state: &LoopState, seen: &StopInputs) -> bool {
    Withheld::of(state).is_none()
        && may_rest(state, seen).is_none()
        && mode.wants_proof(state, seen)
}

/// True where the model asks for a completion that criteria have to prove, and nothing else comes first.
pub(crate) fn asks_for_completion(state: &LoopState, seen: &StopInputs) -> bool {
    let asks = seen.request == CompletionRequest::Made && needs_proof(state);
    asks && !seen.steer_waits && state.blocked.is_none()
}

/// Decides, and writes into the state what the decision changes.
pub fn decide(mode: &dyn AtStop, state: &mut LoopState, seen: &StopInputs) -> StopDecision {
    let work = work(state, seen.now);
    let asks_criteria = seen.request == CompletionRequest::Made || mode.wants_proof(state, seen);
    let before = record::slim(state, asks_criteria);
    let verdict = rule(mode, state, &work, seen);
    let outcome = RecordedOutcome::of(&verdict, state);
    let record = StopRecord { before, work, seen: seen.clone(), outcome };
    let mut says = String::new();
    if verdict == StopVerdict::GoOn {
        says = mode.next_step(state, seen);
        state.context_lost = false;
    }
    StopDecision { verdict, says, record }
}

fn work(state: &LoopState, now: Timestamp) -> TaskProgress {
    let summary = graph::summary(&state.task_graph, now);
    TaskProgress {
        all_done: summary.all_done(),
        is_ready: summary.ready > 0,
        round_is_over: round_is_over(state),
        withheld: Withheld::of(state),
        print: progress::print_of_work(state),
    }
}

/// The next task gets a session of its own, that knows nothing of this one.
fn round_is_over(state: &LoopState) -> bool {
    let Some(round) = state.round.as_ref().filter(|round| !round.task.is_empty()) else {
        return false;
    };
    let task = state.task_graph.iter().find(|task| task.id == round.task);
    task.is_none_or(|task| task.status != TaskStatus::InProgress)
}

/// The rules, in their order.
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
        // Nothing is outstanding now: the person's next prompt reveals no interruption.
        state.turn = None;
        return StopVerdict::LetGo(why);
    }
    mode.at_stop(state, work, seen)
}

/// The pause for a person, where the model said what they must do and no other work is ready.
pub(crate) fn blocked(
    state: &mut LoopState,
    work: &TaskProgress,
    seen: &StopInputs,
) -> Option<StopVerdict> {
    // What the person has just said may be the answer.
    let Some(blocked) = state.blocked.take_if(|_| !work.is_ready && !seen.steer_waits) else {
        // Said too early: there is other work to do, and the loop was told so.
        state.blocked = None;
        return None;
    };
    state.pause(PauseCause::BlockedOnHuman, blocked.what, seen.now);
    state.progress.signal = Signal::Blocked;
    Some(StopVerdict::LetGo(AllowReason::Blocked))
}

/// The rules of a plain loop.
fn plain(state: &mut LoopState, work: &TaskProgress, seen: &StopInputs) -> StopVerdict {
    if let Some(verdict) = blocked(state, work, seen) {
        return verdict;
    }
    if work.all_done && state.phase == Phase::Implementation {
        state.phase = Phase::Verification;
    }
    // Who asks for completion has not heard yet what else the person wants.
    let is_asked = !seen.steer_waits && work.withheld.is_none();
    let completed = if is_asked { completed(state, seen) } else { None };
    if let Some((kind, detail)) = completed {
        return end(state, kind, detail, seen.now);
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
        // From here on it is other work: what counted as standing still does not any more.
        state.forget_progress();
    } else if let Some(stall) = progress::stalled(state, &shown) {
        let verdict = end(state, EndingKind::Stalled, stall.detail, seen.now);
        if let Some(ending) = &mut state.ending {
            ending.cause = Some(stall.cause);
        }
        return verdict;
    }
    // Counted before the answer is sent: if the reply is lost, a repeated hook must not get a
    // free iteration.
    state.iteration += 1;
    state.turn = Some(DrivenTurn::new(seen.prompt_id.clone(), seen.now));
    StopVerdict::GoOn
}

/// Steps 1 to 4: reasons to let the turn end without a word about the work.
fn may_rest(state: &LoopState, seen: &StopInputs) -> Option<AllowReason> {
    if !state.is_live() {
        Some(AllowReason::NotLive)
    } else if !state.is_running() {
        Some(AllowReason::Paused)
    } else if seen.command_waits {
        Some(AllowReason::CommandWaits)
    } else if !seen.workers.is_empty() && time_used_up(state, seen.now).is_none() {
        // A worker that hangs must not outlast the loop's time.
        Some(AllowReason::WorkersRun)
    } else {
        None
    }
}

/// True where the token is a request, and not the end itself.
fn needs_proof(state: &LoopState) -> bool {
    state.completion != Completion::Token && !state.acceptance_criteria.is_empty()
}

/// Step 6: the ending that was requested, if it is granted.
fn completed(state: &mut LoopState, seen: &StopInputs) -> Option<(EndingKind, String)> {
    if seen.request != CompletionRequest::Made {
        return None;
    }
    if !needs_proof(state) {
        let detail = match state.acceptance_criteria.is_empty() {
            true => "the completion token was given; there was no criterion to prove it by",
            false => "the completion token was given; nothing was verified",
        };
        return Some((EndingKind::CompleteUnverified, detail.to_owned()));
    }
    let proof = seen.proof.as_ref()?;
    all_hold(state, proof).then(|| {
        let detail = match state.acceptance_criteria.len() {
            1 => "the one criterion holds".to_owned(),
            2 => "both criteria hold".to_owned(),
            n => format!("all {n} criteria hold"),
        };
        (EndingKind::Complete, detail)
    })
}

/// True if every criterion is proven and is what a person agreed to; writes what each is worth.
pub(crate) fn all_hold(state: &mut LoopState, proof: &Proof) -> bool {
    for criterion in &mut state.acceptance_criteria {
        criterion.verified = proof.proves(criterion);
    }
    let all_hold = state.acceptance_criteria.iter().all(|criterion| criterion.verified);
    all_hold && pinned::is_as_frozen(state)
}

/// Step 7: a bound that is reached.
pub(crate) fn used_up(state: &LoopState, now: Timestamp) -> Option<(EndingKind, String)> {
    if state.iteration >= state.max_iterations {
        let detail = format!(
            "went on {} {}, as often as it may",
            state.iteration,
            noun(state.iteration, "time", "times")
        );
        return Some((EndingKind::MaxIterations, detail));
    }
    let detail = time_used_up(state, now).or_else(|| tokens_used_up(state))?;
    Some((EndingKind::Budget, detail))
}

/// True if no bound is reached; else the loop is ended by it.
pub fn may_go_on(state: &mut LoopState, now: Timestamp) -> bool {
    if state.ending.is_none()
        && let Some((kind, detail)) = used_up(state, now)
    {
        end(state, kind, detail, now);
    }
    state.ending.is_none()
}

/// How much of the loop's time is left.
pub fn time_left(state: &LoopState, now: Timestamp) -> Duration {
    let began = state.started_at.unwrap_or(state.created_at);
    let ran = Duration::try_from(now.duration_since(began)).unwrap_or_default();
    Duration::from_secs(state.limits.max_minutes.saturating_mul(60)).saturating_sub(ran)
}

fn time_used_up(state: &LoopState, now: Timestamp) -> Option<String> {
    let began = state.started_at.unwrap_or(state.created_at);
    // A clock that was set back gives a negative time: nothing is used up then.
    let minutes = u64::try_from(now.duration_since(began).as_mins()).unwrap_or(0);
    let most = state.limits.max_minutes;
    (minutes >= most)
        .then(|| format!("ran for {minutes} of at most {most} {}", noun(most, "minute", "minutes")))
}

fn tokens_used_up(state: &LoopState) -> Option<String> {
    let (used, most) = (state.usage.total(), state.limits.max_tokens?);
    (used >= most)
        .then(|| format!("used {used} of at most {most} {}", noun(most, "token", "tokens")))
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

#[cfg(test)]
mod tests;
