//! Runs acceptance commands and keeps their receipts. Nothing else makes a criterion true.
//!
//! Only one run at a time works on a loop. Each receipt is written as soon as its command has
//! ended, so an interrupted run keeps its results. `ralph_core::evidence::receipt` alone decides
//! what a receipt proves.

pub(crate) mod judge;
pub(crate) mod observe;
mod round;
pub(crate) mod trees;

use anyhow::{Context, Result, bail};
use ralph_core::evidence::receipt::{Proof, ReceiptStatus, is_of_proof, run_status, take_baseline};
use ralph_core::evidence::{observed, pinned};
use ralph_core::project::settings::Settings;
use ralph_core::state::{Change, Criterion, CriterionRunner, LoopState, Observed};
use ralph_io::process::{clock, programs};
use ralph_io::project::environment::{self, EnvironmentStep, Surroundings};
use ralph_io::store::loop_file::LoopFile;
use ralph_io::store::{checks, lock, receipts};
use round::VerifyRound;
pub(crate) use round::receipt;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use trees::Trees;

/// A criterion that rewrites files can make another one stale, which calls for another round. After
/// this many rounds the checks undo each other's work.
const MOST_ROUNDS: usize = 4;

/// Long enough for another run of the same criteria to end.
const OTHERS_TURN: Duration = Duration::from_secs(900);

/// What to run, and how.
#[derive(Debug)]
pub(crate) struct VerifyOrder<'a> {
    pub(crate) file: &'a LoopFile,
    /// The ids of the criteria; empty means all of them.
    pub(crate) ids: &'a [String],
    pub(crate) which: CriteriaChoice,
    pub(crate) pace: Pace,
    pub(crate) by: CriterionRunner,
    /// How the environment differs from the recorded one.
    pub(crate) surroundings: Surroundings,
    /// Whether Ralph observes what criteria that pass are worth.
    pub(crate) observes: bool,
    /// Whether the clean copy of `[evidence] clean` is among the observations.
    pub(crate) clean: bool,
    /// The time limit for all commands together; `None` means that only each command's own limit
    /// applies.
    pub(crate) within: Option<Duration>,
}

/// Which of the criteria to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CriteriaChoice {
    /// All named ones.
    Named,
    /// Those without a receipt that proves or disproves them on the current tree.
    WithoutProof,
}

/// How to run several commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// One after another.
    InTurn,
    /// Side by side. A command that fails, or all of them if the tree changes, run again alone.
    Together,
}

/// The result of a run.
#[derive(Debug)]
pub(crate) struct VerifyOutcome {
    /// The loop, with its new receipts.
    pub(crate) state: LoopState,
    /// What the receipts prove on the current tree.
    pub(crate) proof: Proof,
}

impl VerifyOutcome {
    /// The named criteria, with the status of each. With observations for show, it is the one that a request would find.
    pub(crate) fn named(&self, ids: &[String]) -> Vec<(&Criterion, ReceiptStatus)> {
        let is_named = |one: &&Criterion| ids.is_empty() || ids.contains(&one.id);
        let criteria = self.state.acceptance_criteria.iter().filter(is_named);
        let shown = |one: &Criterion| match (self.proof.criterion_status(one), &one.receipt) {
            (ReceiptStatus::Passes, Some(receipt)) => observed::shown(one, receipt),
            (standing, _) => standing,
        };
        criteria.map(|one| (one, shown(one))).collect()
    }
}

/// Runs the criteria.
///
/// # Errors
/// When there is no such criterion, when the criteria are not those that the user agreed to, or
/// when the tree cannot be read. A failed command is not an error.
pub(crate) fn run(order: &VerifyOrder<'_>, watcher: &dyn Watcher) -> Result<VerifyOutcome> {
    let deadline = order.within.map(|within| Instant::now() + within);
    let place = order.file.folder().join("verify");
    let _turn = lock::take(&place, order.within.unwrap_or(OTHERS_TURN))
        .context("the criteria of this loop are being run already")?;
    // A test that shares a port with a check would fail beside it.
    let _ = checks::renew(order.file.folder());
    let _alone = checks::hold_back(order.file.folder());
    let mut work = VerifyWork::begin(order, deadline)?;
    for number in 0..MOST_ROUNDS {
        let todo = work.todo(order, number);
        if todo.is_empty() {
            break;
        }
        VerifyRound { work: &mut work, watcher, pace: order.pace }.run(&todo)?;
        if work.is_out_of_time() {
            break;
        }
    }
    if order.observes {
        observe::observe(&mut work, order, watcher)?;
    }
    judge::judge(&mut work, order, watcher)?;
    work.finish()
}

/// What a loop's receipts prove on the current tree. Runs and writes nothing.
///
/// # Errors
/// When the tree cannot be read.
pub(crate) fn current_proof(file: &LoopFile, state: &LoopState) -> Result<Proof> {
    let ignore = Settings::ignored(state);
    let trees = Trees::open_read_only(Path::new(&state.project_root), file.folder(), ignore)?;
    Ok(Proof { change: state.change.clone(), ..proof(&trees, state) })
}

fn proof(trees: &Trees, state: &LoopState) -> Proof {
    let mut proof = Proof::default();
    for criterion in &state.acceptance_criteria {
        let tree = trees.id_for(&criterion.paths);
        if let Some(receipt) = criterion.receipt.as_ref().filter(|it| it.tree_after != tree) {
            let changed = trees.changed_since(&receipt.tree_after, &criterion.paths);
            proof.changed.insert(criterion.id.clone(), changed);
        }
        proof.trees.insert(criterion.id.clone(), tree);
    }
    proof
}

/// A run of criteria in progress.
struct VerifyWork<'a> {
    file: &'a LoopFile,
    state: LoopState,
    settings: Settings,
    root: PathBuf,
    trees: Trees,
    deadline: Option<Instant>,
    ralph: PathBuf,
    /// The folder for the commands' output.
    outputs: PathBuf,
    by: CriterionRunner,
    surroundings: Surroundings,
    ran: bool,
    problem: String,
    /// What is left to observe at the next request; empty if nothing is.
    unfinished: String,
    change: Option<Change>,
    /// What the user's or the model's own run observed. It is shown, and proves nothing.
    shown: BTreeMap<String, Observed>,
}

impl<'a> VerifyWork<'a> {
    fn begin(order: &VerifyOrder<'a>, deadline: Option<Instant>) -> Result<VerifyWork<'a>> {
        let state = agreed(order.file)?;
        for id in order.ids {
            if state.acceptance_criteria.iter().all(|one| one.id != *id) {
                let known: Vec<&str> =
                    state.acceptance_criteria.iter().map(|one| one.id.as_str()).collect();
                bail!("there is no criterion `{id}`; there are: {}", known.join(", "));
            }
        }
        let settings = Settings::from_state(&state);
        let root = PathBuf::from(&state.project_root);
        let ignore = Settings::ignored(&state);
        let trees = Trees::open(&root, order.file.folder(), ignore)?;
        let ralph = programs::running()?;
        let outputs = receipts::outputs(order.file.folder())?;
        let (by, surroundings) = (order.by, order.surroundings.clone());
        Ok(VerifyWork {
            file: order.file,
            state,
            settings,
            root,
            trees,
            deadline,
            ralph,
            outputs,
            by,
            surroundings,
            ran: false,
            problem: String::new(),
            unfinished: String::new(),
            change: None,
            shown: BTreeMap::new(),
        })
    }

    /// The criteria to run in this round. The tree was read after the last command.
    fn todo(&self, order: &VerifyOrder<'_>, round: usize) -> Vec<Criterion> {
        // What files outside of the tree, or left out of it, make of a criterion can change with each request.
        let is_unchanged = self.state.change.as_ref().is_some_and(Change::is_empty);
        let is_partial = !self.state.outputs.is_empty();
        let runs_all = round == 0
            && order.which == CriteriaChoice::WithoutProof
            && (self.trees.rules_changed() || is_partial || order.observes && is_unchanged);
        let named = |one: &&Criterion| order.ids.is_empty() || order.ids.contains(&one.id);
        let is_due = |one: &&Criterion| {
            (round == 0 && order.which == CriteriaChoice::Named)
                || runs_all
                || self.run_status(one).wants_a_run()
                || (round == 0 && self.has_more_time(one))
                || (order.which == CriteriaChoice::WithoutProof && !is_of_proof(one))
        };
        // A state that another tool wrote may contain a criterion without a command.
        let has_command =
            |one: &&Criterion| one.review.is_none() && !one.verification_command.trim().is_empty();
        let due = self.state.acceptance_criteria.iter().filter(named).filter(is_due);
        due.filter(has_command).cloned().collect()
    }

    /// Changes the state on the disk, and reads it anew.
    fn update(&mut self, change: impl FnOnce(&mut LoopState)) -> Result<()> {
        let updated = self.file.update(|state| {
            change(state);
            state.clone()
        })?;
        self.state = updated.context("the loop is gone")?;
        Ok(())
    }

    /// What the criterion's last run shows, without the observations.
    fn run_status(&self, criterion: &Criterion) -> ReceiptStatus {
        let tree = self.trees.id_for(&criterion.paths);
        run_status(criterion, Some(&tree))
    }

    /// True if the criterion timed out when it had less time than it has now: others may have used
    /// the time of a request.
    fn has_more_time(&self, criterion: &Criterion) -> bool {
        let Some(receipt) = criterion
            .receipt
            .as_ref()
            .filter(|_| self.run_status(criterion) == ReceiptStatus::TimedOut)
        else {
            return false;
        };
        let had = Duration::from_millis(receipt.duration_ms);
        // The trees are read faster or slower, which is no time worth a new run.
        self.time_for_one() > had + had / 20
    }

    /// True if all criteria held when the tree was last read.
    fn all_hold(&self) -> bool {
        let criteria = &self.state.acceptance_criteria;
        !criteria.is_empty() && criteria.iter().all(|one| self.run_status(one).is_met())
    }

    fn is_out_of_time(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// The time limit for the next command.
    fn time_for_one(&self) -> Duration {
        let one = self.settings.per_command();
        self.deadline.map_or(one, |at| one.min(at.saturating_duration_since(Instant::now())))
    }

    fn finish(mut self) -> Result<VerifyOutcome> {
        // Read every file from disk for the final answer: a cached digest can be older than a file
        // that was written through a memory mapping.
        let stored = match self.all_hold() {
            true => self.trees.read_for_checkpoint(&self.state)?,
            false => self.trees.read_again().map(|()| None)?,
        };
        let (ran, problem) = (self.ran, self.problem.clone());
        let (unfinished, change) = (self.unfinished.clone(), self.change.clone());
        let found = proof(&self.trees, &self.state);
        let proof = Proof { ran, problem, unfinished, change, ..found };
        let may_prove = |one: &Criterion| proof.proves(one) || self.state.ending.is_some();
        let green = self.all_hold().then(|| self.trees.checkpoint(&self.state, stored)).flatten();
        let updated = self.file.update(|state| {
            for criterion in &mut state.acceptance_criteria {
                let holds = proof.criterion_status(criterion).is_met();
                criterion.verified = holds && may_prove(criterion);
            }
            state.checkpoint = green.or_else(|| state.checkpoint.take());
            state.change = proof.change.clone().or_else(|| state.change.take());
            take_baseline(state);
            state.clone()
        })?;
        let mut state = updated.context("the loop is gone")?;
        for criterion in &mut state.acceptance_criteria {
            if let Some(shown) = self.shown.remove(&criterion.id) {
                criterion.observed = shown;
            }
        }
        self.trees.forget_what_no_receipt_names(&state);
        receipts::forget_outputs(&self.outputs);
        Ok(VerifyOutcome { state, proof })
    }
}

/// The loop's state, if its criteria are those that the user agreed to. A loop created by another
/// tool has no pinned criteria; running them is the user's consent.
fn agreed(file: &LoopFile) -> Result<LoopState> {
    let state = file.update(|state| {
        if state.frozen.is_none() && !state.acceptance_criteria.is_empty() {
            pinned::freeze(state, clock::now());
        }
        state.clone()
    })?;
    let state = state.context("the loop is gone")?;
    if !pinned::is_as_frozen(&state) {
        bail!(
            "the criteria are not those that the person agreed to when the loop started, so none \
             was run; `ralph criteria accept` in another terminal takes them"
        );
    }
    Ok(state)
}

// The process that asks for proof, and the environment in which the proof is taken.
//
// A receipt counts as proof only if the stop hook or one of Ralph's drivers asks for it: the
// asking process is the parent, and its executable is beside this one. The commands run in the
// environment that was recorded when the loop started, whatever the parent's environment is.

/// The hook that asks.
const HOOK: &str = "ralph-stop-hook";

/// The executable of the drivers.
const DRIVER: &str = "ralph";

/// Who asks; `None` if the parent is neither the stop hook nor a driver.
pub(crate) fn requester() -> Option<CriterionRunner> {
    match programs::parent() {
        Some(parent) if parent.is_beside_us(HOOK) => Some(CriterionRunner::Hook),
        Some(parent) if parent.is_beside_us(DRIVER) => Some(CriterionRunner::Driver),
        Some(_) | None => None,
    }
}

/// Ensures that this process has the recorded environment, and returns how it differed. Starts this
/// program again if the environment differs; `restored` holds the names that the first start found.
///
/// # Errors
/// When the recorded values cannot be restored.
pub(crate) fn prepare_environment(
    file: &LoopFile,
    by: CriterionRunner,
    restored: Option<&str>,
) -> Result<Surroundings> {
    let state = file.read()?.context("the loop is gone")?.state;
    let restored: Option<Vec<String>> =
        restored.map(|names| names.split(' ').map(str::to_owned).collect());
    match environment::step(&state) {
        EnvironmentStep::Run(lost) => {
            let mut restored = restored.unwrap_or_default();
            restored.retain(|name| !name.is_empty() && !lost.contains(name));
            Ok(Surroundings { restored, differs: lost })
        }
        EnvironmentStep::Record(differs) => {
            let recorded = match by {
                CriterionRunner::Driver => environment::record_for_driver(),
                _ => environment::record(),
            };
            file.update(|state| state.environment = Some(recorded))?;
            Ok(Surroundings { restored: Vec::new(), differs })
        }
        EnvironmentStep::Restore(_) if restored.is_some() => {
            bail!("the environment that was recorded when the loop started cannot be restored")
        }
        EnvironmentStep::Restore(difference) => {
            Err(environment::start_again(&programs::running()?, &difference))
                .context("could not start again with the recorded environment")
        }
    }
}

// Shows the progress of a run of criteria.

/// Follows the progress of a run. Several commands may run at once.
pub(crate) trait Watcher: Sync {
    /// A command starts.
    fn begins(&self, criterion: &Criterion);
    /// A command has ended, and its criterion has a new receipt.
    fn ended(&self, criterion: &Criterion, standing: ReceiptStatus);
    /// A command runs on other files, for this observation.
    fn observes(&self, _criterion: &Criterion, _what: &str) {}
    /// A command runs again, for this reason.
    fn again(&self, criterion: &Criterion, why: &str);
}

/// Shows nothing.
pub(crate) struct Silent;

impl Watcher for Silent {
    fn begins(&self, _criterion: &Criterion) {}
    fn ended(&self, _criterion: &Criterion, _standing: ReceiptStatus) {}
    fn again(&self, _criterion: &Criterion, _why: &str) {}
}
