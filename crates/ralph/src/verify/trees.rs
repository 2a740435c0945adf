//! The trees with which the current one is compared, so that a change can be reported by its files: saved ones of
//! receipts, and that of the start.

use anyhow::{Context, Result};
use ralph_core::project::settings::Settings;
use ralph_core::state::{Green, LoopState, Regression};
use ralph_io::git::checkpoint::{self, TreeSnapshot};
use ralph_io::git::tree_id::{self, Listing, TreeAtStart, TreeScope};
use ralph_io::process::clock;
use ralph_io::store::{checks, receipts};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::thread;

/// Records the files of the start, in the loop's folder.
const BEGUN: &str = "begun";

/// The cache size of some ten thousand files, which can be read in less than half a second.
const SMALL_CACHE: u64 = 1 << 20;

/// The highest number of files reported for a change.
const NAMED: usize = 20;

/// The project's current tree, and the folder with the earlier ones.
pub(super) struct Trees {
    root: PathBuf,
    folder: PathBuf,
    ignore: Vec<String>,
    begun: Option<TreeAtStart>,
    now: Listing,
}

impl Trees {
    /// Reads the tree, and creates the folder to save it in.
    pub(super) fn open(root: &Path, loop_folder: &Path, ignore: Vec<String>) -> Result<Trees> {
        receipts::trees(loop_folder)?;
        // This is usually recorded when the loop starts.
        tree_id::note_begun(&loop_folder.join(BEGUN), root)?;
        Trees::at(root, loop_folder, ignore, false)
    }

    /// Reads the tree and creates no folder: the loop may be archived at the same time.
    pub(super) fn open_read_only(
        root: &Path,
        loop_folder: &Path,
        ignore: Vec<String>,
    ) -> Result<Trees> {
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

    /// True if git ignores other files than when the loop started. A receipt may then depend on
    /// files that the tree id does not cover.
    pub(super) fn rules_changed(&self) -> bool {
        let changed =
            |begun: &TreeAtStart| begun.rules_changed(&self.root, &self.now).unwrap_or(true);
        self.begun.as_ref().is_none_or(changed)
    }

    /// True if the tree of the start had none of these files.
    pub(super) fn are_new(&self, paths: &[String]) -> bool {
        self.begun.as_ref().is_some_and(|begun| begun.has_none_of(paths))
    }

    /// Leaves out what these patterns name from now on.
    pub(super) fn ignore(&mut self, patterns: Vec<String>) -> Result<()> {
        self.ignore = patterns;
        self.refresh_listing().map(drop)
    }

    /// Reads every file again, without the cache.
    pub(super) fn read_again(&mut self) -> Result<()> {
        self.now = self.listing(false)?;
        Ok(())
    }

    /// Reads every file again, while git stores the files for a checkpoint. `None` if a checkpoint of
    /// this tree is recorded, or if git cannot store them.
    pub(super) fn read_for_checkpoint(
        &mut self,
        state: &LoopState,
    ) -> Result<Option<TreeSnapshot>> {
        if self.is_recorded(state) {
            return self.read_again().map(|()| None);
        }
        let root = self.root.clone();
        thread::scope(|scope| {
            let stored = scope.spawn(|| TreeSnapshot::capture(&root).ok().flatten());
            self.read_again()?;
            Ok(stored.join().ok().flatten())
        })
    }

    fn is_recorded(&self, state: &LoopState) -> bool {
        state.checkpoint.as_ref().is_some_and(|green| green.tree == self.now.id())
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

    /// Reads the tree again. Returns the previous listing.
    pub(super) fn refresh_listing(&mut self) -> Result<Listing> {
        let now = self.listing(true)?;
        Ok(std::mem::replace(&mut self.now, now))
    }

    pub(super) fn now(&self) -> &Listing {
        &self.now
    }

    /// The id of the files that a criterion depends on.
    pub(super) fn id_for(&self, paths: &[String]) -> String {
        within(&self.now, paths).id()
    }

    /// Saves the part of the current tree that a criterion depends on.
    pub(super) fn remember(&self, paths: &[String]) -> Result<()> {
        let tree = within(&self.now, paths);
        let path = self.folder.join(tree.id());
        if path.exists() { Ok(()) } else { tree.save_unsynced(&path) }
    }

    /// The first files that changed since an earlier tree; empty if that tree was not saved.
    pub(super) fn changed_since(&self, tree: &str, paths: &[String]) -> Vec<String> {
        let mut changed = self.all_changed_since(tree, paths);
        changed.truncate(NAMED);
        changed
    }

    fn all_changed_since(&self, tree: &str, paths: &[String]) -> Vec<String> {
        let earlier = Listing::load(&self.folder.join(tree)).ok().flatten();
        earlier.map_or_else(Vec::new, |earlier| within(&self.now, paths).changed_since(&earlier))
    }

    /// The files that changed since all criteria last held, or else since this criterion last held.
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

    /// Records the current tree, on which all criteria hold. Returns `None` if it is the last
    /// recorded one, or if its listing could not be saved.
    pub(super) fn checkpoint(
        &self,
        state: &LoopState,
        stored: Option<TreeSnapshot>,
    ) -> Option<Green> {
        if self.is_recorded(state) {
            return None;
        }
        self.remember(&[]).ok()?;
        let (now, id) = (clock::now(), &state.loop_id);
        let about = format!("all criteria hold at {}", state.position());
        // Proof does not depend on this: a repository that cannot be written gets no checkpoint.
        let stored = stored.or_else(|| TreeSnapshot::capture(&self.root).ok().flatten());
        let taken = stored.and_then(|stored| stored.keep(id, &about, now).ok());
        let reference = taken.map(|taken| taken.reference).unwrap_or_default();
        Some(Green { reference, tree: self.now.id(), at: now })
    }

    /// Removes the saved trees that no receipt or checkpoint names any more.
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

/// The part of a tree that a criterion depends on. Paths that match nothing would never change, so
/// then it is the whole tree.
pub(super) fn within(tree: &Listing, paths: &[String]) -> Listing {
    let part = tree.within(paths);
    if paths.is_empty() || part.is_empty() { tree.clone() } else { part }
}

// The files that a loop changed: by git's tree of the start, or without git by a listing of the
// project's files.

/// Notes the files of the project, unless the loop has a start already.
///
/// # Errors
/// If they cannot be read: then no review could tell what the loop changed.
pub(crate) fn note_start(loop_folder: &Path, state: &LoopState) -> Result<()> {
    let root = Path::new(&state.project_root);
    if checks::start_of(loop_folder).is_some() || listing_file(loop_folder).exists() {
        return Ok(());
    }
    // Without git there is none.
    let _ = checks::note_start(loop_folder, root);
    if checks::start_of(loop_folder).is_some() {
        return Ok(());
    }
    let noted = tree_now(state).and_then(|tree| tree.save(&listing_file(loop_folder)));
    noted.context("could not note the project's files, so no review could tell what changed")
}

/// The files that the loop changed since its start. Empty if nothing was noted then.
pub(crate) fn changed_since_start(loop_folder: &Path, state: &LoopState) -> Vec<String> {
    if let Some(start) = checks::start_of(loop_folder) {
        let files = checkpoint::changed_files(&start.root, &start.tree, None).unwrap_or_default();
        return files.into_iter().map(|(path, _)| path).collect();
    }
    let Ok(Some(start)) = Listing::load(&listing_file(loop_folder)) else { return Vec::new() };
    tree_now(state).map(|now| now.changed_since(&start)).unwrap_or_default()
}

/// The project's files as they are now, read from the disk.
///
/// # Errors
/// If they cannot be listed.
pub(crate) fn tree_now(state: &LoopState) -> Result<Listing> {
    let ignore = Settings::ignored(state);
    tree_id::listing(&TreeScope {
        project_root: Path::new(&state.project_root),
        ignore: &ignore,
        cache: None,
        trusts_cache: false,
        begun: None,
    })
}

fn listing_file(loop_folder: &Path) -> PathBuf {
    loop_folder.join("listing-at-start")
}
