//! The router's answer and its forms: for programs, for a stop, after its calls were made, and whether
//! a call has achieved its purpose.

use super::super::agents::Mode;
use super::super::change::{RouterWrite, apply};
use super::super::files::OrchestrationFile;
use super::super::finding::OrchestrationFinding;
use super::super::invocation::{Invocation, Running};
use super::super::local_time::LocalTime;
use super::super::metadata::Counts;
use super::super::progress::{Progress, TaskEntry, TaskMark, cycle};
use super::super::snapshot::{Picture, Snapshot};
use super::super::state::{MetadataStatus, State};
use super::super::validate::{is_invalid, validate};
use super::next;
use crate::stop::{Routed, RouterStep};
use crate::text::hex::hex;
use jiff::Timestamp;
use serde::Serialize;
use sha2::{Digest, Sha256};
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
        tasks_summary: after
            .record
            .progress
            .as_ref()
            .map(Counts::from_progress)
            .unwrap_or_default(),
        next_action: step.act.to_string(),
    }
}

// The router's answer, reduced to the values from which a stop is decided.

impl MachineStep {
    /// `after` is the orchestration after this step's changes are written.
    pub fn routed(&self, after: &Snapshot) -> Routed {
        let (due, says) = match &self.act {
            Act::Invoke(_) => (RouterStep::Call, self.act.to_string()),
            Act::Wait { .. } => (RouterStep::Wait, self.act.to_string()),
            Act::Paused(text) => (RouterStep::Paused, said("paused by PAUSE", text)),
            Act::Stopped(text) => (RouterStep::Stopped, said("ended by STOP", text)),
            Act::Complete => (RouterStep::Complete, self.act.to_string()),
            Act::AwaitingFeedback(open) => (RouterStep::AwaitingFeedback, open.join("; ")),
            Act::Failed(why) => (RouterStep::Failed, why.clone()),
        };
        Routed { due, stands: progress_digest(after, &says), says, heard: self.heard.clone() }
    }
}

fn said(what: &str, text: &str) -> String {
    match text.trim() {
        "" => what.to_owned(),
        text => format!("{what}: {text}"),
    }
}

/// A digest of all files and of the next action, to detect progress.
fn progress_digest(after: &Snapshot, says: &str) -> String {
    let mut digest = Sha256::new();
    let mut add = |text: &str| {
        digest.update(text.as_bytes());
        digest.update([0]);
    };
    for (path, text) in &after.files {
        add(path);
        // A new update time is not progress.
        let lines = text.iter().flat_map(|text| text.lines());
        lines.filter(|line| !line.trim_start().starts_with("updated_at:")).for_each(&mut add);
    }
    add(says);
    hex(&digest.finalize()[..8])
}

// Records that calls of a step were made: they are in progress, and their signals are used up.

impl MachineStep {
    /// The orchestration after these calls of the step were made. A signal stays while another call
    /// of the same batch that carries it has yet to be made, because the prompt of that call must
    /// not change.
    ///
    /// # Errors
    /// What the step would write but cannot.
    pub fn made(
        &self,
        seen: &Snapshot,
        made: &[Invocation],
        now: Timestamp,
        local: LocalTime,
    ) -> Result<Snapshot, String> {
        let mut after = apply(seen, &self.changes, local)?;
        if let Some(running) = &mut after.running {
            running.extend(made.iter().map(|call| Running { key: call.key.clone(), since: now }));
        }
        let carried = made.iter().any(Invocation::carries_a_signal);
        // If the running calls are unknown, the router would return the same calls again.
        let is_owed = || match (&after.running, next(&after, now).act) {
            (Some(_), Act::Invoke(calls)) => calls.iter().any(Invocation::carries_a_signal),
            _ => false,
        };
        if carried && !is_owed() {
            let notes = RouterWrite::NotePlan(self.heard.clone());
            let heard = RouterWrite::Heard(self.heard.clone());
            let is_planning = self.state == State::Planning;
            let writes: Vec<_> = is_planning.then_some(notes).into_iter().chain([heard]).collect();
            after = apply(&after, &writes, local)?;
        }
        Ok(after)
    }
}

// Whether a call achieved its purpose.
//
// The agent's files decide, not its last message. A call that ended without its result has failed,
// and is made again as [`super::super::recovery`] requires.

/// True if the orchestration's files after the call show its result.
pub fn met(after: &Snapshot, call: &Invocation) -> bool {
    let picture = Picture::from_snapshot(after);
    let progress = picture.progress.clone().unwrap_or_default();
    let iteration = call.key.iteration;
    let planned = |id: &str| {
        progress.planning(iteration).any(|entry| entry.id == id && entry.status == TaskMark::Done)
    };
    let status = || progress.task(&call.key.task).map(|entry| entry.status);
    match call.mode {
        Mode::Initialize => {
            planned("plan-init")
                && after.has(OrchestrationFile::Plan)
                && after.has(OrchestrationFile::Metadata)
        }
        Mode::Brainstorm => asked(&progress, call, "plan-brainstorm"),
        Mode::Research if iteration > 1 => planned("plan-reresearch"),
        Mode::Research => asked(&progress, call, "plan-research"),
        Mode::TaskBreakdown => planned("plan-breakdown"),
        Mode::FeedbackAnalysis => planned("plan-rebrainstorm"),
        Mode::Update => planned("plan-update"),
        Mode::Rebreakdown => planned("plan-rebreakdown"),
        Mode::RebreakdownTask => status() == Some(TaskMark::Cancelled),
        Mode::UpdateMetadata => {
            let said = call.input("STATUS").and_then(MetadataStatus::from_word);
            said.is_some() && picture.metadata.and_then(|metadata| metadata.standing) == said
        }
        Mode::RepairState => !is_invalid(&validate(after)),
        Mode::Execute => !matches!(status(), None | Some(TaskMark::Open | TaskMark::InProgress)),
        Mode::TaskReview | Mode::TimeoutFail => {
            !matches!(status(), None | Some(TaskMark::ReviewPending | TaskMark::InProgress))
        }
        Mode::SessionReview => picture.reviews.contains_key(&iteration),
    }
}

fn asked(progress: &Progress, call: &Invocation, id: &str) -> bool {
    let entries: Vec<&TaskEntry> = progress.planning(call.key.iteration).collect();
    entries.iter().enumerate().any(|(at, entry)| {
        entry.id == id && entry.status.is_settled() && cycle(&entries, at) == call.key.cycle
    })
}
