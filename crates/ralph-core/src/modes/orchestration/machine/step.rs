//! The router's answer, and its form for programs.

use super::super::change::RouterWrite;
use super::super::finding::OrchestrationFinding;
use super::super::invocation::Invocation;
use super::super::metadata::Counts;
use super::super::snapshot::Snapshot;
use super::super::state::State;
use jiff::Timestamp;
use serde::Serialize;
use std::fmt;

/// The next step of an orchestration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineStep {
    pub state: State,
    pub iteration: u32,
    /// The wave that is executed or reviewed, counted from 1.
    pub wave: Option<u32>,
    /// The changes to write first, all of them or none.
    pub changes: Vec<RouterWrite>,
    /// The names of the signals that are used up once the step has taken effect: the calls are
    /// made, or the orchestration pauses or ends.
    pub heard: Vec<String>,
    /// What to do after the changes.
    pub act: Act,
    /// The problems found in the orchestration.
    pub findings: Vec<OrchestrationFinding>,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Make these calls in parallel.
    Invoke(Vec<Invocation>),
    /// Wait until a call ends or the time comes.
    Wait { until: Option<Timestamp>, why: String },
    /// Pause until the user's next message; holds the user's text.
    Paused(String),
    /// End here because the user sent a STOP; holds the user's text.
    Stopped(String),
    /// Everything is done.
    Complete,
    /// Wait for the user's decision; holds the unfinished tasks with their reasons.
    AwaitingFeedback(Vec<String>),
    /// The orchestration cannot continue; holds the reason and what to do.
    Failed(String),
}

impl Act {
    /// The status word of the orchestration.
    pub fn status(&self) -> &'static str {
        match self {
            Act::Invoke(_) | Act::Wait { .. } => "in_progress",
            Act::Paused(_) | Act::Stopped(_) | Act::Failed(_) => "blocked",
            Act::Complete => "completed",
            Act::AwaitingFeedback(_) => "awaiting_feedback",
        }
    }

    /// True if the orchestration ends here, for now.
    pub fn is_end(&self) -> bool {
        matches!(self, Act::Stopped(_) | Act::Complete | Act::AwaitingFeedback(_) | Act::Failed(_))
    }
}

impl fmt::Display for Act {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let because = |text: &str| match text.trim() {
            "" => String::new(),
            text => format!(": {text}"),
        };
        match self {
            Act::Invoke(calls) => {
                let one = |call: &Invocation| match call.key.task.as_str() {
                    "" => format!("`{}` ({})", call.agent(), call.mode),
                    task => format!("`{}` ({}, {task})", call.agent(), call.mode),
                };
                let calls: Vec<String> = calls.iter().map(one).collect();
                write!(to, "call {}", calls.join(", "))
            }
            Act::Wait { until: Some(until), why } => write!(to, "wait until {until:.0} {why}"),
            Act::Wait { until: None, why } => write!(to, "wait {why}"),
            Act::Paused(text) => write!(to, "paused by PAUSE{}", because(text)),
            Act::Stopped(text) => write!(to, "ended by STOP{}", because(text)),
            Act::Complete => to.write_str("nothing: all tasks are done"),
            Act::AwaitingFeedback(open) => {
                write!(
                    to,
                    "give feedback with `ralph session feedback new`{}",
                    because(&open.join("; "))
                )
            }
            Act::Failed(why) => to.write_str(why),
        }
    }
}

/// The answer with the field names of its specification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Output {
    /// `completed`, `in_progress`, `awaiting_feedback` or `blocked`.
    pub status: &'static str,
    /// The orchestration's name.
    pub session_id: String,
    pub iteration: u32,
    pub current_state: &'static str,
    /// The wave; 0 if there is none.
    pub current_wave: u32,
    pub tasks_summary: Counts,
    /// What happens next, or what the user should do.
    pub next_action: String,
}

/// The answer for the orchestration after the step's changes are written.
pub fn output(after: &Snapshot, step: &MachineStep) -> Output {
    Output {
        status: step.act.status(),
        session_id: after.id.to_string(),
        iteration: step.iteration,
        current_state: step.state.word(),
        current_wave: step.wave.unwrap_or_default(),
        tasks_summary: after.record.progress.as_ref().map(Counts::of).unwrap_or_default(),
        next_action: step.act.to_string(),
    }
}
