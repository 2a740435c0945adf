//! Checks files after an edit: fixes what tools can fix, runs the tools and the related tests side by
//! side within one budget, and tells what is new.
//!
//! The rules are in `ralph_core::project::check`; here they are carried out. At the deadline what runs is ended,
//! and what did not finish is said to be unfinished.

mod before;
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
use ralph_core::project::check::answer::CheckReport;
use ralph_core::project::check::choice::CheckSettings;
use ralph_core::project::check::finding::Finding;
use ralph_io::process::programs;
use ralph_io::store::home::Home;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What is to be checked, and how.
#[derive(Debug)]
pub(crate) struct CheckOrder<'a> {
    /// Where Ralph keeps what it knows.
    pub(crate) home: &'a Home,
    /// The edited files; those that are gone by now are left out.
    pub(crate) files: &'a [PathBuf],
    /// What the settings say.
    pub(crate) choice: &'a CheckSettings,
    /// The folder of the loop whose model edited them; none where a person asks.
    pub(crate) of_loop: Option<&'a Path>,
    /// When and how long.
    pub(crate) pace: Pace,
}

/// When the checks run, which is how long they may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// After an edit: all of them within this time. What is known to be too slow runs later.
    AfterEdit(Duration),
    /// What was too slow for the edits, at the end of the turn or by hand.
    Late(Duration),
    /// A person asked for everything.
    ByHand,
}

/// What came of one check.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CheckResult {
    /// It looked.
    Found {
        /// What is news.
        new: Vec<Finding>,
        /// How many findings were there before the work.
        old: usize,
        /// How many are elsewhere, and nobody knows since when.
        elsewhere: usize,
        /// How many the model was told before.
        told_before: usize,
    },
    /// It began and did not finish.
    Unfinished(String),
    /// It did not run.
    NotRun(String),
    /// It is too slow for an edit.
    Later,
}

/// One check that was considered.
#[derive(Debug)]
pub(crate) struct Checked {
    /// Which.
    pub(crate) name: String,
    /// Its file, as it is named to people.
    pub(crate) file: String,
    /// What came of it.
    pub(crate) came: CheckResult,
    /// How long it took.
    pub(crate) took: Duration,
    /// True if it rewrote the file.
    pub(crate) fixed: bool,
}

/// What came of all of it.
#[derive(Debug)]
pub(crate) struct CheckOutcome {
    /// For the model.
    pub(crate) report: CheckReport,
    /// For a person, in the order in which they ended.
    pub(crate) checked: Vec<Checked>,
}

impl CheckOutcome {
    /// True when every check ran and none found something new.
    pub(crate) fn is_clean(&self) -> bool {
        let is_fine = |one: &Checked| matches!(&one.came, CheckResult::Found { new, told_before: 0, .. } if new.is_empty());
        self.checked.iter().all(is_fine) && self.report.not_run.is_empty()
    }
}

/// Runs the checks that apply to the files.
///
/// # Errors
/// When nothing can be run at all. A tool that fails is no error.
pub(crate) fn run(order: &CheckOrder<'_>) -> Result<CheckOutcome> {
    let until = match order.pace {
        Pace::AfterEdit(budget) | Pace::Late(budget) => Some(Instant::now() + budget),
        Pace::ByHand => None,
    };
    let ralph = programs::running()?;
    let targets = item::targets(order)?;
    let mut engine = Engine::new(order, until, ralph);
    let mut checked = Vec::new();
    for target in &targets {
        checked.extend(fixers::run(&engine, target));
    }
    engine.settle(&checked);
    checked.extend(linters::run(&engine, &targets));
    dedupe::silence(&targets, &mut checked);
    Ok(engine.outcome(&targets, checked))
}
