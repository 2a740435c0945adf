//! The rounds of a claimed task: a fresh client in a worktree that begins at the integrated branch,
//! with a loop of its own that holds only this task.

use super::SharedRun;
use crate::command::context_dir::Here;
use crate::command::exit::bad_state;
use crate::runs::engine::MemberExit;
use crate::runs::parallel::worker::{NewWorker, WorkerClient, WorktreeLayout, not_started};
use anyhow::{Context, Result};
use ralph_core::modes::parallel::merge::{message_of_rest, ref_part};
use ralph_core::modes::parallel::{OWNER, WORKER};
use ralph_core::modes::shared::{self as member, Held};
use ralph_core::state::{LoopState, TaskStatus, Worker};
use ralph_core::tasks::shared::names::Reference;
use ralph_core::tasks::shared::text::{Name, ObjectId};
use ralph_io::git::worktrees::{self, WorkerWork, make};
use ralph_io::{client, git::tree, process::clock, process::random};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// How many rounds a machine spends on one claim before it gives the task back.
pub(super) const MOST_ROUNDS: usize = 3;

/// A worker whose client this run holds.
pub(super) struct TaskAtWork {
    pub(super) claim: ObjectId,
    /// True once the claim was found lost, and the worker was ended for that.
    pub(super) is_lost: bool,
    worker: WorkerClient,
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
        match self.start(state, &task, &claim, &id) {
            Ok(worker) => {
                self.at_work.insert(id, TaskAtWork { claim, is_lost: false, worker });
            }
            Err(error) => {
                not_started(&mut self.runner, self.order.file, &id, &task, error)?;
            }
        }
        Ok(true)
    }

    fn start(
        &mut self,
        state: &LoopState,
        task: &str,
        claim: &ObjectId,
        id: &str,
    ) -> Result<WorkerClient> {
        let place = self.place(state, task, claim)?;
        let state = self.record(task, claim, id, &place)?;
        self.number += 1;
        let (client, logs, number) = (self.order.client, self.order.logs.as_path(), self.number);
        let worker = NewWorker { client, logs, call: id, task, root: &place.root, number };
        worker.start(&mut self.runner, self.order.file, &state)
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

    pub(super) fn take_up_end(&mut self, call: &str, gone: MemberExit) -> Result<()> {
        let Some(one) = self.at_work.remove(call) else { return Ok(()) };
        // The next round of this task begins after a later read.
        self.unread.insert(one.claim.clone(), Instant::now());
        self.link.read_now();
        let (client, file) = (self.order.client, self.order.file);
        one.worker.take_up_end(&mut self.runner, client, file, call, gone, one.is_lost)
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
