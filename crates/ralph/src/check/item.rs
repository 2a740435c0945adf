//! What there is to do: the edited files, and the checks of each.

use super::Order;
use super::remembered::Durations;
use anyhow::Result;
use ralph_core::project::check::{Check, Kind, Lacking, Scope, languages};
use ralph_io::store::checks::{self, Kept, Surroundings};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// An edited file with everything that is to be done for it.
#[derive(Debug)]
pub(crate) struct Target {
    /// The file, its links followed.
    pub(crate) file: PathBuf,
    /// The root of its project.
    pub(crate) root: PathBuf,
    /// What is kept of the project.
    pub(crate) kept: Kept,
    /// The checks that apply.
    pub(crate) items: Vec<Item>,
    /// The checks that it lacks.
    pub(crate) lacking: Vec<Lacking>,
}

/// One check of one file.
#[derive(Debug)]
pub(crate) struct Item {
    /// The check.
    pub(crate) check: Check,
    /// What tells it apart from every other of the project: a check of something whole has one for
    /// all files.
    pub(crate) id: String,
}

impl Target {
    /// The file as it is named to people and to the model.
    pub(crate) fn name(&self) -> String {
        relative(&self.file, &self.root)
    }

    /// How long a check of it took last; none if it has not run.
    pub(crate) fn took_last(&self, item: &Item) -> Option<Duration> {
        Durations::of(self).last(&item.id)
    }

    /// The checks of this kind, in their order.
    pub(crate) fn of_kind(&self, kind: Kind) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(move |item| item.check.kind == kind)
    }
}

/// A path from the root, or the whole path of what lies elsewhere.
pub(super) fn relative(path: &Path, root: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned()
}

/// The files that there are, each with what applies to it. What is whole is done once, for the first
/// of the files that want it.
pub(crate) fn targets(order: &Order<'_>) -> Result<Vec<Target>> {
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

/// A file with what applies to it.
fn target(order: &Order<'_>, file: PathBuf) -> Result<Target> {
    let root = Surroundings::root_of(&file);
    let kept = Kept::of(order.home, &root)?;
    let plan = languages::plan(&Surroundings::of(&file, &root, &kept));
    let plan = order.choice.apply(plan, &root, &file);
    let item = |check: Check| Item { id: id(&check, &file), check };
    let items = plan.checks.into_iter().map(item).collect();
    Ok(Target { items, lacking: plan.lacking, file, root, kept })
}

fn id(check: &Check, file: &Path) -> String {
    match &check.scope {
        Scope::File => format!("{} of {}", check.name, file.display()),
        Scope::Whole(what) => format!("{} of all of {}", check.name, what.display()),
    }
}
