//! One worker: its claim, its worktree, its loop, its client and its outcome.

use super::{ParallelEnd, ParallelRun, ParallelState};
use crate::command::context_dir::Here;
use crate::command::exit::bad_state;
use crate::command::plan_import;
use crate::runs::client::{ClientRound, sandbox};
use crate::runs::engine::MemberExit;
use crate::runs::worker::RoundOrder;
use anyhow::{Context, Result, bail};
use ralph_core::modes::build;
use ralph_core::modes::parallel::headless_worker::{self, Begin, End};
use ralph_core::modes::parallel::{self, AgentCall, AgentInput, Grant};
use ralph_core::state::{EndingKind, LoopState, PauseCause, TaskStatus, Tokens};
use ralph_core::text::truncate::bounded;
use ralph_io::git::worktrees::make::{self, Base};
use ralph_io::store::loop_file::LoopFile;
use ralph_io::store::mailbox::Mailbox;
use ralph_io::{client, process::clock, process::random, store::lifecycle};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The longest text about a worker in the journal.
const TOLD: usize = 1_000;

/// How many of the user's latest steers a worker that starts later gets.
const STEERS: usize = 10;

/// The highest number of old worktrees kept for one task.
const MOST_KEPT: u32 = 1_000;

/// A worker whose client this run holds.
pub(super) struct AtWork {
    task: String,
    /// The id of the worker's own loop.
    below: String,
}

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

/// The round of a worker, ready for the client.
fn round(
    plan: &ParallelRun<'_>,
    place: &WorktreeLayout,
    task: &str,
    number: u32,
    session: &str,
) -> ClientRound {
    let mut extra_args = local_settings(&plan.here.root, &plan.client.args);
    extra_args.extend(plan.client.args.iter().cloned());
    let folder = place.base.project_in(&place.worktree);
    let bounds = plan.client.bounds_in(plan.here, &folder);
    ClientRound {
        session_id: Some(session.to_owned()),
        extra_args,
        sandbox: bounds.map(|bounds| sandbox::reach(plan.here, &bounds)),
        folder: Some(folder),
        label: format!("worker {number}, {task}"),
        ..plan.client.round(plan.here, "build", plan.logs.join(format!("worker-{number}.jsonl")))
    }
}

/// A worktree contains only committed files, and the user's own settings for the project are not
/// among them. Passes those settings to the client, unless the user passes others.
pub(crate) fn local_settings(root: &Path, given: &[OsString]) -> Vec<OsString> {
    let file = root.join(".claude/settings.local.json");
    let is_given = given.iter().any(|arg| arg.as_encoded_bytes().starts_with(b"--settings"));
    match file.is_file() && !is_given {
        true => vec!["--settings".into(), file.into()],
        false => Vec::new(),
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
            let now = clock::now();
            let with = Begin { task, session_id: "ID", project_root: "", number, now };
            let below = headless_worker::begin(state, &with).context("the task is gone")?;
            let prompt = build::prompt::of_round(&below, &[], &[], now);
            Ok(ClientRound { prompt, ..round(plan, &place, task, number, "ID") })
        })
        .collect()
}

impl ParallelState<'_> {
    /// Starts a worker. If that fails, its task is free again and no other worker starts.
    pub(super) fn start(&mut self, call: &AgentInput) -> Result<()> {
        let task = parallel::task_of(&call.prompt).unwrap_or_default().to_owned();
        let id = random::uuid();
        let begun = self.try_start(call, &task, &id);
        let Err(error) = begun else { return Ok(()) };
        let error = error.context(format!("could not start a worker for {task}"));
        let why = format!("{error:#}");
        self.runner.stop(ParallelEnd::Failed(error));
        self.plan
            .file
            .update(|state| headless_worker::end(state, &nothing(&id, &why)))
            .map_err(bad_state)?;
        Ok(())
    }

    fn try_start(&mut self, call: &AgentInput, task: &str, id: &str) -> Result<()> {
        let (here, file) = (self.plan.here, self.plan.file);
        let loop_id = file.read()?.context("the loop is gone")?.state.loop_id;
        let place = WorktreeLayout::choose(here, &loop_id, task)?;
        let state = self.claim(call, id, &place)?;
        place.base.make(&place.worktree, &place.branch)?;
        self.number += 1;
        let session = random::uuid();
        let root = place.base.project_in(&place.worktree);
        let with = Begin {
            task,
            session_id: &session,
            project_root: &root.to_string_lossy(),
            number: self.number,
            now: clock::now(),
        };
        let mut below = headless_worker::begin(&state, &with).context("the task is gone")?;
        below.bounds = self.plan.client.bounds_in(here, &root);
        let below = lifecycle::create(&here.home, &mut below).map(|file| (file, below))?;
        pass_on(file, &state, &below)?;
        let loop_of_worker = below.1.loop_id.clone();
        file.update(|state| parallel::launched(state, id, &loop_of_worker))?;
        let prompt = crate::runs::build::prompt(&below.0, &below.1);
        let round = ClientRound { prompt, ..round(self.plan, &place, task, self.number, &session) };
        let alone = super::leftovers::held_by_client(&below.0);
        let order = RoundOrder::new(round, &self.plan.client.policy(), &alone);
        let name = state.task_graph.iter().find(|one| one.id == task);
        self.runner.start(id, task, name.map_or("", |task| task.name.as_str()), &order)?;
        self.at_work.insert(id.to_owned(), AtWork { task: task.to_owned(), below: loop_of_worker });
        Ok(())
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

    /// Handles the end of a worker's client: records the outcome of its task, and decides whether
    /// others may start.
    pub(super) fn take_up_end(&mut self, call: &str, gone: MemberExit) -> Result<()> {
        let Some(worker) = self.at_work.remove(call) else { return Ok(()) };
        let MemberExit { came, failed } = gone;
        if let Some((why, exit)) = failed {
            self.runner.stop(ParallelEnd::rest(PauseCause::Crashed, &why, exit));
        }
        let (told, is_idle) = finish(
            self.plan.here,
            self.plan.file,
            call,
            came.tokens,
            &came.outcome.why("its client ended without closing it"),
        )?;
        if let Some(above) = self.plan.file.read().map_err(bad_state)? {
            // What has nothing to merge is done now.
            plan_import::tick(&above.state, &[]);
        }
        // Needed as well if the loop above has ended and no longer lists any worker.
        put_away_by_id(self.plan.here, &worker.below, &told)?;
        let told =
            if told.is_empty() { format!("{}: the loop has ended", worker.task) } else { told };
        self.runner.show_end(call, &told, &told, &came);
        if is_idle {
            self.runner.stop_idle(self.plan.client, "build", &came);
        }
        self.runner.learn(&came);
        Ok(())
    }
}

/// Passes the user's messages so far to a worker that starts later.
pub(crate) fn pass_on(
    above: &LoopFile,
    state: &LoopState,
    below: &(LoopFile, LoopState),
) -> Result<()> {
    let box_of_worker = Mailbox::of(&below.0, &below.1);
    for (kind, text) in Mailbox::of(above, state).said(STEERS) {
        box_of_worker.send(kind, &text)?;
    }
    Ok(())
}

/// Records the outcome of a worker whose client is gone. Returns what happened to its task, as
/// text, which is empty if the loop above has ended, and whether the worker has done nothing.
pub(crate) fn finish(
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

pub(crate) fn put_away_by_id(here: &Here, loop_id: &str, why: &str) -> Result<()> {
    match lifecycle::by_id(&here.home, loop_id) {
        Some(file) => put_away(here, &file, why),
        None => Ok(()),
    }
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

/// The outcome of a worker that never worked.
fn nothing<'a>(call: &'a str, why: &'a str) -> End<'a> {
    End { call, state: None, changed: Ok(&[]), tokens: Tokens::default(), why }
}
