//! What the router answers, and the same for a program to read.

use super::super::change::RouterWrite;
use super::super::files::SessionFile;
use super::super::finding::SessionFinding;
use super::super::invocation::Invocation;
use super::super::metadata::Counts;
use super::super::progress::Progress;
use super::super::snapshot::Snapshot;
use super::super::state::State;
use jiff::Timestamp;
use serde::Serialize;
use std::fmt;

/// What comes next in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineStep {
    /// Where the session is.
    pub state: State,
    /// In which iteration.
    pub iteration: u32,
    /// Which wave is carried out or judged, counted from 1.
    pub wave: Option<u32>,
    /// What is written first, all of it or nothing.
    pub changes: Vec<RouterWrite>,
    /// The signals that are used up once the step has taken effect, by their names: the calls are made, or the
    /// session rests or ends.
    pub heard: Vec<String>,
    /// What is done then.
    pub act: Act,
    /// What is wrong with the session.
    pub findings: Vec<SessionFinding>,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// These calls are made, side by side.
    Invoke(Vec<Invocation>),
    /// Nothing, until a call ends or this moment comes.
    Wait {
        /// The moment, if there is one.
        until: Option<Timestamp>,
        /// For what.
        why: String,
    },
    /// Nothing until the person says something else; what the person said.
    Paused(String),
    /// The session ends here because the person said so; what the person said.
    Stopped(String),
    /// All is done.
    Complete,
    /// The person says what comes next; what is not done, each with the reason.
    AwaitingFeedback(Vec<String>),
    /// It does not go on; why, and what to do.
    Failed(String),
}

impl Act {
    /// How the session stands, in a word.
    pub fn status(&self) -> &'static str {
        match self {
            Act::Invoke(_) | Act::Wait { .. } => "in_progress",
            Act::Paused(_) | Act::Stopped(_) | Act::Failed(_) => "blocked",
            Act::Complete => "completed",
            Act::AwaitingFeedback(_) => "awaiting_feedback",
        }
    }

    /// True if the session ends here, for now.
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
            Act::Paused(text) => write!(to, "wait: the person said PAUSE{}", because(text)),
            Act::Stopped(text) => write!(to, "end here: the person said STOP{}", because(text)),
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

/// The answer under the names of its contract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Output {
    /// `completed`, `in_progress`, `awaiting_feedback` or `blocked`.
    pub status: &'static str,
    /// The session's name.
    pub session_id: String,
    /// Which iteration.
    pub iteration: u32,
    /// Which state.
    pub current_state: &'static str,
    /// Which wave; 0 where there is none.
    pub current_wave: u32,
    /// How many tasks stand where.
    pub tasks_summary: Counts,
    /// What happens next, or what the person should do.
    pub next_action: String,
}

/// The answer for the session as it is once the step's changes are written.
pub fn output(after: &Snapshot, step: &MachineStep) -> Output {
    let progress = Progress::parse(after.text(SessionFile::Progress).unwrap_or_default());
    Output {
        status: step.act.status(),
        session_id: after.id.to_string(),
        iteration: step.iteration,
        current_state: step.state.word(),
        current_wave: step.wave.unwrap_or_default(),
        tasks_summary: Counts::of(&progress),
        next_action: step.act.to_string(),
    }
}
