//! What a decision about a stop was made from, and what came of it, as the journal keeps both.
//!
//! By it a decision can be explained, and made again by the rules of another day. So it holds all
//! that the rules read, and nothing of what they do not: a state may hold thousands of tasks.

use super::{AtStop, StopInputs, StopVerdict, TaskProgress, rule};
use crate::state::{LoopState, Phase, Signal};
use serde::{Deserialize, Serialize};

/// A decision and all that it was made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StopRecord {
    /// The state before, without what the decision does not read.
    pub before: LoopState,
    /// The tasks.
    pub work: TaskProgress,
    /// What the hook saw.
    pub seen: StopInputs,
    /// What came of it.
    pub outcome: RecordedOutcome,
}

/// What came of a decision, as far as two of them are compared. Texts are not: a better wording
/// is no other decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordedOutcome {
    /// The verdict, as [`StopVerdict::describe`] puts it.
    pub verdict: String,
    /// The phase of the loop after it.
    pub phase: Phase,
    /// How many times the loop had gone on after it.
    pub iteration: u32,
    /// What the stop said about progress.
    pub signal: Signal,
    /// For a stall, its cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Signal>,
}

impl RecordedOutcome {
    /// What came of a verdict that left the state like this.
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
    /// Decides again, by the rules of today.
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
        acceptance_criteria: std::mem::take(&mut state.acceptance_criteria),
        ..LoopState::default()
    };
    let mut slim = state.clone();
    // How far each transcript was read decides nothing; the sum does.
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
    state.acceptance_criteria = bulk.acceptance_criteria;
    slim
}
