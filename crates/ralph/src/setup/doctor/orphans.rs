//! Finds loops that no longer have a client, a conversation or a project.
//!
//! Such a loop is not lost. It waits, and nothing else reports it.

use super::check::{Check, warn, well};
use super::fix::Fix;
use super::states::Loops;
use crate::setup::places::InstallPaths;
use ralph_core::modes::mode;
use ralph_core::state::LoopState;
use ralph_io::{client, project::user_files};
use std::path::Path;

const NAME: &str = "orphans";

/// One line if there are none, else one for each.
pub(super) fn check(loops: &Loops, places: &InstallPaths) -> Vec<Check> {
    let projects = places.config.join("projects");
    let live = loops.files.iter().zip(&loops.states).filter(|(_, state)| state.is_live());
    let found: Vec<Check> =
        live.filter_map(|(file, state)| orphan(state, file.path(), &projects)).collect();
    match found.is_empty() {
        true => vec![well(NAME, "each live loop has its client, its conversation and its project")],
        false => found,
    }
}

fn orphan(state: &LoopState, file: &Path, projects: &Path) -> Option<Check> {
    let id = &state.loop_id;
    if !Path::new(&state.project_root).is_dir() {
        let detail = format!("the project of loop {id}, `{}`, is gone", state.project_root);
        return Some(warn(NAME, detail, format!("run `ralph cancel --loop {id}`")));
    }
    let has_gone = state.client.as_ref().is_some_and(|client| !client::is_alive(client));
    // The loop can continue in its conversation. Without that, another session has to adopt it.
    let way = match has_conversation(projects, &state.session_id) {
        true => format!("run `claude --resume {}`, or `ralph adopt --loop {id}`", state.session_id),
        false => match mode::of(&state.mode).driver() {
            Some(driver) => format!("run `{driver}`"),
            None => format!("run `ralph adopt --loop {id}`, then type /ralph in any session"),
        },
    };
    if state.is_running() && has_gone {
        let detail =
            format!("loop {id} counts as running at {}, but its client is gone", state.position());
        return Some(warn(NAME, detail, way).with_fix(Fix::PauseLoop(file.to_owned())));
    }
    let is_lost = has_gone && !has_conversation(projects, &state.session_id);
    is_lost.then(|| {
        let detail =
            format!("loop {id} is paused at {}, but its conversation is gone", state.position());
        warn(NAME, detail, way)
    })
}

/// Whether the client still keeps the session's transcript: `projects/<folder>/<session>.jsonl`.
fn has_conversation(projects: &Path, session: &str) -> bool {
    let name = format!("{session}.jsonl");
    user_files::names(projects).iter().any(|folder| projects.join(folder).join(&name).is_file())
}
