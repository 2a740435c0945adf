//! `ralph run --parallel`: starts the workers that can start, merges finished work, waits, and takes up what
//! a killed run left.
//!
//! Every step is decided anew from the state, which lists all workers. The [`engine`] holds their
//! clients.

pub(crate) mod worker;

use crate::command::context_dir::{Here, note};
use crate::command::exit::{Exit, bad_state, refused};
use crate::runs::build::events::Answer;
use crate::runs::build::{BuildOrder, Builder};
use crate::runs::engine::{
    self, ClientRunner, LoopOwner, MemberExit, Owner, RunEnd, Then, Words, wait_for_earlier,
};
use crate::runs::options::ClientOptions;
use crate::runs::screen::Whole;
use anyhow::{Context, Result};
use ralph_core::evidence::completion_feedback::Withheld;
use ralph_core::modes::parallel::{self, NextParallelStep};
use ralph_core::state::{LoopState, PauseCause, TaskStatus, Tokens, Worker};
use ralph_core::stop;
use ralph_core::views::messages;
use ralph_io::client;
use ralph_io::process::clock;
use ralph_io::process::wait_any::Interrupts;
use ralph_io::store::lifecycle;
use ralph_io::store::loop_file::LoopFile;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use worker::WorkerClient;
pub(crate) use worker::planned;

/// Merges finished work into the branch of the main worktree, and returns a line about each.
pub(crate) type Merge<'a> = &'a dyn Fn(&Here, &LoopFile) -> Result<Vec<String>>;

/// The loop to run, and the options.
pub(crate) struct ParallelRun<'a> {
    pub(crate) here: &'a Here,
    pub(crate) file: &'a LoopFile,
    pub(crate) client: &'a ClientOptions,
    /// The folder for the clients' output.
    pub(crate) logs: PathBuf,
    pub(crate) merge: Merge<'a>,
}

/// All tasks are done and merged; the criteria decide.
pub(crate) struct AllMerged;

pub(crate) type ParallelEnd = RunEnd<AllMerged>;

/// Works until no task remains, or the run must pause.
///
/// # Errors
/// When the loop cannot be read or written. No process that the run started is alive then.
pub(crate) fn all(plan: &ParallelRun<'_>, interrupts: &Interrupts) -> Result<Exit> {
    let words = Words {
        command: "parallel run",
        members: "workers",
        ended: "worker ended",
        failed: Exit::MissingProgram,
    };
    let watched = [plan.file.folder()];
    engine::run(ParallelState {
        plan,
        runner: ClientRunner::many(plan.here, plan.file, interrupts, words, &watched)?,
        at_work: BTreeMap::new(),
        number: 0,
        can_merge: true,
    })
}

struct ParallelState<'a> {
    plan: &'a ParallelRun<'a>,
    runner: ClientRunner<'a, AllMerged>,
    /// By call id.
    at_work: BTreeMap<String, WorkerClient>,
    /// How many workers were started.
    number: u32,
    /// False once a merge has merged nothing.
    can_merge: bool,
}

impl<'a> Owner<'a> for ParallelState<'a> {
    type Verdict = AllMerged;

    fn runner(&mut self) -> &mut ClientRunner<'a, AllMerged> {
        &mut self.runner
    }

    fn go_on(&mut self, state: Option<&LoopState>) -> Result<Then> {
        let Some(state) = state else { return Ok(Then::Wait) };
        self.show(state, "");
        match parallel::next(state, clock::now()) {
            NextParallelStep::Start { .. }
                if !stop::may_go_on(&mut state.clone(), clock::now()) =>
            {
                self.runner.stop(ParallelEnd::Bound);
            }
            NextParallelStep::Start { calls } => {
                for call in &calls {
                    if !self.runner.is_stopped() {
                        self.start(call)?;
                    }
                }
            }
            NextParallelStep::Merge { .. } => self.merge(state)?,
            NextParallelStep::Wait { .. } => return Ok(Then::Wait),
            NextParallelStep::Finished => self.runner.stop(ParallelEnd::Decided(AllMerged)),
            NextParallelStep::NoTasks => {
                let why = Withheld::NoTasks.describe();
                self.runner.stop(ParallelEnd::pause(PauseCause::BlockedOnHuman, why, Exit::No));
            }
            NextParallelStep::Stuck { why } => {
                let why = format!("no task is ready; {}", why.join("; "));
                self.runner.stop(ParallelEnd::pause(PauseCause::BlockedOnHuman, &why, Exit::No));
            }
        }
        Ok(Then::Again)
    }

    fn on_exit(&mut self, name: &str, gone: MemberExit) -> Result<()> {
        self.take_up_end(name, gone)?;
        if let Some(state) = self.runner.poll_state()? {
            self.show(&state, "");
        }
        Ok(())
    }

    /// Merges finished work before the run ends.
    fn conclude(&mut self, state: &LoopState) -> Result<()> {
        match self.can_merge && state.workers.iter().any(|worker| worker.awaits_merge()) {
            true => self.merge(state),
            false => Ok(()),
        }
    }
}

impl<'a> LoopOwner<'a> for ParallelState<'a> {
    fn file(&self) -> &'a LoopFile {
        self.plan.file
    }

    fn decided(&mut self, _: AllMerged) -> Result<Exit> {
        let (here, file) = (self.plan.here, self.plan.file);
        // No work remains for workers; the rounds of a build continue in the main worktree.
        file.update(|state| state.parallel = false).map_err(bad_state)?;
        let (client, logs) = (self.plan.client, self.plan.logs.clone());
        let order = BuildOrder {
            here,
            file,
            command: "build",
            client,
            logs,
            answer: Answer::Text,
            commits: None,
            was_killed: false,
            rounds: 0,
        };
        engine::run(Builder::new(order, self.runner.interrupts)?)
    }

    fn paused_line(&mut self, state: &LoopState, why: &str) -> String {
        let kept: String = kept(state).into_iter().map(|line| format!("\n{line}")).collect();
        let next = engine::goes_on("parallel run", why);
        format!("{}: {why}{next}{kept}", messages::paused_run(state))
    }
}

impl ParallelState<'_> {
    /// Merges finished work. Work that cannot be merged is left to the user.
    fn merge(&mut self, before: &LoopState) -> Result<()> {
        let due = |state: &LoopState| {
            let due = state.workers.iter().filter(|worker| worker.awaits_merge());
            due.map(|worker| worker.task.clone()).collect::<Vec<_>>()
        };
        let tasks = due(before);
        self.show(before, &format!("merging {}", tasks.join(", ")));
        let merged = (self.plan.merge)(self.plan.here, self.plan.file);
        let said = match merged {
            Ok(lines) => {
                lines.iter().for_each(|line| self.runner.screen.tell(line));
                lines.join("; ")
            }
            Err(error) => format!("{error:#}"),
        };
        let Some(state) = self.runner.poll_state()? else { return Ok(()) };
        note(self.plan.here, self.plan.file, &state, "parallel run", "merged", &said);
        if due(&state) == tasks {
            self.can_merge = false;
            let why = format!("could not merge {}: {said}", tasks.join(", "));
            self.runner.stop(ParallelEnd::pause(PauseCause::BlockedOnHuman, &why, Exit::No));
        }
        Ok(())
    }

    fn show(&self, state: &LoopState, what: &str) {
        let is_done = |task: &&ralph_core::state::Task| task.status == TaskStatus::Done;
        let n_done = state.task_graph.iter().filter(is_done).count();
        let n_tasks = state.task_graph.len();
        let n_merged = state.workers.iter().filter(|worker| !worker.merged.is_empty()).count();
        let (n_running, most) = (self.runner.len(), state.limits.max_workers);
        let what = if what.is_empty() { String::new() } else { format!("; {what}") };
        let words = format!(
            "{n_done}/{n_tasks} tasks done, {n_merged} merged, {n_running}/{most} at work{what}"
        );
        self.runner.screen.whole(&Whole {
            n_done,
            n_tasks,
            words,
            tokens: state.usage.total(),
            cost: state.usage.cost,
        });
    }
}

// The leftovers of a killed run: claims, loops of workers, worktrees.
//
// The clients of a killed run end by themselves once their input is closed; this code waits for
// that. A worker's finished work counts. Its worktree stays in any case.

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

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::state::WorkerStanding;

    #[test]
    fn a_worktree_is_kept_of_a_worker_that_has_ended_and_is_not_merged() {
        let folder = tempfile::tempdir().unwrap();
        let worker = |merged: &str, worktree: &str| Worker {
            task: "T-1".to_owned(),
            merged: merged.to_owned(),
            worktree: worktree.to_owned(),
            branch: "b".to_owned(),
            standing: WorkerStanding::Done,
            ..Worker::default()
        };
        let place = folder.path().to_str().unwrap();
        let of =
            |worker: Worker| kept(&LoopState { workers: vec![worker], ..LoopState::default() });
        assert_eq!(of(worker("", place)), [format!("kept of T-1: {place} on branch b")]);
        let running = Worker { standing: WorkerStanding::Running, ..worker("", place) };
        for other in [worker("c0ffee", place), running, worker("", "/nowhere"), worker("", "")] {
            assert_eq!(of(other), [""; 0]);
        }
    }
}
