//! The trees that receipts are taken on: the one that is there now, and what is remembered of
//! earlier ones, so that a change can be named by its files.

use anyhow::Result;
use ralph_core::evidence::receipt::Regression;
use ralph_core::state::{Green, LoopState};
use ralph_io::git::tree_id::{self, Listing, TreeAtStart, TreeScope};
use ralph_io::{git::checkpoint, process::clock, store::receipts};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where the files of the beginning are noted, in the loop's folder.
const BEGUN: &str = "begun";

/// The cache of some ten thousand files: so many are read in less than half a second.
const SMALL_CACHE: u64 = 1 << 20;

/// Files that are named of a change.
const NAMED: usize = 20;

/// Checkpoints of a loop that are kept.
const CHECKPOINTS: usize = 20;

/// Checkpoints of other loops are kept for so long.
const LONGEST_KEPT: Duration = Duration::from_secs(30 * 24 * 3600);

/// The project's tree now, and where earlier ones are remembered.
pub(super) struct Trees {
    root: PathBuf,
    folder: PathBuf,
    ignore: Vec<String>,
    begun: Option<TreeAtStart>,
    now: Listing,
}

impl Trees {
    /// Looks at the tree, and makes a place where it can be remembered.
    pub(super) fn look(root: &Path, loop_folder: &Path, ignore: Vec<String>) -> Result<Trees> {
        receipts::trees(loop_folder)?;
        // As a rule it was noted when the loop started.
        tree_id::note_begun(&loop_folder.join(BEGUN), root)?;
        Trees::at(root, loop_folder, ignore, false)
    }

    /// Looks at the tree and makes no folder: the loop may be put away at the same time.
    pub(super) fn only_look(root: &Path, loop_folder: &Path, ignore: Vec<String>) -> Result<Trees> {
        let cache = loop_folder.join("trees/cache");
        let is_small = cache.metadata().is_ok_and(|about| about.len() < SMALL_CACHE);
        Trees::at(root, loop_folder, ignore, !is_small)
    }

    fn at(root: &Path, loop_folder: &Path, ignore: Vec<String>, trusts: bool) -> Result<Trees> {
        let folder = loop_folder.join("trees");
        let begun = tree_id::begun(&loop_folder.join(BEGUN));
        let now = Listing::default();
        let mut trees = Trees { root: root.to_owned(), folder, ignore, begun, now };
        trees.now = trees.listing(trusts)?;
        Ok(trees)
    }

    /// True if git leaves out other files than when the loop began: then a receipt may rest on files
    /// that the tree id does not tell.
    pub(super) fn rules_changed(&self) -> bool {
        let changed =
            |begun: &TreeAtStart| begun.rules_changed(&self.root, &self.now).unwrap_or(true);
        self.begun.as_ref().is_none_or(changed)
    }

    /// Reads every file again, whatever is remembered.
    pub(super) fn read_again(&mut self) -> Result<()> {
        self.now = self.listing(false)?;
        Ok(())
    }

    fn listing(&self, trusts_cache: bool) -> Result<Listing> {
        let cache = self.folder.join("cache");
        tree_id::listing(&TreeScope {
            project_root: &self.root,
            ignore: &self.ignore,
            cache: Some(&cache),
            trusts_cache,
            begun: self.begun.as_ref(),
        })
    }

    /// Looks at it again; returns how it was before.
    pub(super) fn look_again(&mut self) -> Result<Listing> {
        let now = self.listing(true)?;
        Ok(std::mem::replace(&mut self.now, now))
    }

    /// The tree now.
    pub(super) fn now(&self) -> &Listing {
        &self.now
    }

    /// Id of what a criterion depends on.
    pub(super) fn id_for(&self, paths: &[String]) -> String {
        within(&self.now, paths).id()
    }

    /// Remembers the tree now, as far as a criterion depends on it.
    pub(super) fn remember(&self, paths: &[String]) -> Result<()> {
        let tree = within(&self.now, paths);
        let path = self.folder.join(tree.id());
        if path.exists() { Ok(()) } else { tree.save(&path) }
    }

    /// The first files that changed since an earlier tree; none if it is not remembered.
    pub(super) fn changed_since(&self, tree: &str, paths: &[String]) -> Vec<String> {
        let mut changed = self.all_changed_since(tree, paths);
        changed.truncate(NAMED);
        changed
    }

    fn all_changed_since(&self, tree: &str, paths: &[String]) -> Vec<String> {
        let earlier = Listing::load(&self.folder.join(tree)).ok().flatten();
        earlier.map_or_else(Vec::new, |earlier| within(&self.now, paths).changed_since(&earlier))
    }

    /// What changed since the last moment at which all criteria held, or else since this one did.
    pub(super) fn regression(
        &self,
        green: Option<&Green>,
        held_on: &str,
        paths: &[String],
    ) -> Regression {
        let mut files = match green {
            Some(green) => self.all_changed_since(&green.tree, &[]),
            None => self.all_changed_since(held_on, paths),
        };
        let more = files.len().saturating_sub(NAMED);
        files.truncate(NAMED);
        let checkpoint = green.map(|green| green.reference.clone()).unwrap_or_default();
        Regression { checkpoint, files, more }
    }

    /// Keeps the tree now, on which all criteria hold. None if it is the one that was kept last,
    /// or if the project is in no repository and its files could not be remembered.
    pub(super) fn checkpoint(&self, state: &LoopState) -> Option<Green> {
        let tree = self.now.id();
        if state.checkpoint.as_ref().is_some_and(|green| green.tree == tree) {
            return None;
        }
        self.remember(&[]).ok()?;
        let (now, id) = (clock::now(), &state.loop_id);
        let about = format!("all criteria hold at {}", state.position());
        // Proof does not depend on it: a repository that cannot be written keeps no checkpoint.
        let taken = checkpoint::take(&self.root, id, &about, now).ok().flatten();
        let _ = checkpoint::prune(&self.root, id, CHECKPOINTS, LONGEST_KEPT, now);
        let reference = taken.map(|taken| taken.reference).unwrap_or_default();
        Some(Green { reference, tree, at: now })
    }

    /// Removes what was remembered of trees that nothing names any more.
    pub(super) fn forget_what_no_receipt_names(&self, state: &LoopState) {
        let criteria = &state.acceptance_criteria;
        let taken = criteria.iter().filter_map(|one| one.receipt.as_ref());
        let named: BTreeSet<&str> = taken
            .map(|receipt| receipt.tree_after.as_str())
            .chain(criteria.iter().filter_map(|one| one.held_on.as_deref()))
            .chain(state.checkpoint.iter().map(|green| green.tree.as_str()))
            .collect();
        receipts::forget_trees(&self.folder, &named);
    }
}

/// The part of a tree that a criterion depends on. Paths that match nothing would never change:
/// then it is all of it.
pub(super) fn within(tree: &Listing, paths: &[String]) -> Listing {
    let part = tree.within(paths);
    if paths.is_empty() || part.is_empty() { tree.clone() } else { part }
}
