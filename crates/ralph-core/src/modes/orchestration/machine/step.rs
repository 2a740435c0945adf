//! The router's answer and its forms: for programs, for a stop, after its calls were made, and whether
//! a call has achieved its purpose.

use super::super::agents::Mode;
use super::super::files::OrchestrationFile;
use super::super::finding::OrchestrationFinding;
use super::super::invocation::{Invocation, Running};
use super::super::metadata::Counts;
use super::super::progress::{Progress, TaskEntry, TaskMark, cycle};
use super::super::recovery::CallEnd;
use super::super::snapshot::{Picture, Snapshot};
use super::super::state::{MetadataStatus, State};
use super::super::validate::is_invalid;
use super::next;
use crate::stop::{Routed, RouterStep};
use crate::text::hex::hex;
use jiff::Timestamp;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineStep {
    pub state: State,
    pub iteration: u32,
    /// The wave that is executed or reviewed, counted from 1.
    pub wave: Option<u32>,
    /// The orchestration with the changes that come before the act.
    pub after: Snapshot,
    /// The names of the signals that are used up once the step has taken effect: the calls are
    /// made, or the orchestration pauses or ends.
    pub heard: Vec<String>,
    pub act: Act,
    pub findings: Vec<OrchestrationFinding>,
}

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
    /// The calls to make now.
    pub fn calls(&self) -> &[Invocation] {
        match self {
            Act::Invoke(calls) => calls,
            _ => &[],
        }
    }

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

/// The answer with the field names of its specification, and what a program needs to carry it out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Output {
    /// `completed`, `in_progress`, `awaiting_feedback` or `blocked`.
    pub status: &'static str,
    pub session_id: String,
    pub iteration: u32,
    pub current_state: &'static str,
    /// The wave; 0 if there is none.
    pub current_wave: u32,
    pub tasks_summary: Counts,
    /// What happens next, or what the user should do.
    pub next_action: String,
    pub invocations: Vec<serde_json::Value>,
    pub wait_until: Option<String>,
    pub findings: Vec<String>,
}

impl MachineStep {
    pub fn output(&self) -> Output {
        let wait_until = match &self.act {
            Act::Wait { until, .. } => until.map(|until| format!("{until:.0}")),
            _ => None,
        };
        Output {
            status: self.act.status(),
            session_id: self.after.id.to_string(),
            iteration: self.iteration,
            current_state: self.state.word(),
            current_wave: self.wave.unwrap_or_default(),
            tasks_summary: self.after.counts(),
            next_action: self.act.to_string(),
            invocations: self.act.calls().iter().map(Invocation::to_json).collect(),
            wait_until,
            findings: self.findings.iter().map(ToString::to_string).collect(),
        }
    }

    /// The answer, reduced to the values from which a stop is decided.
    pub fn routed(&self) -> Routed {
        let due = match &self.act {
            Act::Invoke(_) => RouterStep::Call,
            Act::Wait { .. } => RouterStep::Wait,
            Act::Paused(_) => RouterStep::Paused,
            Act::Stopped(_) => RouterStep::Stopped,
            Act::Complete => RouterStep::Complete,
            Act::AwaitingFeedback(_) => RouterStep::AwaitingFeedback,
            Act::Failed(_) => RouterStep::Failed,
        };
        let says = match &self.act {
            Act::AwaitingFeedback(open) => open.join("; "),
            act => act.to_string(),
        };
        let stands = progress_digest(&self.after, &says);
        Routed { due, stands, says, heard: self.heard.clone() }
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

// What is reported of the calls: that they were made, and that they ended.

impl MachineStep {
    /// The orchestration after these calls of the step were made: they are in progress, and their signals
    /// are used up. A signal stays while another call of the same batch that carries it has yet to be
    /// made, because the prompt of that call must not change.
    pub fn made(&self, made: &[Invocation], now: Timestamp) -> Snapshot {
        let mut after = self.after.clone();
        if let Some(running) = &mut after.running {
            running.extend(made.iter().map(|call| Running { key: call.key.clone(), since: now }));
        }
        let carries = |calls: &[Invocation]| calls.iter().any(Invocation::carries_a_signal);
        // If the running calls are unknown, the router would return the same calls again.
        let is_owed = || after.running.is_some() && carries(next(&after, now).act.calls());
        if carries(made) && !is_owed() {
            if self.state == State::Planning {
                after.note_plan(&self.heard);
            }
            return after.without_signals(&self.heard);
        }
        after
    }
}

impl Snapshot {
    /// Records the end of a call, and returns how it ended. The agent's files decide, not its last
    /// message: a call that ended without its result has failed, and is made again as
    /// [`super::super::recovery`] requires.
    pub fn close(&mut self, call: &Invocation, now: Timestamp) -> CallEnd {
        let how = if met(self, call) { CallEnd::Met } else { CallEnd::Failed };
        self.note_end(call, how, now);
        how
    }
}

/// True if the orchestration's files after the call show its result.
pub fn met(after: &Snapshot, call: &Invocation) -> bool {
    let picture = Picture::from_snapshot(after);
    let progress = picture.progress;
    let iteration = call.key.iteration;
    let status = || progress.task(&call.key.task).map(|entry| entry.status);
    match (call.mode, call.mode.planning_task(iteration)) {
        (Mode::Initialize, Some(id)) => {
            progress.is_planned(iteration, id)
                && after.has(OrchestrationFile::Plan)
                && after.has(OrchestrationFile::Metadata)
        }
        (Mode::Brainstorm | Mode::Research, Some(id)) if iteration <= 1 => {
            asked(progress, call, id)
        }
        (_, Some(id)) => progress.is_planned(iteration, id),
        (Mode::RebreakdownTask, _) => status() == Some(TaskMark::Cancelled),
        (Mode::UpdateMetadata, _) => {
            let said = call.input("STATUS").and_then(MetadataStatus::from_word);
            said.is_some() && after.metadata_status() == said
        }
        (Mode::Execute, _) => {
            !matches!(status(), None | Some(TaskMark::Open | TaskMark::InProgress))
        }
        (Mode::TaskReview | Mode::TimeoutFail, _) => {
            !matches!(status(), None | Some(TaskMark::ReviewPending | TaskMark::InProgress))
        }
        (Mode::SessionReview, _) => picture.reviews.contains_key(&iteration),
        // The only other mode without a planning task is REPAIR_STATE.
        _ => !is_invalid(&picture.findings),
    }
}

fn asked(progress: &Progress, call: &Invocation, id: &str) -> bool {
    let entries: Vec<&TaskEntry> = progress.planning(call.key.iteration).collect();
    entries.iter().enumerate().any(|(at, entry)| {
        entry.id == id && entry.status.is_settled() && cycle(&entries, at) == call.key.cycle
    })
}
