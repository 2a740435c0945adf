//! The leftovers of a killed run: claims, loops of workers, worktrees.
//!
//! The clients of a killed run end by themselves once their input is closed; this code waits for
//! that. A worker's finished work counts. Its worktree stays in any case.

use super::worker;
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, bad_state, refused};
use crate::runs::engine::wait_for_earlier;
use anyhow::{Context, Result};
use ralph_core::state::{LoopState, Tokens, Worker};
use ralph_io::store::loop_file::LoopFile;
use ralph_io::{client, store::lifecycle};
use std::path::{Path, PathBuf};

/// The lock that is held while a client of this loop is alive.
pub(crate) fn held_by_client(file: &LoopFile) -> PathBuf {
    file.folder().join("round")
}

/// Closes the workers that are gone and archives their loops. Returns what happened to their tasks,
/// as text.
///
/// # Errors
/// When a worker of another session is still working.
pub(crate) fn free(here: &Here, file: &LoopFile) -> Result<Vec<String>> {
    let state = file.read().map_err(bad_state)?.context("the loop is gone")?.state;
    let below = of_loop(here, &state.loop_id);
    for (file, _) in &below {
        wait_for_earlier(&held_by_client(file))?;
    }
    let mut told = Vec::new();
    for one in state.workers.iter().filter(|worker| worker.is_running()) {
        if one.client.as_ref().is_some_and(client::is_alive) {
            let message = format!(
                "a worker of a session ({}) is at work on this loop; wait for its end, or end that session",
                one.about
            );
            return Err(refused(Exit::No, message));
        }
        let why = "its run is gone";
        told.push(worker::finish(here, file, &one.call, Tokens::default(), why)?.0);
    }
    for (file, _) in &below {
        worker::put_away(here, file, "its run is gone")?;
    }
    Ok(told.into_iter().filter(|told| !told.is_empty()).collect())
}

/// The live loops of a loop's workers.
pub(crate) fn of_loop(here: &Here, loop_id: &str) -> Vec<(LoopFile, LoopState)> {
    let all = lifecycle::all(&here.home).into_iter();
    all.filter_map(|(file, state)| Some((file, state.ok()?)))
        .filter(|(_, state)| state.parent.as_deref() == Some(loop_id))
        .collect()
}

/// The remaining worktrees with unmerged work, as text.
pub(crate) fn kept(state: &LoopState) -> Vec<String> {
    let is_kept = |worker: &&Worker| {
        worker.merged.is_empty() && !worker.is_running() && Path::new(&worker.worktree).is_dir()
    };
    let kept = state.workers.iter().filter(is_kept).filter(|worker| !worker.worktree.is_empty());
    kept.map(|worker| {
        format!("kept of {}: {} on branch {}", worker.task, worker.worktree, worker.branch)
    })
    .collect()
}
