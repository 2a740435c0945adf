//! What `--branch` and `--commit` do in the user's repository, and nothing else of a run does.

use crate::command::context_dir::Here;
use crate::command::exit::{Exit, refused};
use crate::command::screen;
use anyhow::{Context, Result, anyhow};
use ralph_core::project::settings::{RunBranch, RunSettings};
use ralph_core::state::{LoopState, PlanFile};
use ralph_core::text::plural::counted;
use ralph_core::text::truncate::bounded;
use ralph_io::git::branch::{self, BranchSwitch};
use ralph_io::git::commit::{self, CommitOrder, DirtyFiles, MadeCommit};
use ralph_io::process::programs;
use ralph_io::store::lifecycle;
use ralph_io::store::loop_file::LoopFile;
use std::path::PathBuf;

/// The files that were dirty when the run began, below the loop's folder.
const BEFORE: &str = "dirty";

/// The files that were dirty when the last round ended.
const AFTER: &str = "dirty-after";

/// How many dirty files are named.
const NAMED: usize = 3;

/// The longest subject of a commit, in characters.
const SUBJECT: usize = 72;

/// Switches the work tree as `--branch` or the settings say, before the first round.
pub(crate) fn switch(here: &Here, run: &RunSettings, state: &LoopState) -> Result<()> {
    let Some(name) = branch_of(run, &state.loop_id, state.plan_file.as_ref()) else {
        return Ok(());
    };
    let top = repository(here, "--branch")?;
    // The name of a loop's own branch until version 0.1.
    let former = format!("ralph/{}", state.loop_id);
    let is_former = run.branch == Some(RunBranch::Own(true)) && branch::exists(&top, &former)?;
    let name = if is_former { former } else { name };
    match branch::switch(&top, &name)? {
        Err(why) => return Err(refused(Exit::No, why)),
        Ok(BranchSwitch::Stayed) => screen::tell(&format!("on branch {}", screen::visible(&name))),
        Ok(BranchSwitch::Switched) => {
            screen::tell(&format!("switched to branch {}", screen::visible(&name)));
        }
        Ok(BranchSwitch::Created) => {
            screen::tell(&format!("switched to the new branch {}", screen::visible(&name)));
        }
    }
    Ok(())
}

fn branch_of(run: &RunSettings, loop_id: &str, plan: Option<&PlanFile>) -> Option<String> {
    run.branch_name(loop_id, plan.map_or("", |plan| &plan.branch))
}

/// Refuses `--branch` and `--commit` outside of a repository, and a branch to which the work tree
/// cannot switch, before anything starts. A loop that is new has no id yet.
pub(crate) fn check(here: &Here, run: &RunSettings, state: Option<&LoopState>) -> Result<()> {
    let loop_id = state.map_or("new", |state| state.loop_id.as_str());
    if let Some(name) = branch_of(run, loop_id, state.and_then(|state| state.plan_file.as_ref())) {
        let top = repository(here, "--branch")?;
        if let Some(why) = branch::refusal(&top, &name)? {
            return Err(refused(Exit::No, why));
        }
    }
    if run.commits() {
        repository(here, "--commit")?;
    }
    Ok(())
}

fn repository(here: &Here, flag: &str) -> Result<PathBuf> {
    let top = commit::top(&here.root);
    top.ok_or_else(|| {
        let message = format!(
            "{flag} needs a git repository, and `{}` is in none; type `git init` first",
            here.root.display()
        );
        refused(Exit::No, message)
    })
}

/// Reports a dirty work tree, and says whose its files stay.
pub(crate) fn report_dirty(here: &Here, commits: bool) {
    let Some(dirty) = commit::top(&here.root).and_then(|top| DirtyFiles::scan(&top).ok()) else {
        return;
    };
    if dirty.is_empty() {
        return;
    }
    let names = dirty.names(NAMED).join(", ");
    let more = if dirty.len() > NAMED { ", …" } else { "" };
    let stays = match commits {
        true => "; Ralph commits none of them unless a round changes it",
        false => "; Ralph keeps them as they are",
    };
    let files = counted(dirty.len(), "file is", "files are");
    screen::tell(&screen::visible(&format!("{files} in no commit: {names}{more}{stays}")));
}

/// Commits what each round changed.
pub(crate) struct RoundCommits<'a> {
    here: &'a Here,
    file: &'a LoopFile,
    top: PathBuf,
    before: DirtyFiles,
}

impl<'a> RoundCommits<'a> {
    /// `None` if the run does not commit. `was_killed` is true if the last run of this loop was
    /// killed in a round: what that round changed is committed with the next one.
    pub(crate) fn begin(
        here: &'a Here,
        file: &'a LoopFile,
        run: &RunSettings,
        was_killed: bool,
    ) -> Result<Option<RoundCommits<'a>>> {
        if !run.commits() {
            return Ok(None);
        }
        let top = repository(here, "--commit")?;
        let folder = file.folder();
        let known = DirtyFiles::load(&folder.join(BEFORE))?;
        let before = match known {
            Some(known) if was_killed => known,
            known => {
                let now = DirtyFiles::scan(&top)?;
                // Work of earlier rounds that no commit took is not the user's.
                let after = DirtyFiles::load(&folder.join(AFTER))?.unwrap_or_default();
                let pending = after.without(&known.unwrap_or_default());
                now.without(&pending)
            }
        };
        before.save(&folder.join(BEFORE))?;
        Ok(Some(RoundCommits { here, file, top, before }))
    }

    /// Commits what has changed. Returns the commit, or `None` if nothing has.
    pub(crate) fn commit(&self, message: &str) -> Result<Option<MadeCommit>> {
        let changed = DirtyFiles::scan(&self.top)?.without(&self.before);
        let made = match changed.is_empty() {
            true => Ok(None),
            false => self.make(&changed, message).map(Some),
        };
        // Of a loop that has ended, the folder may be gone.
        drop(self.note_round());
        made.map_err(|error| anyhow!("not committed: {error:#}"))
    }

    fn make(&self, files: &DirtyFiles, message: &str) -> Result<MadeCommit> {
        // The loop may have ended with this round, and been archived.
        let found = lifecycle::read(&self.here.home, self.file.clone())?;
        let (_, loaded) = found.context("the loop is gone")?;
        let bounds = loaded.state.bounds.as_ref();
        let (ralph, top) = (&programs::running()?, &self.top);
        commit::commit(&CommitOrder { ralph, top, files, message, bounds })
    }

    /// Remembers what a round that is not committed leaves behind.
    pub(crate) fn note_round(&self) -> Result<()> {
        DirtyFiles::scan(&self.top)?.save(&self.file.folder().join(AFTER))
    }
}

/// The message of a commit: the task, or the first line of the goal and the round.
pub(crate) fn message(state: &LoopState, task: Option<&str>, number: u32) -> String {
    let task = state.task_graph.iter().find(|one| Some(one.id.as_str()) == task);
    let (subject, note) = match task {
        Some(task) => {
            (format!("{}: {}", task.id, task.name), task.result.clone().unwrap_or_default())
        }
        None => {
            let goal = state.prompt.lines().find(|line| !line.trim().is_empty());
            let goal = goal.unwrap_or("Work on the goal").trim().trim_start_matches('#').trim();
            let round = format!(" (round {number})");
            (format!("{}{round}", bounded(goal, SUBJECT - round.len())), String::new())
        }
    };
    let subject = bounded(subject.lines().next().unwrap_or_default(), SUBJECT);
    match note.trim() {
        "" => subject,
        note => format!("{subject}\n\n{note}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::state::Task;

    #[test]
    fn a_commit_is_named_after_the_task_or_the_goal_and_the_round() {
        let task = Task {
            id: "T-1".to_owned(),
            name: "write the lexer".to_owned(),
            result: Some("wrote it".to_owned()),
            ..Task::default()
        };
        let state = LoopState {
            prompt: "\n# Fix it\n\nmore".to_owned(),
            task_graph: vec![task].into(),
            ..LoopState::default()
        };
        assert_eq!(message(&state, Some("T-1"), 1), "T-1: write the lexer\n\nwrote it");
        assert_eq!(message(&state, None, 2), "Fix it (round 2)");
        let long = LoopState { prompt: "x".repeat(200), ..LoopState::default() };
        assert!(message(&long, None, 3).chars().count() <= SUBJECT);
    }
}
