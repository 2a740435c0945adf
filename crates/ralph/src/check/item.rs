//! The edited files, and the checks of each.

use super::remembered::Durations;
use super::{CheckOrder, CheckResult, Checked};
use anyhow::Result;
use ralph_core::project::check::{Check, CheckKind, FindingScope, Lacking, languages};
use ralph_io::store::checks::{self, CheckStore, Surroundings};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

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
        Durations::of(self).last(&item.id)
    }

    /// The checks of this kind, in their order.
    pub(crate) fn of_kind(&self, kind: CheckKind) -> impl Iterator<Item = &CheckItem> {
        self.items.iter().filter(move |item| item.check.kind == kind)
    }
}

impl CheckItem {
    /// Its result on this file.
    pub(super) fn checked(
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
pub(super) fn relative(path: &Path, root: &Path) -> String {
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
    let kept = CheckStore::of(order.home, &root)?;
    let plan = languages::plan(&Surroundings::of(&file, &root, &kept));
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
