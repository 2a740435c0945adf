//! Repositories that still hold checkpoints: cleared with everything else, or named for the user.

use crate::command::screen::visible;
use crate::setup::places::InstallPaths;
use ralph_core::shell::quoted;
use ralph_io::{git::checkpoint, git::tree, project, store::lifecycle};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// A repository with Ralph's refs.
pub(super) struct Repository {
    /// The top of one of its worktrees.
    root: PathBuf,
    n_refs: usize,
}

/// The repository of the current folder and those of all known loops, each once.
pub(super) fn repositories(places: &InstallPaths) -> Vec<Repository> {
    let all = lifecycle::all(&places.ralph).into_iter().chain(lifecycle::ended(&places.ralph));
    // An unreadable state names no repository; the doctor reports it.
    let projects = all.filter_map(|(_, state)| Some(PathBuf::from(state.ok()?.project_root)));
    let mut seen = BTreeSet::new();
    std::iter::once(places.current.clone())
        .chain(projects)
        .filter_map(|folder| tree::repository_root(&folder))
        .filter(|root| seen.insert(project::identity(root)))
        .filter_map(look)
        .collect()
}

/// `None` for a repository without refs, or one that git cannot read: its refs cannot be removed
/// anyway.
fn look(root: PathBuf) -> Option<Repository> {
    let n_refs = checkpoint::all_refs(&root).ok()?.len();
    (n_refs > 0).then_some(Repository { root, n_refs })
}

impl Repository {
    /// The refs and the repository, safe to print.
    pub(super) fn describe(&self) -> String {
        let refs = if self.n_refs == 1 { "ref" } else { "refs" };
        let root = visible(&self.root.display().to_string());
        format!("{} {refs} `refs/ralph/*` of `{root}`", self.n_refs)
    }

    /// Removes the refs. Returns false if git refused.
    pub(super) fn clear(&self) -> bool {
        checkpoint::forget_all(&self.root).is_ok()
    }

    /// The command that removes the refs.
    pub(super) fn removal(&self) -> String {
        let folder = quoted(&visible(&self.root.display().to_string()));
        format!(
            "git -C {folder} for-each-ref --format='delete %(refname)' refs/ralph/ | \
             git -C {folder} update-ref --stdin"
        )
    }
}
