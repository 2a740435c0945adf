//! Checks files after an edit: applies the fixers, runs the linters and the related tests side by
//! side within one budget, and reports new findings.
//!
//! The rules are in `ralph_core::project::check`; this module carries them out. At the deadline,
//! running tools are ended and reported as unfinished.

mod before;
pub(crate) mod beside;
mod engine;
mod tool;

use anyhow::Result;
use engine::Durations;
use engine::Engine;
use ralph_core::project::check::answer::CheckReport;
use ralph_core::project::check::choice::CheckSettings;
use ralph_core::project::check::finding::Finding;
use ralph_core::project::check::parsers::OutputFormat;
use ralph_core::project::check::{Check, CheckKind, CheckMethod, FindingScope, Lacking, languages};
use ralph_io::process::programs;
use ralph_io::store::checks::{self, CheckStore, LateCheck, Surroundings};
use ralph_io::store::home::Home;
use std::collections::{BTreeSet, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
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
    run_on(order, &targets(order)?)
}

/// As [`run`], for files whose checks are known.
fn run_on(order: &CheckOrder<'_>, targets: &[CheckTarget]) -> Result<CheckOutcome> {
    let until = order.pace.budget().map(|budget| Instant::now() + budget);
    let ralph = programs::running()?;
    let mut engine = Engine::new(order, until, ralph)?;
    let mut checked = Vec::new();
    if !matches!(order.pace, Pace::Beside(_)) {
        checked.extend(targets.iter().flat_map(|target| run_fixers(&engine, target)));
    }
    engine.settle(&checked);
    checked.extend(run_linters(&engine, targets));
    silence(targets, &mut checked);
    Ok(engine.outcome(targets, checked))
}

// The edited files, and the checks of each.

/// An edited file with its checks.
#[derive(Debug)]
pub(crate) struct CheckTarget {
    /// The path, with symlinks resolved.
    pub(crate) file: PathBuf,
    pub(crate) root: PathBuf,
    /// The stored data of the project.
    pub(crate) kept: CheckStore,
    /// The checks that apply.
    pub(crate) items: Vec<CheckItem>,
    /// The checks that the project asks for but that cannot run.
    pub(crate) lacking: Vec<Lacking>,
}

/// One check of one file.
#[derive(Debug)]
pub(crate) struct CheckItem {
    pub(crate) check: Check,
    /// Identifies the check within the project. A check of a whole project part has the same id for
    /// all files.
    pub(crate) id: String,
}

impl CheckTarget {
    /// The file's name in messages.
    pub(crate) fn name(&self) -> String {
        relative(&self.file, &self.root)
    }

    /// How long the check took last time; `None` if it has not run.
    pub(crate) fn took_last(&self, item: &CheckItem) -> Option<Duration> {
        Durations::for_target(self).last(&item.id)
    }

    /// The checks of this kind, in their order.
    pub(crate) fn of_kind(&self, kind: CheckKind) -> impl Iterator<Item = &CheckItem> {
        self.items.iter().filter(move |item| item.check.kind == kind)
    }
}

impl CheckItem {
    /// Its result on this file.
    fn checked(
        &self,
        target: &CheckTarget,
        came: CheckResult,
        took: Duration,
        fixed: bool,
    ) -> Checked {
        let (name, id) = (self.check.name.clone(), self.id.clone());
        Checked { name, id, path: target.file.clone(), file: target.name(), came, took, fixed }
    }
}

/// The path relative to the root, or the whole path if it is outside.
fn relative(path: &Path, root: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned()
}

/// The existing files, each with its checks. A check of a whole project part runs once, for the
/// first file that needs it.
pub(crate) fn targets(order: &CheckOrder<'_>) -> Result<Vec<CheckTarget>> {
    let mut targets = Vec::new();
    let mut seen = HashSet::new();
    for file in order.files {
        let Ok(file) = file.canonicalize() else { continue };
        if checks::is_file(&file) && seen.insert(file.clone()) {
            targets.push(target(order, file)?);
        }
    }
    let mut whole = HashSet::new();
    for target in &mut targets {
        target.items.retain(|item| whole.insert(item.id.clone()));
    }
    Ok(targets)
}

/// A file with its checks.
fn target(order: &CheckOrder<'_>, file: PathBuf) -> Result<CheckTarget> {
    let root = Surroundings::root_of(&file);
    let kept = CheckStore::open(order.home, &root)?;
    let plan = languages::plan(&Surroundings::new(&file, &root, &kept));
    let plan = order.choice.apply(plan, &root, &file);
    let item = |check: Check| CheckItem { id: id(&check, &file), check };
    let is_due = |item: &CheckItem| order.only.is_none_or(|only| only.contains(&item.id));
    let items = plan.checks.into_iter().map(item).filter(is_due).collect();
    Ok(CheckTarget { items, lacking: plan.lacking, file, root, kept })
}

fn id(check: &Check, file: &Path) -> String {
    match &check.scope {
        FindingScope::File => format!("{} of {}", check.name, file.display()),
        FindingScope::Whole(what) => format!("{} of all of {}", check.name, what.display()),
    }
}

// Runs the fixers of one file, one after the other, under a lock on the file.

/// Runs the fixers. One that does not finish leaves the file unchanged.
fn run_fixers(engine: &Engine<'_>, target: &CheckTarget) -> Vec<Checked> {
    let fixers: Vec<&CheckItem> = target.of_kind(CheckKind::Fix).collect();
    if fixers.is_empty() {
        return Vec::new();
    }
    let lock = format!("fixers of {}", target.file.display());
    let held = target.kept.lock(&lock, engine.left(None).unwrap_or_default());
    let results = fixers.into_iter().map(|item| match &held {
        Ok(_) => fix(engine, target, item),
        Err(_) => item.checked(target, busy(), Duration::ZERO, false),
    });
    results.collect()
}

fn busy() -> CheckResult {
    CheckResult::Unfinished("the fixers of another edit of this file used all the time".to_owned())
}

fn fix(engine: &Engine<'_>, target: &CheckTarget, item: &CheckItem) -> Checked {
    let began = Instant::now();
    if engine.is_for_later(target, &item.id) {
        return item.checked(target, CheckResult::Later, Duration::ZERO, false);
    }
    let Some(before) = checks::content(&target.file) else {
        let gone = CheckResult::NotRun("the file is gone".to_owned());
        return item.checked(target, gone, began.elapsed(), false);
    };
    let came = tool::run(engine, target, item);
    let mut after = checks::content(&target.file).unwrap_or_else(|| before.clone());
    if !matches!(came, CheckResult::Found { .. })
        && !matches!(item.check.by, CheckMethod::Filter(_))
        && after != before
    {
        // The fixer was ended while it wrote, or failed half way. Discard the result.
        if checks::put_back(&target.file, &after, &before).is_ok() {
            after.clone_from(&before);
        }
    }
    item.checked(target, came, began.elapsed(), after != before)
}

// Runs the linters and the tests side by side, as many as there are cores.

/// Runs all of them. The checks that usually take longest start first: whole projects, then tests.
fn run_linters(engine: &Engine<'_>, targets: &[CheckTarget]) -> Vec<Checked> {
    let mut todo: Vec<(&CheckTarget, &CheckItem)> = targets
        .iter()
        .flat_map(|target| target.items.iter().map(move |item| (target, item)))
        .filter(|(_, item)| item.check.kind != CheckKind::Fix)
        .collect();
    todo.sort_by_key(|(_, item)| match (&item.check.scope, item.check.kind) {
        (FindingScope::Whole(_), _) => 0,
        (FindingScope::File, CheckKind::Test) => 1,
        (FindingScope::File, _) => 2,
    });
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let n_workers = cores.clamp(2, 8).min(todo.len());
    let todo = Mutex::new(VecDeque::from(todo));
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..n_workers {
            scope.spawn(|| {
                while let Some((target, item)) =
                    todo.lock().ok().and_then(|mut todo| todo.pop_front())
                {
                    let checked = run_linter(engine, target, item);
                    if let Ok(mut done) = done.lock() {
                        done.push(checked);
                    }
                }
            });
        }
    });
    done.into_inner().unwrap_or_default()
}

fn run_linter(engine: &Engine<'_>, target: &CheckTarget, item: &CheckItem) -> Checked {
    let began = Instant::now();
    let came = match engine.is_for_later(target, &item.id) {
        true => CheckResult::Later,
        false if engine.is_for_beside(target, item) => CheckResult::Beside,
        false => tool::run(engine, target, item),
    };
    // What did not finish while the edit waited gets its time beside the work.
    let came = match came {
        CheckResult::Unfinished(_) if engine.is_waiting() && engine.left(None).is_none() => {
            CheckResult::Beside
        }
        came => came,
    };
    item.checked(target, came, began.elapsed(), false)
}

// Drops a formatter's complaint about a file that cannot be parsed: a compiler or a linter reports
// the same error, with its position.

/// Removes the formatters' findings if another check found an error in the same file.
fn silence(targets: &[CheckTarget], checked: &mut [Checked]) {
    for target in targets {
        let formatters =
            target.of_kind(CheckKind::Fix).filter(|item| item.check.form == OutputFormat::Whole);
        let formatters: Vec<&str> = formatters.map(|item| item.check.name.as_str()).collect();
        let name = target.name();
        let is_formatter =
            |one: &Checked| one.file == name && formatters.contains(&one.name.as_str());
        if checked.iter().any(|one| !is_formatter(one) && has_error_in(one, &name)) {
            let echoes = checked.iter_mut().filter(|one| is_formatter(one));
            echoes.for_each(forget);
        }
    }
}

fn has_error_in(one: &Checked, file: &str) -> bool {
    match &one.came {
        CheckResult::Found { new, told_before, .. } => {
            let is_in_file = |finding: &Finding| finding.is_error && finding.file == file;
            (one.file == file && *told_before > 0) || new.iter().any(is_in_file)
        }
        _ => false,
    }
}

fn forget(one: &mut Checked) {
    if let CheckResult::Found { new, told_before, .. } = &mut one.came {
        new.clear();
        *told_before = 0;
    }
}
