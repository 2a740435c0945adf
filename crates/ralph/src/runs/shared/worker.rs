//! The rounds of a claimed task: a fresh client in a worktree that begins at the integrated branch,
//! with a loop of its own that holds only this task.

use super::SharedRun;
use crate::command::context_dir::Here;
use crate::command::exit::bad_state;
use crate::runs::build;
use crate::runs::client::{ClientRound, sandbox};
use crate::runs::engine::{MemberExit, RunEnd};
use crate::runs::parallel::held_by_client;
use crate::runs::parallel::worker::{
    WorktreeLayout, finish, local_settings, pass_on, put_away_by_id,
};
use crate::runs::worker::RoundOrder;
use anyhow::{Context, Result};
use ralph_core::modes::parallel::headless_worker::{self, Begin, End};
use ralph_core::modes::parallel::merge::{message_of_rest, ref_part};
use ralph_core::modes::parallel::{self, OWNER, WORKER};
use ralph_core::modes::shared::{self as member, Held};
use ralph_core::state::{LoopState, PauseCause, TaskStatus, Tokens, Worker};
use ralph_core::tasks::shared::names::Reference;
use ralph_core::tasks::shared::text::{Name, ObjectId};
use ralph_io::git::worktrees::{self, WorkerWork, make};
use ralph_io::{client, git::tree, process::clock, process::random, store::lifecycle};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// How many rounds a machine spends on one claim before it gives the task back.
pub(super) const MOST_ROUNDS: usize = 3;

/// A worker whose client this run holds.
pub(super) struct TaskAtWork {
    pub(super) claim: ObjectId,
    /// True once the claim was found lost, and the worker was ended for that.
    pub(super) is_lost: bool,
    task: String,
    /// The id of the worker's own loop.
    below: String,
}

/// Where a round works.
struct RoundPlace {
    root: PathBuf,
    worktree: PathBuf,
    branch: String,
    base: String,
}

impl SharedRun<'_> {
    /// Starts the rounds that are due. True if one was started.
    pub(super) fn start_due(&mut self, state: &LoopState) -> Result<bool> {
        let Some(known) = &self.known else { return Ok(false) };
        let (workers, rounds) = (self.order.workers, self.order.rounds);
        let is_full = self.at_work.len() >= workers || (rounds > 0 && self.number >= rounds);
        if known.view.ledger.pause.is_some() || is_full {
            return Ok(false);
        }
        let due = known.claims().into_iter().find(|(task, claim)| {
            matches!(member::held(state, claim), Held::Open(_))
                && member::rounds(state, claim) < MOST_ROUNDS
                && !self.unread.contains_key(claim)
                && !known.pending_on(self.order.place.space(), task)
        });
        let Some((task, claim)) = due else { return Ok(false) };
        let id = random::uuid();
        let Err(error) = self.start(state, &task, &claim, &id) else { return Ok(true) };
        let error = error.context(format!("could not start a worker for {task}"));
        let why = format!("{error:#}");
        self.runner.stop(RunEnd::Failed(error));
        let nothing =
            End { call: &id, state: None, changed: Ok(&[]), tokens: Tokens::default(), why: &why };
        let end = |state: &mut LoopState| headless_worker::end(state, &nothing);
        self.order.file.update(end).map_err(bad_state)?;
        Ok(true)
    }

    fn start(&mut self, state: &LoopState, task: &str, claim: &ObjectId, id: &str) -> Result<()> {
        let (here, file) = (self.order.here, self.order.file);
        let place = self.place(state, task, claim)?;
        let state = self.record(task, claim, id, &place)?;
        self.number += 1;
        let session = random::uuid();
        let with = Begin {
            task,
            session_id: &session,
            project_root: &place.root.to_string_lossy(),
            number: self.number,
            now: clock::now(),
        };
        let mut below = headless_worker::begin(&state, &with).context("the task is gone")?;
        below.bounds = self.order.client.bounds_in(here, &place.root);
        let below = lifecycle::create(&here.home, &mut below).map(|file| (file, below))?;
        pass_on(file, &state, &below)?;
        let loop_of_worker = below.1.loop_id.clone();
        file.update(|state| parallel::launched(state, id, &loop_of_worker)).map_err(bad_state)?;
        let prompt = build::prompt(&below.0, &below.1);
        let round = ClientRound { prompt, ..self.round(&place, task, &session) };
        let order = RoundOrder::new(round, &self.order.client.policy(), &held_by_client(&below.0));
        let name = state.task_graph.iter().find(|one| one.id == task);
        self.runner.start(id, task, name.map_or("", |task| task.name.as_str()), &order)?;
        let at_work = TaskAtWork {
            task: task.to_owned(),
            claim: claim.clone(),
            is_lost: false,
            below: loop_of_worker,
        };
        self.at_work.insert(id.to_owned(), at_work);
        Ok(())
    }

    /// The worktree of the claim's last round, or a new one at the integrated branch.
    fn place(&self, state: &LoopState, task: &str, claim: &ObjectId) -> Result<RoundPlace> {
        let here = self.order.here;
        let known = self.known.as_ref().context("the remote was not read yet")?;
        let base = make::base(&here.root)?.map_err(|why| anyhow::anyhow!("{why}"))?;
        if let Held::Open(Some(worker)) = member::held(state, claim) {
            let worktree = PathBuf::from(&worker.worktree);
            if worktree.is_dir() {
                let (branch, commit) = (worker.branch.clone(), worker.base.clone());
                let root = base.project_in(&worktree);
                return Ok(RoundPlace { root, worktree, branch, base: commit });
            }
        }
        let space = self.order.place.space();
        let mut references = vec![space.name(&Reference::Ledger)];
        if known.view.chains.contains_key(task) {
            // The work of an earlier attempt, which its reason names.
            references.push(space.name(&Reference::Task(task.to_owned())));
        }
        self.follower.records().bring_to(&here.root, &references)?;
        let mut layout = WorktreeLayout::choose(here, &state.loop_id, task)?;
        known.view.ledger.branch.as_str().clone_into(&mut layout.base.commit);
        layout.base.make(&layout.worktree, &layout.branch)?;
        let root = layout.base.project_in(&layout.worktree);
        let WorktreeLayout { base, worktree, branch } = layout;
        Ok(RoundPlace { root, worktree, branch, base: base.commit })
    }

    /// Records the worker and its task in this machine's loop.
    fn record(
        &self,
        task: &str,
        claim: &ObjectId,
        id: &str,
        place: &RoundPlace,
    ) -> Result<LoopState> {
        let mut worker = Worker {
            call: id.to_owned(),
            kind: WORKER.to_owned(),
            task: task.to_owned(),
            at: clock::now(),
            client: Some(client::this_process()),
            worktree: place.worktree.display().to_string(),
            branch: place.branch.clone(),
            base: place.base.clone(),
            ..Worker::default()
        };
        member::set_claim(&mut worker, claim);
        let recorded = self.order.file.update(|state| {
            let found = state.task_graph.iter_mut().find(|one| one.id == task);
            if let Some(found) = found {
                (found.status, found.owner) = (TaskStatus::InProgress, Some(OWNER.to_owned()));
                worker.about = format!("{task} {}", found.name);
            }
            state.workers.push(worker.clone());
            state.clone()
        });
        recorded.map_err(bad_state)?.context("the loop is gone")
    }

    fn round(&self, place: &RoundPlace, task: &str, session: &str) -> ClientRound {
        let (here, client, number) = (self.order.here, self.order.client, self.number);
        let mut extra_args = local_settings(&here.root, &client.args);
        extra_args.extend(client.args.iter().cloned());
        let bounds = client.bounds_in(here, &place.root);
        let log = self.order.logs.join(format!("worker-{number}.jsonl"));
        ClientRound {
            session_id: Some(session.to_owned()),
            extra_args,
            sandbox: bounds.map(|bounds| sandbox::reach(here, &bounds)),
            folder: Some(place.root.clone()),
            label: format!("worker {number}, {task}"),
            ..client.round(here, "build", log)
        }
    }

    /// Handles the end of a worker's client: records the outcome in this machine's loop, and decides
    /// whether others may start.
    pub(super) fn take_up_end(&mut self, call: &str, gone: MemberExit) -> Result<()> {
        let Some(worker) = self.at_work.remove(call) else { return Ok(()) };
        let MemberExit { came, failed } = gone;
        if let Some((why, exit)) = failed {
            self.runner.stop(RunEnd::rest(PauseCause::Crashed, &why, exit));
        }
        // The next round of this task begins after a later read.
        self.unread.insert(worker.claim.clone(), Instant::now());
        self.link.read_now();
        let (here, file) = (self.order.here, self.order.file);
        let why = came.outcome.why("its client ended without closing it");
        let (told, is_idle) = finish(here, file, call, came.tokens, &why)?;
        put_away_by_id(here, &worker.below, &told)?;
        let told =
            if told.is_empty() { format!("{}: the loop has ended", worker.task) } else { told };
        self.runner.show_end(call, &told, &told, &came);
        if worker.is_lost {
            return Ok(());
        }
        if is_idle {
            self.runner.stop_idle(self.order.client, "build", &came);
        }
        self.runner.learn(&came);
        Ok(())
    }
}

/// All the work of a worker as one commit, or why it cannot be had.
pub(super) fn work_of(here: &Here, worker: &Worker) -> Result<Result<ObjectId, String>> {
    let place = worktrees::WorkerPlace { worktree: &worker.worktree, branch: &worker.branch };
    let top = top(here);
    // The same files give the same commit, whenever it is asked for.
    Ok(match worktrees::held(&top, place, &message_of_rest(worker), worker.at)? {
        WorkerWork::Commit { commit, .. } => {
            Ok(ObjectId::try_from(commit).map_err(anyhow::Error::msg)?)
        }
        WorkerWork::Not(why) => Err(why),
    })
}

/// Keeps the work of a worker whose claim was lost, by a reference of the clone. `None` if it has
/// done nothing.
pub(super) fn keep(here: &Here, loop_id: &Name, worker: &Worker) -> Result<Option<String>> {
    let Ok(work) = work_of(here, worker)? else { return Ok(None) };
    if work.as_str() == worker.base {
        return Ok(None);
    }
    let short = work.as_str().get(..10).unwrap_or_default();
    let name = format!("refs/ralph/kept/{loop_id}/{}-{short}", ref_part(&worker.task));
    worktrees::keep(&top(here), &name, work.as_str())?;
    Ok(Some(name))
}

/// Removes the worktree and the branch of a worker. One that cannot be removed stays, for `ralph
/// parallel clean`.
pub(super) fn remove(here: &Here, worker: &Worker) {
    let (top, folder) = (top(here), Path::new(&worker.worktree));
    let tip = worktrees::tip(&top, &worktrees::heads(&worker.branch)).ok().flatten();
    let is_removed = worktrees::put_away(&top, folder, true).is_ok();
    if let Some(tip) = tip.filter(|_| is_removed) {
        let _ = worktrees::delete_branch(&top, &worker.branch, &tip);
    }
}

fn top(here: &Here) -> PathBuf {
    let root = here.root.canonicalize().unwrap_or_else(|_| here.root.clone());
    tree::repository_root(&root).unwrap_or(root)
}
