//! The repositories that still hold checkpoints: cleared with all the rest, or named so that a person can.

use crate::command::screen::visible;
use crate::setup::places::InstallPaths;
use ralph_io::{git::checkpoint, git::tree, project, store::lifecycle};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A repository with refs of ours.
pub(super) struct Repository {
    /// The top of a work tree of it.
    root: PathBuf,
    /// How many there are.
    n_refs: usize,
}

/// The repository that the person stands in and those of all known loops, each once.
pub(super) fn repositories(places: &InstallPaths) -> Vec<Repository> {
    let all = lifecycle::all(&places.ralph).into_iter().chain(lifecycle::ended(&places.ralph));
    // A state that cannot be read names no repository; the doctor speaks of it.
    let projects = all.filter_map(|(_, state)| Some(PathBuf::from(state.ok()?.project_root)));
    let mut seen = BTreeSet::new();
    std::iter::once(places.current.clone())
        .chain(projects)
        .filter_map(|folder| tree::repository_root(&folder))
        .filter(|root| seen.insert(project::identity(root)))
        .filter_map(look)
        .collect()
}

/// None without refs; a repository that git cannot read has none that anyone could remove.
fn look(root: PathBuf) -> Option<Repository> {
    let n_refs = checkpoint::all_refs(&root).ok()?.len();
    (n_refs > 0).then_some(Repository { root, n_refs })
}

impl Repository {
    /// What it holds, as it may be printed.
    pub(super) fn describe(&self) -> String {
        let refs = if self.n_refs == 1 { "ref" } else { "refs" };
        let root = visible(&self.root.display().to_string());
        format!("{} {refs} `refs/ralph/*` of `{root}`", self.n_refs)
    }

    /// Removes them; false where git would not, and they have to be named.
    pub(super) fn clear(&self) -> bool {
        checkpoint::forget_all(&self.root).is_ok()
    }

    /// The command that removes them.
    pub(super) fn removal(&self) -> String {
        let folder = quoted(&self.root);
        format!(
            "git -C {folder} for-each-ref --format='delete %(refname)' refs/ralph/ | \
             git -C {folder} update-ref --stdin"
        )
    }
}

/// A path as one word of a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", visible(&path.display().to_string()).replace('\'', r"'\''"))
}
