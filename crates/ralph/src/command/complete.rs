//! The values that a shell offers for an option or argument: loops, sessions, tasks and the like.
//!
//! A shell asks at each press of Tab. Whatever cannot be read is left out, without a message.

use crate::command::context_dir::Here;
use crate::command::select_loop;
use crate::orchestration::OrchestrationContext;
use anyhow::Result;
use clap::builder::StyledStr;
use clap_complete::engine::CompletionCandidate;
use ralph_core::protocol::permission::Mode as PermissionMode;
use ralph_core::state::{LoopState, Phase};
use ralph_core::tasks::shared::view::Ledger;
use ralph_core::text::truncate::bounded;
use ralph_io::git::shared;
use ralph_io::store::refine::RefineStore;
use ralph_io::{project, store::lifecycle};
use std::path::Path;

/// The ids of all loops: live and planned ones first, then ended ones.
pub(crate) fn loops() -> Vec<CompletionCandidate> {
    let Ok(here) = Here::gather() else { return Vec::new() };
    let all = select_loop::everything(&here).into_iter().chain(lifecycle::ended(&here.home));
    all.filter_map(|(_, state)| state.ok())
        .map(|state| {
            let about = format!("{}: {}", state.phase.as_str(), state.prompt);
            candidate(&state.loop_id, &about)
        })
        .collect()
}

/// The shared loops that this clone has read before. The remote is not asked.
pub(crate) fn shared_loops() -> Vec<CompletionCandidate> {
    let Ok(here) = Here::gather() else { return Vec::new() };
    let known = shared::known(&here.home, &here.root);
    let about = |ledger: Result<Ledger>| ledger.map(|it| it.plan.prompt).unwrap_or_default();
    known
        .into_iter()
        .filter_map(|one| Some(candidate(one.loop_id.as_str(), &about(one.ledger?))))
        .collect()
}

/// The Claude Code sessions that have a loop.
pub(crate) fn sessions() -> Vec<CompletionCandidate> {
    let Ok(here) = Here::gather() else { return Vec::new() };
    let all = select_loop::everything(&here).into_iter().filter_map(|(_, state)| state.ok());
    all.filter(|state| !state.session_id.is_empty())
        .map(|state| candidate(&state.session_id, &state.prompt))
        .collect()
}

/// The tasks of this project's loops.
pub(crate) fn tasks() -> Vec<CompletionCandidate> {
    of_project(|state| {
        state.task_graph.iter().map(|task| candidate(&task.id, &task.name)).collect()
    })
}

/// The criteria of this project's loops.
pub(crate) fn criteria() -> Vec<CompletionCandidate> {
    of_project(|state| {
        let all = state.acceptance_criteria.iter();
        all.map(|one| candidate(&one.id, &one.description)).collect()
    })
}

/// The orchestrations of this project.
pub(crate) fn orchestrations() -> Vec<CompletionCandidate> {
    let place = Here::gather().and_then(|here| OrchestrationContext::gather(&here));
    let names = place.map(|place| place.names()).unwrap_or_default();
    names.iter().rev().map(|name| candidate(&name.to_string(), "")).collect()
}

/// The refinements of this project.
pub(crate) fn refinements() -> Vec<CompletionCandidate> {
    let Ok(here) = Here::gather() else { return Vec::new() };
    let Ok(document) = RefineStore::open(&here.home, &here.root).document() else {
        return Vec::new();
    };
    document.sessions().map(|(name, _)| candidate(name, "")).collect()
}

/// What `ralph report --id` names.
pub(crate) fn reported() -> Vec<CompletionCandidate> {
    orchestrations().into_iter().chain(refinements()).collect()
}

/// The client's permission modes.
pub(crate) fn permission_modes() -> Vec<CompletionCandidate> {
    PermissionMode::ALL.iter().map(|(mode, _)| candidate(mode, "")).collect()
}

/// The rules that complete a loop.
pub(crate) fn completions() -> Vec<CompletionCandidate> {
    vec![
        candidate("verified", "each criterion's command passes"),
        candidate("token", "the model says so; nothing is proven"),
    ]
}

/// The client's short names of models.
pub(crate) fn models() -> Vec<CompletionCandidate> {
    ["opus", "sonnet", "haiku"].iter().map(|model| candidate(model, "")).collect()
}

fn of_project(values: impl Fn(&LoopState) -> Vec<CompletionCandidate>) -> Vec<CompletionCandidate> {
    let Ok(here) = Here::gather() else { return Vec::new() };
    let identity = here.project();
    let all = select_loop::everything(&here).into_iter().filter_map(|(_, state)| state.ok());
    all.filter(|state| state.is_live() || state.phase == Phase::Planned)
        .filter(|state| project::identity(Path::new(&state.project_root)) == identity)
        .flat_map(|state| values(&state))
        .collect()
}

/// A value that a shell shows with a few words about it. Control characters are left out: texts of
/// a state come from models.
fn candidate(value: &str, about: &str) -> CompletionCandidate {
    let plain = |text: &str| text.chars().filter(|letter| !letter.is_control()).collect::<String>();
    let about = Some(plain(&bounded(about, 60))).filter(|about| !about.is_empty());
    CompletionCandidate::new(plain(value)).help(about.map(StyledStr::from))
}
