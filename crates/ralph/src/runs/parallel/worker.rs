//! One worker: its claim, its worktree, its loop, its client and its outcome.

use super::{ParallelRun, ParallelState, held_by_client};
use crate::command::context_dir::Here;
use crate::command::exit::bad_state;
use crate::command::plan_import;
use crate::runs::client::{ClientRound, sandbox};
use crate::runs::engine::{ClientRunner, MemberExit, RunEnd};
use crate::runs::options::ClientOptions;
use anyhow::{Context, Result, bail};
use ralph_core::modes::build;
use ralph_core::modes::flow::AgentInput;
use ralph_core::modes::parallel::headless_worker::{self, Begin, End};
use ralph_core::modes::parallel::{self, AgentCall, Grant};
use ralph_core::state::{Bounds, EndingKind, LoopState, PauseCause, TaskStatus, Tokens};
use ralph_core::text::truncate::bounded;
use ralph_io::git::worktrees::make::{self, Base};
use ralph_io::store::loop_file::LoopFile;
use ralph_io::store::mailbox::Mailbox;
use ralph_io::{client, process::clock, process::random, store::lifecycle};
use std::path::{Path, PathBuf};

/// The longest text about a worker in the journal.
const TOLD: usize = 1_000;

/// How many of the user's latest steers a worker that starts later gets.
const STEERS: usize = 10;

/// The highest number of old worktrees kept for one task.
const MOST_KEPT: u32 = 1_000;

/// Where a worker works.
pub(crate) struct WorktreeLayout {
    pub(crate) base: Base,
    pub(crate) worktree: PathBuf,
    pub(crate) branch: String,
}

impl WorktreeLayout {
    /// Picks a name that no older worktree or branch of the same task has, since those are kept.
    pub(crate) fn choose(here: &Here, loop_id: &str, task: &str) -> Result<WorktreeLayout> {
        let base = make::base(&here.root)?;
        let base = base.map_err(|why| anyhow::anyhow!("{why}"))?;
        let folders = headless_worker::branch_folders(loop_id);
        let branches = base.branch_folder(&folders)?;
        for attempt in 1..MOST_KEPT {
            let (folder, branch) = headless_worker::names(loop_id, branches, task, attempt);
            let worktree = here.root.join(make::FOLDER).join(folder);
            if worktree.symlink_metadata().is_err() && !base.has_branch(&branch)? {
                return Ok(WorktreeLayout { base, worktree, branch });
            }
        }
        bail!("{task} has {MOST_KEPT} old branches; remove some of them")
    }
}

/// A worker to start.
pub(crate) struct NewWorker<'a> {
    pub(crate) client: &'a ClientOptions,
    /// The folder for the clients' output.
    pub(crate) logs: &'a Path,
    pub(crate) call: &'a str,
    pub(crate) task: &'a str,
    /// The project's folder in its worktree.
    pub(crate) root: &'a Path,
    /// How many workers the run has started, with this one.
    pub(crate) number: u32,
}

impl NewWorker<'_> {
    /// Its round, ready for the client.
    fn round(&self, here: &Here, session: &str, bounds: Option<&Bounds>) -> ClientRound {
        let log = self.logs.join(format!("worker-{}.jsonl", self.number));
        ClientRound {
            session_id: Some(session.to_owned()),
            settings_of: Some(here.root.clone()),
            sandbox: bounds.map(|bounds| sandbox::reach(here, bounds)),
            folder: Some(self.root.to_owned()),
            label: self.task.to_owned(),
            ..self.client.round(here, "build", log)
        }
    }

    /// Starts the client of a worker whose claim is in the state, in a loop of its own.
    pub(crate) fn start<V>(
        &self,
        runner: &mut ClientRunner<'_, V>,
        file: &LoopFile,
        state: &LoopState,
    ) -> Result<WorkerClient> {
        let (here, task, session) = (runner.here, self.task, random::uuid());
        let with = Begin {
            task,
            session_id: &session,
            project_root: &self.root.to_string_lossy(),
            number: self.number,
            now: clock::now(),
        };
        let mut below = headless_worker::begin(state, &with).context("the task is gone")?;
        below.bounds = self.client.bounds_in(here, self.root);
        let file_below = lifecycle::create(&here.home, &mut below)?;
        // The user's messages so far.
        let mailbox = Mailbox::for_loop(&file_below, &below);
        for (kind, text) in Mailbox::for_loop(file, state).recent_signals(STEERS) {
            mailbox.send(kind, &text)?;
        }
        file.update(|state| parallel::launched(state, self.call, &below.loop_id))
            .map_err(bad_state)?;
        let prompt = crate::runs::build::prompt(&file_below, &below);
        let round = ClientRound { prompt, ..self.round(here, &session, below.bounds.as_ref()) };
        let name = state.task_graph.iter().find(|one| one.id == task);
        let about = name.map_or("", |task| task.name.as_str());
        runner.start(self.call, about, round, &held_by_client(&file_below))?;
        Ok(WorkerClient { task: task.to_owned(), below: below.loop_id })
    }
}

/// Frees the task of a worker that could not be started, and stops the run.
pub(crate) fn not_started<V>(
    runner: &mut ClientRunner<'_, V>,
    file: &LoopFile,
    call: &str,
    task: &str,
    error: anyhow::Error,
) -> Result<()> {
    let error = error.context(format!("could not start a worker for {task}"));
    let why = format!("{error:#}");
    runner.stop(RunEnd::Failed(error));
    let with = End { call, state: None, changed: Ok(&[]), tokens: Tokens::default(), why: &why };
    file.update(|state| headless_worker::end(state, &with)).map(drop).map_err(bad_state)
}

/// A worker whose client a run holds.
pub(crate) struct WorkerClient {
    task: String,
    /// The id of the worker's own loop.
    below: String,
}

impl WorkerClient {
    /// Records the outcome of its task once the client is gone, and decides whether others may start. One
    /// that the run has ended itself teaches nothing.
    pub(crate) fn take_up_end<V>(
        &self,
        runner: &mut ClientRunner<'_, V>,
        client: &ClientOptions,
        file: &LoopFile,
        call: &str,
        gone: MemberExit,
        was_ended: bool,
    ) -> Result<()> {
        let MemberExit { came, failed } = gone;
        if let Some((why, exit)) = failed {
            runner.stop(RunEnd::pause(PauseCause::Crashed, &why, exit));
        }
        let why = came.outcome.why("its client ended without closing it");
        let (told, is_idle) = finish(runner.here, file, call, came.tokens, &why)?;
        // Needed as well if the loop above has ended and no longer lists any worker.
        if let Some(below) = lifecycle::by_id(&runner.here.home, &self.below) {
            put_away(runner.here, &below, &told)?;
        }
        let told = match told.is_empty() {
            true => format!("{}: the loop has ended", self.task),
            false => told,
        };
        runner.show_end(call, &told, &told, &came);
        if was_ended {
            return Ok(());
        }
        if is_idle {
            runner.stop_idle(client, "build", &came);
        }
        runner.stop_on_failure(&came);
        Ok(())
    }
}

/// The rounds of the workers that would start now.
pub(crate) fn planned(plan: &ParallelRun<'_>, state: &LoopState) -> Result<Vec<ClientRound>> {
    let parallel::NextParallelStep::Start { calls } = parallel::next(state, clock::now()) else {
        return Ok(Vec::new());
    };
    let tasks = calls.iter().filter_map(|call| parallel::task_of(&call.prompt)).zip(1..);
    tasks
        .map(|(task, number)| {
            let place = WorktreeLayout::choose(plan.here, &state.loop_id, task)?;
            let root = &place.base.project_in(&place.worktree);
            let now = clock::now();
            let with = Begin { task, session_id: "ID", project_root: "", number, now };
            let below = headless_worker::begin(state, &with).context("the task is gone")?;
            let prompt = build::prompt::of_round(&below, &[], &[], now);
            let (client, logs) = (plan.client, plan.logs.as_path());
            let worker = NewWorker { client, logs, call: "", task, root, number };
            let bounds = client.bounds_in(plan.here, root);
            Ok(ClientRound { prompt, ..worker.round(plan.here, "ID", bounds.as_ref()) })
        })
        .collect()
}

impl ParallelState<'_> {
    /// Starts a worker. If that fails, its task is free again and no other worker starts.
    pub(super) fn start(&mut self, call: &AgentInput) -> Result<()> {
        let task = parallel::task_of(&call.prompt).unwrap_or_default().to_owned();
        let id = random::uuid();
        match self.try_start(call, &task, &id) {
            Ok(worker) => drop(self.at_work.insert(id, worker)),
            Err(error) => {
                not_started(&mut self.runner, self.plan.file, &id, &task, error)?;
            }
        }
        Ok(())
    }

    fn try_start(&mut self, call: &AgentInput, task: &str, id: &str) -> Result<WorkerClient> {
        let (here, file) = (self.plan.here, self.plan.file);
        let loop_id = file.read()?.context("the loop is gone")?.state.loop_id;
        let place = WorktreeLayout::choose(here, &loop_id, task)?;
        let state = self.claim(call, id, &place)?;
        place.base.make(&place.worktree, &place.branch)?;
        self.number += 1;
        let root = &place.base.project_in(&place.worktree);
        let (client, logs, number) = (self.plan.client, self.plan.logs.as_path(), self.number);
        let worker = NewWorker { client, logs, call: id, task, root, number };
        worker.start(&mut self.runner, file, &state)
    }

    /// Records the worker and claims its task, in one step.
    fn claim(&self, call: &AgentInput, id: &str, place: &WorktreeLayout) -> Result<LoopState> {
        let us = client::this_process();
        let asked = AgentCall {
            call: id,
            kind: parallel::WORKER,
            prompt: &call.prompt,
            about: &call.description,
            from_worker: false,
            client: Some(&us),
        };
        let now = clock::now();
        let claimed = self.plan.file.update(|state| {
            let granted = parallel::grant(state, &asked, now);
            if let (Grant::Granted, Some(worker)) = (&granted, state.workers.last_mut()) {
                worker.worktree = place.worktree.display().to_string();
                worker.branch.clone_from(&place.branch);
                worker.base.clone_from(&place.base.commit);
            }
            (granted, state.clone())
        });
        match claimed.map_err(bad_state)?.context("the loop is gone")? {
            (Grant::Refused(why), _) => bail!("{why}"),
            (_, state) => Ok(state),
        }
    }

    pub(super) fn take_up_end(&mut self, call: &str, gone: MemberExit) -> Result<()> {
        let Some(worker) = self.at_work.remove(call) else { return Ok(()) };
        let (client, file) = (self.plan.client, self.plan.file);
        worker.take_up_end(&mut self.runner, client, file, call, gone, false)?;
        if let Some(above) = file.read().map_err(bad_state)? {
            // What has nothing to merge is done now.
            plan_import::tick(&above.state, &[]);
        }
        Ok(())
    }
}

/// Records the outcome of a worker whose client is gone. Returns what happened to its task, as
/// text, which is empty if the loop above has ended, and whether the worker has done nothing.
pub(super) fn finish(
    here: &Here,
    file: &LoopFile,
    call: &str,
    tokens: Tokens,
    why: &str,
) -> Result<(String, bool)> {
    let above = file.read().map_err(bad_state)?.map(|loaded| loaded.state);
    let worker = above.and_then(|state| state.workers.into_iter().find(|one| one.call == call));
    let Some(worker) = worker else { return Ok((String::new(), false)) };
    let below = lifecycle::read_by_id(&here.home, &worker.agent)?;
    let state = below.map(|(_, loaded)| loaded.state);
    let changed = make::changed(Path::new(&worker.worktree), &worker.base);
    let changed = changed.map_err(|error| format!("{error:#}"));
    let with = End {
        call,
        state: state.as_ref(),
        changed: changed.as_deref().map_err(String::as_str),
        tokens,
        why,
    };
    let is_idle = state.as_ref().is_some_and(build::is_open) && with.changed == Ok(&[][..]);
    let told = file.update(|above| headless_worker::end(above, &with)).map_err(bad_state)?;
    Ok((told.unwrap_or_default(), is_idle))
}

/// Ends the loop of a worker, if it has not ended, and archives it.
pub(super) fn put_away(here: &Here, file: &LoopFile, why: &str) -> Result<()> {
    let now = clock::now();
    let ended = file.update(|state| {
        if state.ending.is_none() {
            let task = state.round.as_ref().map(|round| round.task.clone());
            let is_done = state
                .task_graph
                .iter()
                .any(|one| Some(&one.id) == task.as_ref() && one.status == TaskStatus::Done);
            let kind = if is_done { EndingKind::CompleteUnverified } else { EndingKind::Failed };
            state.end(kind, bounded(why, TOLD), now);
        }
        state.clone()
    });
    if let Some(state) = ended.map_err(bad_state)? {
        lifecycle::let_go(&here.home, file, &state)?;
    }
    Ok(())
}
