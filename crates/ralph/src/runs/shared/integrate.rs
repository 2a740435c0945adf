//! `ralph integrate`: merges finished work of a shared loop and runs the criteria on the result, in a
//! process and a worktree of its own; not for users. It writes nothing to the remote: the run does
//! that for each verdict.

use crate::command::exit::{Exit, bad_state};
use crate::parallel::criteria::Criteria;
use crate::parallel::{OTHERS_TURN, bench};
use crate::runs::build::settled;
use crate::runs::worker::RoundMessage;
use crate::verify::{self, CriteriaChoice, Pace, VerifyOrder, Watcher, judge};
use anyhow::{Context, Result, bail};
use ralph_core::evidence::pinned;
use ralph_core::evidence::receipt::ReceiptStatus;
use ralph_core::evidence::request::Refused;
use ralph_core::modes::build::Settlement;
use ralph_core::modes::parallel::merge::is_needed;
use ralph_core::project::settings::Settings;
use ralph_core::state::{Criterion, CriterionRunner, LoopState};
use ralph_core::tasks::shared::record::{CriterionReceipt, End, Finish};
use ralph_core::tasks::shared::text::{ObjectId, Text};
use ralph_core::tasks::shared::work::{Batch, broken};
use ralph_core::text::truncate::bounded;
use ralph_core::views::messages;
use ralph_io::git::merge::{self, Bench, Tried};
use ralph_io::git::shared::SharedPlace;
use ralph_io::git::{checkpoint, tree};
use ralph_io::process::clock;
use ralph_io::process::wait_any::Interrupts;
use ralph_io::project::environment::Surroundings;
use ralph_io::store::checks;
use ralph_io::store::home::Home;
use ralph_io::store::loop_file::LoopFile;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

pub(super) const COMMAND: &str = "integrate";

/// What is merged, onto what.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct IntegrateOrder {
    pub(super) place: SharedPlace,
    /// The state file of this machine's loop.
    pub(super) state: PathBuf,
    /// The tip of the integrated branch.
    pub(super) branch: ObjectId,
    /// The criteria on that tip; empty if they have not run.
    pub(super) receipts: Vec<CriterionReceipt>,
    /// The commit that the work starts from.
    pub(super) start: ObjectId,
    /// Tasks that are neither merged nor among `finishes`.
    pub(super) n_open: usize,
    /// A commit of a person on the branch, which is merged first.
    pub(super) commit: Option<ObjectId>,
    pub(super) finishes: Vec<FinishedWork>,
    /// The references whose objects the clone needs.
    pub(super) references: Vec<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct FinishedWork {
    pub(super) finish: Finish,
    pub(super) work: ObjectId,
}

/// A decision, as a line on standard output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Decision {
    Merged {
        /// The tip before.
        base: ObjectId,
        tip: ObjectId,
        finishes: Vec<Finish>,
        tree: ObjectId,
        receipts: Vec<CriterionReceipt>,
        /// How the loop ends, if that was the last merge.
        end: Option<End>,
    },
    Returned {
        finish: Finish,
        reason: String,
    },
    /// A commit of a person cannot be merged: only a person can solve that.
    Stuck(String),
    /// Git or the disk failed.
    Failed(String),
}

pub(crate) fn run() -> Result<Exit> {
    let order: IntegrateOrder = super::order()?;
    if let Err(error) = order.carry_out() {
        super::print_line(&Decision::Failed(format!("{error:#}")))?;
    }
    Ok(Exit::Done)
}

impl IntegrateOrder {
    fn carry_out(&self) -> Result<()> {
        let home = Home::from_env()?;
        let file = LoopFile::at(&self.state);
        let state = file.read().map_err(bad_state)?.context("the loop is gone")?.state;
        let root = PathBuf::from(&state.project_root).canonicalize()?;
        let _turn = merge::lock(&home, &root, OTHERS_TURN)?;
        let top = tree::repository_root(&root).context("the project is in no repository")?;
        self.place.records().bring_to(&top, &self.references)?;
        let bench = Bench::set(&top, &bench(&state), self.branch.as_str())?;
        let criteria = Criteria::for_loop(&file, &state, &MergeProgress)?;
        if !criteria.not_run.is_empty() {
            bail!("{}", criteria.not_run);
        }
        let below = root.strip_prefix(&top).unwrap_or(Path::new("")).to_owned();
        let mut merging =
            Integration { order: self, file: &file, bench, criteria, below, state: &state };
        let mut before = self.receipts.clone();
        if before.is_empty() {
            before = merging.prove()?;
        }
        if let Some(commit) = &self.commit {
            match merging.merge_commit(commit, &before)? {
                Some(after) => before = after,
                None => return Ok(()),
            }
        }
        merging.merge_all(&self.finishes, before)
    }
}

struct Integration<'a> {
    order: &'a IntegrateOrder,
    file: &'a LoopFile,
    bench: Bench,
    criteria: Criteria<'a>,
    /// The project's folder below the top.
    below: PathBuf,
    state: &'a LoopState,
}

impl Integration<'_> {
    /// Merges a commit of a person. `None` if that cannot be done, which the last line says.
    fn merge_commit(
        &mut self,
        commit: &ObjectId,
        before: &[CriterionReceipt],
    ) -> Result<Option<Vec<CriterionReceipt>>> {
        let base = self.head()?;
        let stuck = |why: String| {
            let short = commit.as_str().get(..10).unwrap_or_default();
            let next =
                "push a commit to the branch that solves this, then type `ralph resume --shared`";
            super::print_line(&Decision::Stuck(format!(
                "commit {short} on the branch {why}; {next}"
            )))
        };
        match self.bench.merge(commit.as_str(), "Merge commits of a person")? {
            Tried::Nothing => return Ok(Some(before.to_vec())),
            Tried::Merged(_) => {}
            Tried::Conflict(files) => {
                stuck(format!("conflicts with the merged work in {}", listed(&files)))?;
                return Ok(None);
            }
            Tried::Cannot(why) => {
                stuck(format!("cannot be merged: {}", bounded(&why, 300)))?;
                return Ok(None);
            }
        }
        let after = self.prove()?;
        let red = broken(before, &after);
        if !red.is_empty() {
            stuck(format!("breaks {}", red.join(", ")))?;
            return Ok(None);
        }
        let is_last = self.order.n_open == 0 && self.order.finishes.is_empty();
        let end = match is_last && after.iter().all(|one| one.holds) {
            // No worker follows that could hear a refusal.
            true => match self.ask(true)? {
                MergeAnswer::End(end) => Some(end),
                MergeAnswer::Refused(why) | MergeAnswer::User(why) => {
                    stuck(format!("leaves a question: {why}"))?;
                    return Ok(None);
                }
            },
            false => None,
        };
        self.tell_merged(base, Vec::new(), &after, end)?;
        Ok(Some(after))
    }

    fn merge_all(
        &mut self,
        works: &[FinishedWork],
        mut before: Vec<CriterionReceipt>,
    ) -> Result<()> {
        let mut batch = Batch::new(works.iter().map(|one| one.finish.clone()).collect());
        let mut n_open = self.order.n_open + works.len();
        while let Some(part) = batch.part().map(<[Finish]>::to_vec) {
            let base = self.head()?;
            let mut merged = Vec::new();
            for finish in part {
                let work = works.iter().find(|one| one.finish == finish);
                let work = work.context("a finish has no work")?;
                match self.bench.merge(work.work.as_str(), &self.message(&finish.task))? {
                    Tried::Merged(_) | Tried::Nothing => merged.push(finish),
                    Tried::Conflict(files) => {
                        batch.conflicts(&finish);
                        let why =
                            format!("it conflicts with the merged work in {}", listed(&files));
                        tell_returned(work, &why)?;
                    }
                    Tried::Cannot(why) => {
                        batch.conflicts(&finish);
                        tell_returned(
                            work,
                            &format!("git cannot merge it: {}", bounded(&why, 300)),
                        )?;
                    }
                }
            }
            if merged.is_empty() {
                continue;
            }
            let after = self.prove()?;
            let red: Vec<String> = broken(&before, &after).into_iter().map(str::to_owned).collect();
            let is_last = merged.len() == n_open && after.iter().all(|one| one.holds);
            let asked = match red.is_empty() {
                true if is_last => Some(self.ask(false)?),
                _ => None,
            };
            let refused = match asked {
                None if red.is_empty() => None,
                None => Some(self.turned_red(&red)),
                Some(MergeAnswer::Refused(why)) => Some(why),
                Some(MergeAnswer::User(why)) => {
                    return super::print_line(&Decision::Stuck(why));
                }
                Some(MergeAnswer::End(end)) => {
                    return self.tell_merged(base, merged, &after, Some(end));
                }
            };
            let Some(refused) = refused else {
                n_open -= merged.len();
                self.tell_merged(base, merged, &after, None)?;
                before = after;
                batch.settled();
                continue;
            };
            self.bench.go_back(base.as_str())?;
            if let Some(finish) = batch.red() {
                let work = works.iter().find(|one| one.finish == finish);
                tell_returned(work.context("a finish has no work")?, &refused)?;
            }
        }
        Ok(())
    }

    fn message(&self, task: &str) -> String {
        let found = self.state.task_graph.iter().find(|one| one.id == task);
        let name = found.map_or("", |task| task.name.as_str()).replace('\n', " ");
        format!("Merge {task}: {}", bounded(&name, 100))
    }

    fn turned_red(&self, red: &[String]) -> String {
        let criteria = self.state.acceptance_criteria.iter();
        let broken = criteria.filter(|one| red.contains(&one.id));
        let broken = broken.map(|one| format!("{} (`{}`)", one.id, one.verification_command));
        format!("merging it breaks these criteria: {}", broken.collect::<Vec<_>>().join(", "))
    }

    /// Runs the criteria on what is checked out.
    fn prove(&mut self) -> Result<Vec<CriterionReceipt>> {
        self.bench.link(is_needed)?;
        let head = self.bench.head().to_owned();
        let ran = self.criteria.run(&self.bench.folder().join(&self.below), &head)?;
        let is_unchanged = self.bench.is_unchanged()?;
        let receipt = |(criterion, status): (String, ReceiptStatus)| CriterionReceipt {
            // Files that a command has changed were not merged.
            holds: status == ReceiptStatus::Passes && is_unchanged,
            tests_run: self.criteria.tests_run(&criterion),
            criterion,
        };
        Ok(ran.into_iter().map(receipt).collect())
    }

    /// Asks for completion of what is checked out, as a run does after its last round. What was refused before is kept in
    /// this machine's loop.
    fn ask(&mut self, is_last: bool) -> Result<MergeAnswer> {
        let top = self.bench.folder().to_owned();
        let folder = self.file.folder().join("merged");
        checks::note_start_at(&folder, &top, self.order.start.as_str())?;
        let mut state = self.file.read()?.context("the loop is gone")?.state;
        state.project_root = top.join(&self.below).to_string_lossy().into_owned();
        // The ledger knows the tasks.
        (state.parallel, state.task_graph) = (false, Vec::new().into());
        if let Some(bounds) = &mut state.bounds {
            bounds.write.push(top.to_string_lossy().into_owned());
        }
        self.bench.link(is_needed)?;
        let mut settings = Settings::from_state(&state);
        settings.receipt_ignore.get_or_insert_default().extend(self.bench.linked());
        settings.apply(&mut state);
        pinned::freeze(&mut state, clock::now());
        let file = LoopFile::at(folder.join("state.json"));
        file.create(&state)?;
        let order = VerifyOrder {
            file: &file,
            ids: &[],
            which: CriteriaChoice::Named,
            pace: Pace::InTurn,
            by: CriterionRunner::Driver,
            surroundings: Surroundings::default(),
            observes: true,
            clean: true,
            within: None,
        };
        let outcome = verify::run(&order, &MergeProgress)?;
        let proof = outcome.proof;
        // The ledger keeps the work.
        let kept = outcome.state.checkpoint.filter(|green| !green.reference.is_empty());
        kept.map_or(Ok(()), |green| checkpoint::forget(&top, &green.reference))?;
        // Until a reviewer reads, a signal ends this process.
        let judge = |state: &LoopState, refused: &Refused| {
            let interrupts = Interrupts::catch().ok()?;
            Some(judge::decide(&file, state, &interrupts, refused))
        };
        let (settlement, state) = settled(&file, &proof, false, is_last, None, judge)?;
        let asked = match settlement {
            Settlement::Over => {
                let ending = state.ending.clone().context("no ending was recorded")?;
                let parts = [messages::shown(&state), messages::warnings(&state)];
                let parts = parts.into_iter().filter(|part| !part.is_empty());
                let parts: Vec<String> = [ending.detail].into_iter().chain(parts).collect();
                let reason = Text::new(&parts.join(". "));
                MergeAnswer::End(End { ending: ending.kind, reason })
            }
            Settlement::AskUser(why) => {
                MergeAnswer::User(format!("{why}, then type `ralph resume --shared`"))
            }
            Settlement::Open | Settlement::Judge(_) => {
                let why = Some(state.refused.as_str()).filter(|why| !why.is_empty());
                MergeAnswer::Refused(why.unwrap_or("the criteria do not hold").to_owned())
            }
        };
        if !matches!(asked, MergeAnswer::End(_)) {
            // What `ralph accept` shows and accepts.
            self.file.update(|own| {
                own.refusals.clone_from(&state.refusals);
                own.judgements.clone_from(&state.judgements);
                for (mine, merged) in
                    own.acceptance_criteria.iter_mut().zip(&state.acceptance_criteria)
                {
                    (mine.receipt, mine.observed) =
                        (merged.receipt.clone(), merged.observed.clone());
                }
            })?;
        }
        checks::forget_start_at(&folder);
        Ok(asked)
    }

    fn head(&self) -> Result<ObjectId> {
        object(self.bench.head())
    }

    fn tell_merged(
        &self,
        base: ObjectId,
        finishes: Vec<Finish>,
        receipts: &[CriterionReceipt],
        end: Option<End>,
    ) -> Result<()> {
        super::print_line(&Decision::Merged {
            base,
            tip: self.head()?,
            finishes,
            tree: object(&self.bench.tree()?)?,
            receipts: receipts.to_vec(),
            end,
        })
    }
}

/// The answer to the request for completion of a merge.
enum MergeAnswer {
    /// The loop ends like this.
    End(End),
    /// A worker hears this, and tries again.
    Refused(String),
    /// Only the user can accept this.
    User(String),
}

fn tell_returned(work: &FinishedWork, why: &str) -> Result<()> {
    let reason = format!("{why}; the work is commit {}", work.work);
    super::print_line(&Decision::Returned { finish: work.finish.clone(), reason })
}

fn object(id: &str) -> Result<ObjectId> {
    ObjectId::try_from(id.to_owned()).map_err(anyhow::Error::msg)
}

fn listed(files: &[String]) -> String {
    bounded(&files.join(", "), 300)
}

/// Tells the run which criterion runs.
struct MergeProgress;

impl Watcher for MergeProgress {
    fn begins(&self, criterion: &Criterion) {
        let what = format!("{} {}", criterion.id, criterion.decided_by());
        // A run that is gone ends this process.
        let _ = super::print_line(&RoundMessage::Now { what, tokens: None });
    }

    fn ended(&self, _criterion: &Criterion, _standing: ReceiptStatus) {}

    fn again(&self, _criterion: &Criterion, _why: &str) {}
}
