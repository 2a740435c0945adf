//! What `ralph doctor --fix` does. Each step reports what it did, and touches only Ralph's own
//! files and entries.
//!
//! The state may have changed since the check, so each step looks again, under the lock if there is
//! one, and leaves alone what is fine by now.

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

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fix {
    /// Makes a folder private to its owner.
    MakePrivate(PathBuf),
    /// Removes the write permission of group and others.
    RemoveWriteAccess(PathBuf),
    /// Removes the manifest entry of a session that leads to no loop.
    ForgetEntry(String),
    /// Restores a loop's state from its last good copy, and keeps the broken file.
    RestoreState(PathBuf),
    /// Pauses a loop whose client is gone.
    PauseLoop(PathBuf),
    /// Repeats an installation that has lost a part, or is of another version.
    Install(ScopeArgs),
    /// Removes the worktrees of workers whose work is merged.
    CleanWorktrees(PathBuf),
}

impl Fix {
    /// A repeated installation, if the record shows that Ralph was installed into this settings
    /// file.
    pub(super) fn install_again(settings: &Path, places: &InstallPaths) -> Option<Fix> {
        let record = InstallRecord::read(places.ralph.root()).ok()?;
        record.of(settings)?;
        ScopeArgs::of_settings(settings, places).map(Fix::Install)
    }

    /// Carries out the step. Returns what was done.
    ///
    /// # Errors
    /// When the step failed; nothing has changed then.
    pub(super) fn carry_out(&self, places: &InstallPaths) -> Result<String> {
        match self {
            Fix::MakePrivate(folder) => {
                user_files::change_mode(folder, 0o700, 0o077)?;
                Ok(format!("`{}` is private now", folder.display()))
            }
            Fix::RemoveWriteAccess(path) => {
                user_files::change_mode(path, 0, 0o022)?;
                Ok(format!("others can no longer write to `{}`", path.display()))
            }
            Fix::ForgetEntry(session) => forget(session, places),
            Fix::RestoreState(state) => restore(&LoopFile::at(state)),
            Fix::PauseLoop(state) => pause(&LoopFile::at(state)),
            Fix::Install(args) => {
                install::again(args.clone())?;
                Ok(format!("repeated `{}`", args.command(None)))
            }
            Fix::CleanWorktrees(root) => clean_worktrees(places, root),
        }
    }
}

fn forget(session: &str, places: &InstallPaths) -> Result<String> {
    let key = ManifestKey::session(session).context("this entry is not for a session")?;
    let Some(state) = manifest::read(&places.ralph, &key)? else {
        return Ok(format!("the entry of session {session} does not exist any more"));
    };
    let leads_to = lifecycle::of_session(&places.ralph, session)?.map(|file| file.read());
    if let Some(Ok(Some(_))) = leads_to {
        bail!("the entry of session {session} now points to a loop; not removed");
    }
    manifest::remove(&places.ralph, &key, &state)?;
    Ok(format!("removed the entry of session {session}, which pointed to no loop"))
}

fn restore(file: &LoopFile) -> Result<String> {
    let id = file.update(|state| state.loop_id.clone())?.context("the loop no longer exists")?;
    Ok(format!("loop {id} restored from its last good state; the broken file is kept beside it"))
}

fn pause(file: &LoopFile) -> Result<String> {
    let here = Here::gather()?;
    let paused = file.update(|state| {
        let is_gone = state.client.as_ref().is_some_and(|client| !client::is_alive(client));
        (state.is_running() && is_gone).then(|| {
            state.pause(PauseCause::Crashed, "its client went away", here.now);
            state.clone()
        })
    })?;
    let Some(state) = paused.context("the loop no longer exists")? else {
        bail!("the loop is running again or paused; not changed");
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
