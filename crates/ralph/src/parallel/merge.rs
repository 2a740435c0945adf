//! Merges the workers' work one after another in a separate worktree, and runs the criteria after
//! each merge. Then the loop's files, index and branch move to the result, together or not at all.
//!
//! The state follows the branch. A merge that does not move the branch records nothing about any
//! worker, since its findings hold only for what was merged before it.

use super::bench;
use super::criteria::Criteria;
use crate::command::plan_import;
use crate::verify::Watcher;
use anyhow::{Context, Result};
use ralph_core::evidence::receipt::ReceiptStatus;
use ralph_core::modes::parallel::merge::{self as rules, MergeOutcome, ref_part};
use ralph_core::state::{LoopState, Phase, Worker};
use ralph_io::git::merge::{self, Bench, Intent, MergeStep, MergeTarget, Moved, Tried};
use ralph_io::git::worktrees::{self, WorkerWork};
use ralph_io::store::home::Home;
use ralph_io::store::journal::JournalEntry;
use ralph_io::store::loop_file::LoopFile;
use ralph_io::{process::clock, store::lifecycle};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) struct MergeOrder<'a> {
    pub(crate) home: &'a Home,
    pub(crate) file: &'a LoopFile,
    /// The tasks to merge; an empty list means all that are done.
    pub(crate) tasks: &'a [String],
    /// Learns which criterion runs.
    pub(crate) watcher: &'a dyn Watcher,
    /// How long to wait for another merge of the project.
    pub(crate) patience: Duration,
}

#[derive(Debug, Default, Serialize)]
pub(crate) struct Merged {
    pub(crate) loop_id: String,
    /// The loop's commit before the merge.
    pub(crate) base: String,
    /// The loop's commit after the merge.
    pub(crate) head: String,
    /// The branch that moved, as `refs/heads/…`; empty for a detached `HEAD`.
    pub(crate) branch: String,
    /// In the order of merging.
    pub(crate) workers: Vec<WorkerMerge>,
    /// Why nothing was done although there is something to merge.
    pub(crate) refused: Option<MergeRefused>,
    /// Why no criteria were run; empty if they were.
    pub(crate) criteria_not_run: String,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct WorkerMerge {
    /// The id of the worker's call, which is unique.
    pub(crate) call: String,
    /// Empty for a worker without a task.
    pub(crate) task: String,
    pub(crate) about: String,
    /// The commit with all of the worker's work; empty if it could not be made.
    pub(crate) commit: String,
    #[serde(flatten)]
    pub(crate) outcome: MergeOutcome,
    /// What became of the task, as text.
    pub(crate) became: Option<String>,
    /// The ref that keeps work which was kept out.
    pub(crate) kept_at: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct MergeRefused {
    /// The reason, with what to do.
    pub(crate) why: String,
    /// The files that the merge would overwrite.
    pub(crate) files: Vec<String>,
}

impl MergeRefused {
    fn new(why: impl Into<String>) -> MergeRefused {
        MergeRefused { why: why.into(), files: Vec::new() }
    }

    fn in_the_way(files: Vec<String>, and_others: bool) -> MergeRefused {
        let why = format!(
            "the merge would overwrite what is in the work tree and in no commit: {}{}; commit it or move it \
             away, then run `ralph parallel merge` again",
            rules::list(&files),
            if and_others { ", and others" } else { "" }
        );
        MergeRefused { why, files }
    }
}

impl Merged {
    /// True unless some work was kept out or the merge was refused.
    pub(crate) fn is_all(&self) -> bool {
        self.refused.is_none() && self.workers.iter().all(|one| one.outcome.kept_out().is_none())
    }

    fn refused(mut self, refused: MergeRefused) -> Merged {
        self.refused = Some(refused);
        self
    }
}

pub(crate) fn merge(order: &MergeOrder<'_>) -> Result<Merged> {
    let state = read(order)?;
    let root = PathBuf::from(&state.project_root);
    let mut merged = Merged { loop_id: state.loop_id.clone(), ..Merged::default() };
    let _turn = merge::lock(order.home, &root, order.patience)?;
    let place = match merge::place(&root)? {
        Ok(place) => place,
        Err(_)
            if order.tasks.is_empty() && rules::due(&state, &[]).is_ok_and(|it| it.is_empty()) =>
        {
            return Ok(merged);
        }
        Err(why) => return Ok(merged.refused(MergeRefused::new(why))),
    };
    (merged.base, merged.branch) = (place.head.clone(), place.branch.clone());
    if let Some(intent) = merge::recover(&place)? {
        merged.base.clone_from(&intent.base);
        merged.workers = finished(order, &state, &intent)?;
        merge::done(&place)?;
    }
    let bench = bench(&state);
    if worktrees::list(&place.top)?.iter().any(|one| one.path == bench) {
        merge::remove_bench(&place.top, &bench)?;
    }
    let place = merge::place(&root)?.map_err(anyhow::Error::msg)?;
    merged.head.clone_from(&place.head);
    MergeWork { order, state: read(order)?, root, place }.carry_out(merged)
}

/// Records what a killed merge had done.
fn finished(
    order: &MergeOrder<'_>,
    state: &LoopState,
    intent: &Intent,
) -> Result<Vec<WorkerMerge>> {
    if intent.loop_id != state.loop_id {
        // The other loop will find its work merged.
        return Ok(Vec::new());
    }
    let step = |step: &MergeStep| {
        let worker = state.workers.iter().find(|worker| worker.call == step.call)?;
        let outcome = MergeOutcome::Merged { merge: step.merge.clone() };
        Some(one(worker, &step.commit, outcome))
    };
    let mut ones: Vec<WorkerMerge> = intent.steps.iter().filter_map(step).collect();
    write_down(order, &intent.merged, &mut ones)?;
    Ok(ones)
}

fn one(worker: &Worker, commit: &str, outcome: MergeOutcome) -> WorkerMerge {
    WorkerMerge {
        call: worker.call.clone(),
        task: worker.task.clone(),
        about: worker.about.clone(),
        commit: commit.to_owned(),
        outcome,
        became: None,
        kept_at: None,
    }
}

struct MergeWork<'a> {
    order: &'a MergeOrder<'a>,
    state: LoopState,
    root: PathBuf,
    place: MergeTarget,
}

impl MergeWork<'_> {
    fn carry_out(&self, mut merged: Merged) -> Result<Merged> {
        let known = |id: &String| merged.workers.iter().all(|one| one.task != *id);
        let named: Vec<String> = self.order.tasks.iter().filter(|id| known(id)).cloned().collect();
        if named.is_empty() && !self.order.tasks.is_empty() {
            return Ok(merged);
        }
        let due = match rules::due(&self.state, &named) {
            Ok(due) if due.is_empty() => return Ok(merged),
            Ok(due) => due,
            Err(why) => return Ok(merged.refused(MergeRefused::new(why))),
        };
        let mut tried = self.gather(&due)?;
        if tried.iter().any(|(_, has_work)| *has_work) {
            let mut bench = Bench::set(&self.place.top, &bench(&self.state), &self.place.head)?;
            merged.criteria_not_run = self.try_all(&mut bench, &mut tried)?;
            if let Some(refused) = self.forward(bench.head(), &tried)? {
                return Ok(merged.refused(refused));
            }
            bench.head().clone_into(&mut merged.head);
        }
        let mut ones: Vec<WorkerMerge> = tried.into_iter().map(|(one, _)| one).collect();
        for one in ones.iter_mut().filter(|one| one.outcome.kept_out().is_some()) {
            one.kept_at = self.keep(one)?;
        }
        write_down(self.order, &merged.head, &mut ones)?;
        merge::done(&self.place)?;
        merged.workers.extend(ones);
        Ok(merged)
    }

    /// All work of each worker as a commit, and whether the loop lacks any of it.
    fn gather(&self, due: &[&Worker]) -> Result<Vec<(WorkerMerge, bool)>> {
        let top = &self.place.top;
        due.iter()
            .map(|worker| {
                if worker.worktree.is_empty() && worker.branch.is_empty() {
                    // It worked in the loop's own tree.
                    return Ok((one(worker, "", MergeOutcome::Nothing), false));
                }
                let place =
                    worktrees::WorkerPlace { worktree: &worker.worktree, branch: &worker.branch };
                let rest = rules::message_of_rest(worker);
                match worktrees::held(top, place, &rest, clock::now())? {
                    WorkerWork::Not(why) => {
                        Ok((one(worker, "", MergeOutcome::Unusable { why }), false))
                    }
                    WorkerWork::Commit { commit, .. } => {
                        let has_work = !worktrees::contains(top, &self.place.head, &commit)?;
                        Ok((one(worker, &commit, MergeOutcome::Nothing), has_work))
                    }
                }
            })
            .collect()
    }

    /// Merges one worker after another, and undoes a merge that breaks a criterion. Returns why no
    /// criteria were run.
    fn try_all(&self, bench: &mut Bench, tried: &mut [(WorkerMerge, bool)]) -> Result<String> {
        let mut criteria = Criteria::for_loop(self.order.file, &self.state, self.order.watcher)?;
        let mut before = self.run(&mut criteria, bench)?;
        for (one, _) in tried.iter_mut().filter(|(_, has_work)| *has_work) {
            let base = bench.head().to_owned();
            let worker = self.state.workers.iter().find(|worker| worker.call == one.call);
            let message = worker.map(|it| rules::message(&self.state, it)).unwrap_or_default();
            one.outcome = match bench.merge(&one.commit, &message)? {
                Tried::Nothing => MergeOutcome::Nothing,
                Tried::Conflict(files) => MergeOutcome::Conflict { files },
                Tried::Cannot(why) => MergeOutcome::Unusable { why },
                Tried::Merged(commit) => {
                    let now = self.run(&mut criteria, bench)?;
                    let red = rules::turned_red(&before, &now);
                    match red.first() {
                        None => {
                            before = now;
                            MergeOutcome::Merged { merge: commit }
                        }
                        Some(first) => {
                            bench.go_back(&base)?;
                            let tail = criteria.tail(first);
                            MergeOutcome::TurnedRed { criteria: red, tail }
                        }
                    }
                }
            };
        }
        Ok(criteria.not_run)
    }

    fn run(
        &self,
        criteria: &mut Criteria<'_>,
        bench: &mut Bench,
    ) -> Result<Vec<(String, ReceiptStatus)>> {
        bench.link(rules::is_needed)?;
        let root = self.root.canonicalize().unwrap_or_else(|_| self.root.clone());
        let below = root.strip_prefix(&self.place.top).unwrap_or(Path::new(""));
        criteria.run(&bench.folder().join(below), bench.head())
    }

    /// Moves the loop to the merged commit, or returns why not.
    fn forward(&self, to: &str, tried: &[(WorkerMerge, bool)]) -> Result<Option<MergeRefused>> {
        if to == self.place.head {
            return Ok(None);
        }
        // Criteria take time, and the user may have ended the loop meanwhile.
        if self.state.phase != Phase::Ended && read(self.order)?.phase == Phase::Ended {
            return Ok(Some(MergeRefused::new("the loop was ended meanwhile; nothing was merged")));
        }
        let step = |(one, _): &(WorkerMerge, bool)| match &one.outcome {
            MergeOutcome::Merged { merge } => Some(MergeStep {
                call: one.call.clone(),
                commit: one.commit.clone(),
                merge: merge.clone(),
            }),
            _ => None,
        };
        let intent = Intent {
            loop_id: self.state.loop_id.clone(),
            base: self.place.head.clone(),
            merged: to.to_owned(),
            branch: self.place.branch.clone(),
            steps: tried.iter().filter_map(step).collect(),
        };
        Ok(match merge::forward(&self.place, &intent)? {
            Moved::Forward => None,
            Moved::InTheWay { files, and_others } => {
                Some(MergeRefused::in_the_way(files, and_others))
            }
            Moved::HeadMoved => Some(MergeRefused::new(
                "someone committed or switched branches while the merges were tried, so nothing was \
                 merged; run `ralph parallel merge` again",
            )),
        })
    }

    /// Keeps work that was kept out, by a ref that outlives the worktree.
    fn keep(&self, one: &WorkerMerge) -> Result<Option<String>> {
        if one.commit.is_empty() {
            return Ok(None);
        }
        let below = format!("refs/ralph/{}/workers", ref_part(&self.state.loop_id));
        let mut name = format!("{below}/{}", ref_part(&one.task));
        let known = worktrees::tip(&self.place.top, &name)?;
        if known.is_some_and(|known| known != one.commit) {
            // An earlier worker of the same task has that ref.
            name = format!("{name}_{}", one.commit.get(..10).unwrap_or_default());
        }
        worktrees::keep(&self.place.top, &name, &one.commit)?;
        Ok(Some(name))
    }
}

fn read(order: &MergeOrder<'_>) -> Result<LoopState> {
    if let Some(loaded) = order.file.read()? {
        return Ok(loaded.state);
    }
    let moved = moved(order).context("the loop is gone")?;
    Ok(moved.read()?.context("the loop is gone")?.state)
}

/// The file of a loop that was archived meanwhile.
fn moved(order: &MergeOrder<'_>) -> Option<LoopFile> {
    let id = order.file.folder().file_name()?.to_str()?;
    lifecycle::by_id(order.home, id)
}

/// Writes the outcomes into the state and the journal.
fn write_down(order: &MergeOrder<'_>, head: &str, ones: &mut [WorkerMerge]) -> Result<()> {
    let change = |state: &mut LoopState| {
        let of =
            |one: &WorkerMerge| rules::record(state, &one.call, &one.commit, head, &one.outcome);
        let became: Vec<Option<String>> = ones.iter().map(of).collect();
        (became, state.clone())
    };
    let updated = match order.file.update(change)? {
        Some(updated) => Some(updated),
        None => match moved(order) {
            Some(file) => file.update(change)?,
            None => None,
        },
    };
    let (became, after) = updated.context("the loop is gone; its branch has what was merged")?;
    plan_import::tick(&after, &[]);
    let position = after.position();
    for (one, became) in ones.iter_mut().zip(became) {
        one.became = became;
        note(order, one, &position);
    }
    Ok(())
}

/// Adds one journal line. A journal that cannot be written stops nothing.
fn note(order: &MergeOrder<'_>, one: &WorkerMerge, position: &str) {
    let name = if one.task.is_empty() { &one.about } else { &one.task };
    let why = one.became.clone().or_else(|| one.outcome.kept_out()).unwrap_or_default();
    let entry: JournalEntry = JournalEntry {
        at: clock::now(),
        event: "ralph parallel merge".to_owned(),
        decision: one.outcome.as_str().to_owned(),
        why: if why.is_empty() { name.clone() } else { format!("{name}: {why}") },
        position: position.to_owned(),
        prompt_id: String::new(),
        input: String::new(),
        seen: serde_json::to_value(one).unwrap_or_default(),
        record: None,
        took_us: 0,
    };
    let _ = lifecycle::note(order.home, order.file, &entry);
}
