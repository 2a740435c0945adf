//! Whether a call achieved its purpose.
//!
//! The agent's files decide, not its last message. A call that ended without its result has failed,
//! and is made again as [`recovery`](super::super::recovery) requires.

use super::super::agents::Mode;
use super::super::files::OrchestrationFile;
use super::super::invocation::Invocation;
use super::super::progress::{Progress, TaskEntry, TaskMark, cycle};
use super::super::snapshot::{Picture, Snapshot};
use super::super::state::MetadataStatus;
use super::super::validate::{is_invalid, validate};

/// True if the orchestration's files after the call show its result.
pub fn met(after: &Snapshot, call: &Invocation) -> bool {
    let picture = Picture::of(after);
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
            let said = call.input("STATUS").and_then(MetadataStatus::of);
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
