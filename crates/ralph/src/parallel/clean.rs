//! Removes worktrees and branches of workers whose work is merged, and lists the others.
//!
//! Considers only what a state names. Anything that holds more than what was merged stays.

use super::{OTHERS_TURN, bench};
use anyhow::Result;
use ralph_core::modes::parallel::clean::{self as rules, Stays, WorktreeState};
use ralph_core::state::{LoopState, Worker};
use ralph_io::git::worktrees::{self, ListedWorktree, WorkerWork};
use ralph_io::store::home::Home;
use ralph_io::{git::merge, process::clock, project, store::lifecycle};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A worktree, or a branch without one.
#[derive(Debug, Serialize)]
pub(crate) struct CleanItem {
    pub(crate) loop_id: String,
    /// Empty for a merge worktree, and for a worker without a task.
    pub(crate) task: String,
    /// The folder; empty if it is gone.
    pub(crate) worktree: String,
    /// Empty if there is no branch.
    pub(crate) branch: String,
    /// Why it stays; `None` if it is removed.
    pub(crate) stays: Option<Stays>,
    /// Why it could not be removed; empty if it was removed or should not be.
    pub(crate) problem: String,
    /// The command with which a person removes it; empty if Ralph removes it.
    pub(crate) command: String,
}

/// Checks everything that the project's loops have made, and removes what is safe to remove unless
/// `only_look` is set.
pub(crate) fn clean(home: &Home, root: &Path, only_look: bool) -> Result<Vec<CleanItem>> {
    let Ok(place) = merge::place(root)? else { return Ok(Vec::new()) };
    let _turn = merge::lock(home, root, OTHERS_TURN)?;
    let identity = project::identity(root);
    let of_project =
        |state: &LoopState| project::identity(Path::new(&state.project_root)) == identity;
    let loops: Vec<LoopState> = lifecycle::all(home)
        .into_iter()
        .chain(lifecycle::ended(home))
        .filter_map(|(_, state)| state.ok().filter(of_project))
        .collect();
    let branches = loops.iter().flat_map(|state| &state.workers);
    let branches: BTreeSet<String> =
        branches.map(|worker| worktrees::heads(&worker.branch)).collect();
    let look = Look { top: place.top, branches };
    let mut items = Vec::new();
    for state in &loops {
        for worker in &state.workers {
            items.extend(look.worker(state, worker, only_look)?);
        }
        items.extend(look.bench(state, only_look));
    }
    Ok(items)
}

struct Look {
    top: PathBuf,
    /// The branches of all workers; a commit counts as kept only if another ref contains it.
    branches: BTreeSet<String>,
}

impl Look {
    /// `None` if nothing of the worker is left.
    fn worker(
        &self,
        state: &LoopState,
        worker: &Worker,
        only_look: bool,
    ) -> Result<Option<CleanItem>> {
        let all = worktrees::list(&self.top)?;
        let folder = Path::new(&worker.worktree);
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        if all.first().is_some_and(|main| main.path == folder) || folder == self.top {
            return Ok(None);
        }
        let listed = all.iter().find(|one| one.path == folder);
        let is_there = !worker.worktree.is_empty() && folder.symlink_metadata().is_ok();
        let tip = match worker.branch.is_empty() {
            true => None,
            false => worktrees::tip(&self.top, &worktrees::heads(&worker.branch))?,
        };
        let is_aside =
            !worker.worktree.is_empty() && worktrees::aside(&folder).symlink_metadata().is_ok();
        if !is_there && !is_aside && listed.is_none() && tip.is_none() {
            return Ok(None);
        }
        let seen = self.seen(worker, &folder, is_there, listed, tip.as_deref())?;
        let branch = if tip.is_some() { worker.branch.clone() } else { String::new() };
        let worktree =
            if is_there || is_aside { folder.display().to_string() } else { String::new() };
        let mut item = CleanItem {
            loop_id: state.loop_id.clone(),
            task: worker.task.clone(),
            stays: rules::stays(&seen),
            problem: String::new(),
            command: String::new(),
            worktree,
            branch,
        };
        if item.stays.is_some() {
            item.command = rules::command(&item.worktree, &item.branch, seen.locked.is_some());
        } else if !only_look {
            item.problem = self
                .take_away(worker, &folder, tip.as_deref(), &all)
                .map_or_else(|error| format!("{error:#}"), |()| String::new());
        }
        Ok(Some(item))
    }

    fn seen(
        &self,
        worker: &Worker,
        folder: &Path,
        is_there: bool,
        listed: Option<&ListedWorktree>,
        tip: Option<&str>,
    ) -> Result<WorktreeState> {
        let mut seen = WorktreeState {
            is_running: worker.is_running(),
            merged: worker.merged.clone(),
            kept_out: worker.kept_out.clone(),
            locked: listed.and_then(|listed| listed.locked.clone()),
            ..WorktreeState::default()
        };
        if worker.is_running() || worker.merged.is_empty() || worker.commit.is_empty() {
            return Ok(seen);
        }
        if is_there && listed.is_none() {
            seen.differs = "git does not know it as a worktree".to_owned();
            return Ok(seen);
        }
        (seen.is_as_merged, seen.differs) = match is_there {
            true => self.holds_what_was_merged(worker)?,
            false => (true, String::new()),
        };
        if is_there && seen.is_as_merged {
            seen.repositories = worktrees::repositories_within(folder)?;
        }
        if let Some(tip) = tip
            && !worktrees::contains(&self.top, &worker.commit, tip)?
        {
            seen.is_as_merged = false;
            seen.differs = "its branch has new commits".to_owned();
        }
        let names = worktrees::names_of(&self.top, &worker.commit)?;
        seen.is_held = names.iter().any(|name| !self.branches.contains(name))
            || worktrees::contains(&self.top, "HEAD", &worker.commit)?;
        Ok(seen)
    }

    fn holds_what_was_merged(&self, worker: &Worker) -> Result<(bool, String)> {
        let place = worktrees::WorkerPlace { worktree: &worker.worktree, branch: &worker.branch };
        match worktrees::held(&self.top, place, "what is there now", clock::now())? {
            WorkerWork::Not(why) => Ok((false, why)),
            WorkerWork::Commit { tip, .. }
                if !worktrees::contains(&self.top, &worker.commit, &tip)? =>
            {
                Ok((false, "it has new commits".to_owned()))
            }
            WorkerWork::Commit { commit, .. } => {
                match worktrees::is_same_tree(&self.top, &commit, &worker.commit)? {
                    true => Ok((true, String::new())),
                    false => Ok((false, "its files are other ones".to_owned())),
                }
            }
        }
    }

    fn take_away(
        &self,
        worker: &Worker,
        folder: &Path,
        tip: Option<&str>,
        all: &[ListedWorktree],
    ) -> Result<()> {
        let listed = all.iter().find(|one| one.path == folder);
        if !worker.worktree.is_empty() {
            worktrees::put_away(&self.top, folder, listed.is_some())?;
        }
        let branch = worktrees::heads(&worker.branch);
        let is_elsewhere = |one: &&ListedWorktree| one.branch == branch && Some(*one) != listed;
        match tip {
            Some(tip) if !all.iter().any(|one| is_elsewhere(&one)) => {
                worktrees::delete_branch(&self.top, &worker.branch, tip)
            }
            _ => Ok(()),
        }
    }

    /// A merge worktree left by a killed merge. No merge runs now: we hold their lock.
    fn bench(&self, state: &LoopState, only_look: bool) -> Option<CleanItem> {
        let folder = bench(state);
        folder.symlink_metadata().ok()?;
        let problem = match only_look {
            true => String::new(),
            false => merge::remove_bench(&self.top, &folder)
                .map_or_else(|error| format!("{error:#}"), |()| String::new()),
        };
        Some(CleanItem {
            loop_id: state.loop_id.clone(),
            task: String::new(),
            worktree: folder.display().to_string(),
            branch: String::new(),
            stays: None,
            problem,
            command: String::new(),
        })
    }
}
