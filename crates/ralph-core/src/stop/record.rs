//! The inputs and the outcome of a stop decision, as stored in the journal.
//!
//! With the record, a decision can be explained, or repeated under later rules. It therefore holds
//! everything that the rules read and nothing else: a state may hold thousands of tasks.

use super::{AtStop, StopInputs, StopVerdict, TaskProgress, rule};
use crate::state::{LoopState, Phase, Signal};
use serde::{Deserialize, Serialize};

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
    pub fn of(verdict: &StopVerdict, after: &LoopState) -> RecordedOutcome {
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
        RecordedOutcome::of(&verdict, &state)
    }
}

/// The state without its bulk: tasks, texts and, unless completion was requested, receipts.
pub(super) fn slim(state: &mut LoopState, is_asked: bool) -> LoopState {
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
