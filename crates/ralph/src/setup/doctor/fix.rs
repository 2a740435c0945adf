//! What `ralph doctor --fix` does: each step says what it did, and touches only what is Ralph's own.
//!
//! What a check has seen may have changed since, so each step looks again, under the lock where there
//! is one, and leaves alone what is well by now.

use crate::command::context_dir::Here;
use crate::command::journal::note;
use crate::parallel::clean;
use crate::setup::install::record::InstallRecord;
use crate::setup::install::{self, scope::ScopeArgs};
use crate::setup::places::InstallPaths;
use anyhow::{Context, Result, bail};
use ralph_core::state::PauseCause;
use ralph_io::store::loop_file::LoopFile;
use ralph_io::store::manifest::{self, ManifestKey};
use ralph_io::{client, project::user_files, store::lifecycle};
use std::path::{Path, PathBuf};

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fix {
    /// Makes a folder its owner's alone.
    Private(PathBuf),
    /// Takes from others the right to write something.
    Alone(PathBuf),
    /// Removes the entry of a session that leads to no loop.
    ForgetEntry(String),
    /// Writes a loop's state anew from its last good copy, and keeps the broken one.
    Mend(PathBuf),
    /// Lets a loop rest whose client is gone.
    Rest(PathBuf),
    /// Writes what an installation of ours has lost.
    Install {
        /// The project it is for; none for the person's own.
        project: Option<PathBuf>,
    },
    /// Takes away worktrees of workers whose work is merged.
    CleanWorktrees(PathBuf),
}

impl Fix {
    /// To install again, where this settings file is known to be one that we have installed into.
    pub(super) fn install_again(settings: &Path, places: &InstallPaths) -> Option<Fix> {
        let record = InstallRecord::read(places.ralph.root()).ok()?;
        record.of(settings)?;
        if settings == places.config.join("settings.json") {
            return Some(Fix::Install { project: None });
        }
        let folder = settings.parent()?;
        let is_project = folder.file_name()? == ".claude" && settings.ends_with("settings.json");
        is_project.then(|| Fix::Install { project: folder.parent().map(Path::to_owned) })
    }

    /// Does it, and says what was done.
    ///
    /// # Errors
    /// When it could not be done; nothing has changed then.
    pub(super) fn carry_out(&self, places: &InstallPaths) -> Result<String> {
        match self {
            Fix::Private(folder) => {
                user_files::change_mode(folder, 0o700, 0o077)?;
                Ok(format!("`{}` is its owner's alone now", folder.display()))
            }
            Fix::Alone(path) => {
                user_files::change_mode(path, 0, 0o022)?;
                Ok(format!("others can write `{}` no more", path.display()))
            }
            Fix::ForgetEntry(session) => forget(session, places),
            Fix::Mend(state) => mend(&LoopFile::at(state)),
            Fix::Rest(state) => rest(&LoopFile::at(state)),
            Fix::Install { project } => {
                install::again(ScopeArgs::of(project.clone()))?;
                Ok("the hooks are registered as they should be".to_owned())
            }
            Fix::CleanWorktrees(root) => clean_worktrees(places, root),
        }
    }
}

fn forget(session: &str, places: &InstallPaths) -> Result<String> {
    let key = ManifestKey::session(session).context("this is no session's entry")?;
    let Some(state) = manifest::read(&places.ralph, &key)? else {
        return Ok(format!("the entry of session {session} is gone already"));
    };
    let leads_to = lifecycle::of_session(&places.ralph, session)?.map(|file| file.read());
    if let Some(Ok(Some(_))) = leads_to {
        bail!("the entry of session {session} leads to a loop by now; it was left alone");
    }
    manifest::remove(&places.ralph, &key, &state)?;
    Ok(format!("removed the entry of session {session}, which led to no loop"))
}

fn mend(file: &LoopFile) -> Result<String> {
    let id = file.update(|state| state.loop_id.clone())?.context("the loop is gone by now")?;
    Ok(format!("loop {id} has its last good state again; the broken file is kept beside it"))
}

fn rest(file: &LoopFile) -> Result<String> {
    let here = Here::gather()?;
    let rested = file.update(|state| {
        let is_gone = state.client.as_ref().is_some_and(|client| !client::is_alive(client));
        (state.is_running() && is_gone).then(|| {
            state.pause(PauseCause::Crashed, "its client went away", here.now);
            state.clone()
        })
    })?;
    let Some(state) = rested.context("the loop is gone by now")? else {
        bail!("the loop is at work again, or rests by now; it was left alone");
    };
    note(&here, file, &state, ("doctor", "paused"), "its client went away");
    Ok(format!("loop {} is paused at {}", state.loop_id, state.position()))
}

fn clean_worktrees(places: &InstallPaths, root: &Path) -> Result<String> {
    let items = clean::clean(&places.ralph, root, false)?;
    if let Some(item) = items.iter().find(|item| !item.problem.is_empty()) {
        bail!("could not remove `{}`: {}", item.worktree, item.problem);
    }
    let gone: Vec<&str> = items
        .iter()
        .filter(|item| item.stays.is_none())
        .map(|item| if item.worktree.is_empty() { &item.branch } else { &item.worktree })
        .map(String::as_str)
        .collect();
    Ok(format!("removed what is merged: {}", gone.join(", ")))
}
