//! A copy of the project as it was before the work: findings in the copy are not blamed on the
//! work.
//!
//! Its files come from git's tree. Ignored files (installed packages, environments) are linked,
//! because the tools need them and the work does not produce them.

use super::CheckStore;
use crate::git;
use crate::git::scratch::Scratch;
use crate::process::{portable, table};
use anyhow::{Context, Result};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// The most ignored files and folders that are linked. No project that people work on has more.
const MOST_LINKS: usize = 20_000;

/// A copy unused for this long is removed when the next one is made.
const KEPT_FOR: Duration = Duration::from_secs(2 * 24 * 3600);

/// The copy of one tree.
#[derive(Debug, Clone)]
pub struct Copy {
    folder: PathBuf,
    tree: String,
}

impl Copy {
    /// The id of the tree that a loop started from, or of `HEAD`; `None` if there is no repository,
    /// or no commit yet.
    pub fn tree(root: &Path, since: Option<&str>) -> Option<String> {
        let of = |name: &str| {
            let mut command = git::command(root);
            command.args(["rev-parse", "--verify", "--quiet"]).arg(format!("{name}^{{tree}}"));
            git::line(&mut command).ok().filter(|id| !id.is_empty())
        };
        since.and_then(of).or_else(|| of("HEAD"))
    }

    /// The copy of this tree of the repository at `root`, created if missing.
    ///
    /// # Errors
    /// If git fails, the disk is full, or another process takes too long to create it.
    pub fn of(kept: &CheckStore, root: &Path, tree: &str, patience: Duration) -> Result<Copy> {
        let copies = kept.folder().join("copies");
        let name = format!("{tree}-{}", boot());
        let copy = Copy { folder: copies.join(&name), tree: tree.to_owned() };
        if copy.folder.is_dir() {
            return Ok(copy);
        }
        let _held = kept.lock("copies", patience)?;
        if !copy.folder.is_dir() {
            remove_old(&copies);
            let part = copies.join(format!("{name}.part"));
            // Left by a killed process: we hold the lock, so nobody is using it.
            let _ = std::fs::remove_dir_all(&part);
            fill(&part, root, tree, patience)?;
            std::fs::rename(&part, &copy.folder)
                .with_context(|| format!("could not name `{}`", copy.folder.display()))?;
        }
        Ok(copy)
    }

    /// The id of the tree.
    pub fn id(&self) -> &str {
        &self.tree
    }

    /// The folder that stands for the project's root.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// An id of the machine's current boot. The thousands of copied files are not synced, so after a
/// power cut they may be torn and are copied again.
fn boot() -> String {
    let id = match portable::is_used() {
        true => table::start_time(1).map(|started| started.to_string()).unwrap_or_default(),
        false => std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default(),
    };
    id.chars().filter(char::is_ascii_hexdigit).take(12).collect()
}

fn fill(part: &Path, root: &Path, tree: &str, patience: Duration) -> Result<()> {
    let until = Instant::now() + patience;
    let left = || until.saturating_duration_since(Instant::now());
    std::fs::create_dir(part).with_context(|| format!("could not make `{}`", part.display()))?;
    let scratch = Scratch::new()?;
    let index = scratch.path("index");
    let mut read = git::command(root);
    git::output_within(read.env("GIT_INDEX_FILE", &index).args(["read-tree", tree]), left())?;
    let mut prefix = part.as_os_str().to_owned();
    prefix.push("/");
    let mut write = git::command(root);
    write.env("GIT_INDEX_FILE", &index).args(["checkout-index", "--all", "--quiet", "--force"]);
    let mut to = std::ffi::OsString::from("--prefix=");
    to.push(prefix);
    git::output_within(write.arg(to), left()).context("could not copy the files")?;
    link_ignored(part, root, left())
}

fn link_ignored(part: &Path, root: &Path, left: Duration) -> Result<()> {
    let mut list = git::command(root);
    list.args(["ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"]);
    let listed = git::output_within(&mut list, left).context("could not list what git ignores")?;
    let names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    for name in names.take(MOST_LINKS) {
        let name = Path::new(OsStr::from_bytes(name.strip_suffix(b"/").unwrap_or(name)));
        let link = part.join(name);
        if link.symlink_metadata().is_ok() {
            continue;
        }
        let linked = link
            .parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| std::os::unix::fs::symlink(root.join(name), &link));
        linked.with_context(|| format!("could not link to `{}`", name.display()))?;
    }
    Ok(())
}

/// Best effort: what remains is found again next time.
fn remove_old(copies: &Path) {
    let Some(since) = SystemTime::now().checked_sub(KEPT_FOR) else { return };
    for entry in std::fs::read_dir(copies).into_iter().flatten().flatten() {
        let is_old = entry.metadata().and_then(|about| about.modified()).is_ok_and(|at| at < since);
        if is_old {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::sandbox::Sandbox;
    use crate::store::home::Home;

    #[test]
    fn the_files_are_those_of_the_tree_and_what_git_ignores_is_linked_to() {
        let sandbox = Sandbox::new();
        sandbox.write("tracked", "changed since\n");
        sandbox.write("new", "not there before\n");
        sandbox.write("src/made.ignored", "kept\n");
        let folder = tempfile::tempdir().unwrap();
        let root = sandbox.root();
        let kept = CheckStore::of(&Home::at(folder.path().join("home")), &root).unwrap();
        let tree = Copy::tree(&root, None).unwrap();
        let make = || Copy::of(&kept, &root, &tree, Duration::from_secs(5)).unwrap();
        let copy = make();
        let text = |name: &str| std::fs::read_to_string(copy.folder().join(name)).ok();
        assert_eq!(text("tracked").as_deref(), Some("one\n"));
        assert_eq!(text("new"), None);
        assert_eq!(text("src/made.ignored").as_deref(), Some("kept\n"));
        assert_eq!(
            std::fs::read_link(copy.folder().join("src/made.ignored")).unwrap(),
            root.join("src/made.ignored")
        );
        assert_eq!(make().folder(), copy.folder());
        assert_eq!(sandbox.git("status --porcelain"), " M tracked\n?? new\n");
    }

    #[test]
    fn a_tree_that_is_gone_gives_way_to_head_and_without_a_commit_there_is_none() {
        let sandbox = Sandbox::new();
        let head = Copy::tree(&sandbox.root(), None);
        assert!(head.is_some());
        let gone = "0123456789012345678901234567890123456789";
        assert_eq!(Copy::tree(&sandbox.root(), Some(gone)), head);
        assert_eq!(Copy::tree(&Sandbox::empty().root(), None), None);
    }
}
