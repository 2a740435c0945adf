//! Checks files after an edit: applies the fixers, runs the linters and the related tests side by
//! side within one budget, and reports new findings.
//!
//! The rules are in `ralph_core::project::check`; this module carries them out. At the deadline,
//! running tools are ended and reported as unfinished.

mod before;
pub(crate) mod beside;
mod dedupe;
mod engine;
mod fixers;
mod item;
mod linters;
mod parsers;
mod remembered;
mod tool;

pub(crate) use item::targets;

use anyhow::Result;
use engine::Engine;
use item::CheckTarget;
use ralph_core::project::check::answer::CheckReport;
use ralph_core::project::check::choice::CheckSettings;
use ralph_core::project::check::finding::Finding;
use ralph_io::process::programs;
use ralph_io::store::checks::LateCheck;
use ralph_io::store::home::Home;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What to check, and how.
#[derive(Debug)]
pub(crate) struct CheckOrder<'a> {
    pub(crate) home: &'a Home,
    /// The edited files; missing ones are skipped.
    pub(crate) files: &'a [PathBuf],
    pub(crate) choice: &'a CheckSettings,
    /// The folder of the loop whose model edited the files; `None` if the user runs the check.
    pub(crate) of_loop: Option<&'a Path>,
    pub(crate) pace: Pace,
    /// The ids of the checks to run; `None` for all.
    pub(crate) only: Option<&'a BTreeSet<String>>,
}

/// When the checks run, which limits their time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// After an edit: all checks within this time. Those known to be too slow run later.
    AfterEdit(Duration),
    /// After an edit in a loop: the fixers and those checks that are quick enough for the edit to
    /// wait for them. The others run beside the work.
    WhileWaiting {
        /// For the fixers.
        budget: Duration,
        /// For all that the edit waits for.
        wait: Duration,
    },
    /// Beside the work: no fixers, and nothing is told.
    Beside(Duration),
    /// The checks that were too slow for the edits, at the end of the turn or by hand.
    Late(Duration),
    /// The user asked for everything.
    ByHand,
}

impl Pace {
    /// The time for all checks of the run; `None` if nothing limits it.
    fn budget(self) -> Option<Duration> {
        match self {
            Pace::AfterEdit(budget)
            | Pace::WhileWaiting { budget, .. }
            | Pace::Beside(budget)
            | Pace::Late(budget) => Some(budget),
            Pace::ByHand => None,
        }
    }
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CheckResult {
    /// The check finished.
    Found {
        /// The new findings.
        new: Vec<Finding>,
        /// How many findings are older than the work.
        old: usize,
        /// How many findings of unknown age are in other files.
        elsewhere: usize,
        /// How many findings the model has been told before.
        told_before: usize,
    },
    /// It started and did not finish.
    Unfinished(String),
    /// It did not run.
    NotRun(String),
    /// It is too slow for an edit.
    Later,
    /// It takes longer than the edit waits.
    Beside,
}

/// One check and its result.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) name: String,
    /// Identifies the check within the project.
    pub(crate) id: String,
    /// The path of the edited file.
    pub(crate) path: PathBuf,
    /// The file's name in messages.
    pub(crate) file: String,
    pub(crate) came: CheckResult,
    pub(crate) took: Duration,
    /// True if the check rewrote the file.
    pub(crate) fixed: bool,
}

/// The results of all checks.
#[derive(Debug)]
pub(crate) struct CheckOutcome {
    /// For the model.
    pub(crate) report: CheckReport,
    /// For the user, in the order in which the checks ended.
    pub(crate) checked: Vec<Checked>,
    /// The findings of checks beside the work, which are sorted when the model is told.
    pub(crate) untold: Vec<LateCheck>,
}

impl CheckOutcome {
    /// True if every check ran and none found anything new.
    pub(crate) fn is_clean(&self) -> bool {
        let is_fine = |one: &Checked| matches!(&one.came, CheckResult::Found { new, told_before: 0, .. } if new.is_empty());
        self.checked.iter().all(is_fine) && self.report.not_run.is_empty()
    }
}

/// Runs the checks that apply to the files.
///
/// # Errors
/// When nothing can run at all. A tool that fails is not an error.
pub(crate) fn run(order: &CheckOrder<'_>) -> Result<CheckOutcome> {
    run_on(order, &item::targets(order)?)
}

/// As [`run`], for files whose checks are known.
fn run_on(order: &CheckOrder<'_>, targets: &[CheckTarget]) -> Result<CheckOutcome> {
    let until = order.pace.budget().map(|budget| Instant::now() + budget);
    let ralph = programs::running()?;
    let mut engine = Engine::new(order, until, ralph)?;
    let mut checked = Vec::new();
    if !matches!(order.pace, Pace::Beside(_)) {
        checked.extend(targets.iter().flat_map(|target| fixers::run(&engine, target)));
    }
    engine.settle(&checked);
    checked.extend(linters::run(&engine, targets));
    dedupe::silence(targets, &mut checked);
    Ok(engine.outcome(targets, checked))
}
