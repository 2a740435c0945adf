//! Reads facts about a repository from its files; asks git only within a time limit.
//!
//! Starting git costs more than reading all these files together.

use crate::git::{self, scratch, tree};
use crate::process::{self, Running};
use crate::project::safe_read;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Larger than any hand-made path, message or list of stashes.
const LARGEST: u64 = 1 << 20;

/// The status of some hundred thousand changed files.
const MOST_PRINTED: usize = 32 << 20;

/// Of the files that we read, those that all worktrees of a repository share.
const SHARED: [&str; 5] = ["config", "shallow", "info/exclude", "packed-refs", "logs/refs/stash"];

/// A working tree and its git folders.
#[derive(Debug, Clone)]
pub struct Repository {
    /// The top of the working tree.
    pub top: PathBuf,
    own: PathBuf,
    common: PathBuf,
}

/// The repository that holds a folder, whose path must have no links. `None` if there is no
/// repository, or its `.git` leads nowhere.
pub fn around(folder: &Path) -> Option<Repository> {
    let top = tree::repository_root(folder)?;
    let own = own_folder(&top)?;
    let common = match safe_read::text(&own.join("commondir"), LARGEST) {
        Ok(Some(relative)) => own.join(relative.trim()).canonicalize().ok()?,
        _ => own.clone(),
    };
    Some(Repository { top, own, common })
}

/// True if a file in the git folder of a main working tree makes git use the configuration and the
/// objects of another repository. Only a linked worktree has such a file, and a sandboxed command
/// can write one.
pub fn is_redirected(top: &Path) -> bool {
    let dot_git = top.join(".git");
    dot_git.is_dir() && dot_git.join("commondir").symlink_metadata().is_ok()
}

/// The git folder of a working tree: `.git`, or the folder that the file `.git` points to.
pub(super) fn own_folder(top: &Path) -> Option<PathBuf> {
    let dot_git = top.join(".git");
    if dot_git.is_dir() {
        return dot_git.canonicalize().ok();
    }
    let pointer = safe_read::text(&dot_git, LARGEST).ok()??;
    top.join(pointer.strip_prefix("gitdir:")?.trim()).canonicalize().ok()
}

impl Repository {
    /// The common git folder, which is the same for all worktrees of the repository.
    pub fn common(&self) -> &Path {
        &self.common
    }

    /// The git folder of this work tree alone: the common one, unless it is a linked worktree.
    pub fn own(&self) -> &Path {
        &self.own
    }

    /// Reads a file of the worktree's git folder, or of the common git folder if all worktrees
    /// share it.
    pub fn text(&self, path: &str) -> Option<String> {
        let folder = match SHARED.contains(&path) {
            true => &self.common,
            false => &self.own,
        };
        safe_read::text(&folder.join(path), LARGEST).ok().flatten()
    }

    /// The main working tree, if this is a linked one. A bare repository has none.
    pub fn main_work_tree(&self) -> Option<PathBuf> {
        let main = self.common.parent().filter(|_| self.common.ends_with(".git"))?;
        let is_linked = self.own.parent().is_some_and(|above| above.ends_with("worktrees"));
        (is_linked && main != self.top).then(|| main.to_owned())
    }

    /// Runs git and returns its output; `None` if git is missing, fails or takes too long.
    pub fn ask(&self, arguments: &[&str], limit: Duration) -> Option<Vec<u8>> {
        answer(self.begin(arguments)?, limit)
    }

    /// Starts git, so that other work can be done while it runs; [`answer`] gives its output.
    ///
    /// Every new session asks, even in a folder that was unpacked a minute ago and that nobody
    /// trusts yet. So git does not run if the repository's own configuration may name filters,
    /// which git runs at a `status`: only filters cannot be switched off without knowing their
    /// names. In a sandboxed loop none may run, and their names are looked up.
    pub fn begin(&self, arguments: &[&str]) -> Option<Running> {
        let is_bounded = git::is_within_bounds();
        if self.may_name_filters() && !is_bounded {
            return None;
        }
        let mut command = git::command(&self.top);
        if is_bounded {
            git::without_filters(&mut command, &self.top);
        }
        process::start(command.args(arguments)).ok()
    }
}

impl Repository {
    /// Which of these paths git ignores, tracked ones left out; `None` if it cannot tell in time.
    ///
    /// Starts no program that a configuration names.
    pub(crate) fn ignored<'a>(
        &self,
        paths: impl Iterator<Item = &'a PathBuf>,
        limit: Duration,
    ) -> Option<BTreeSet<PathBuf>> {
        let below = paths.filter_map(|path| path.strip_prefix(&self.top).ok());
        let names = below.map(|path| path.as_os_str().as_bytes()).filter(|name| !name.is_empty());
        // A name could be read as a pattern by its first letter.
        let names: Vec<u8> = names.flat_map(|name| [b"./", name, b"\0"].concat()).collect();
        let mut command = git::command(&self.top);
        command.args(["check-ignore", "-z", "--stdin"]);
        command.stdin(scratch::input(&names).ok()?).stderr(Stdio::null());
        let running = process::start_as_given(&mut command).ok()?;
        let finished = running.finish(Instant::now() + limit, MOST_PRINTED).ok()?;
        let is_answer = matches!(finished.status.code(), Some(0 | 1)) && !finished.capped;
        let path = |name: &[u8]| self.top.join(OsStr::from_bytes(name.get(2..).unwrap_or(name)));
        is_answer.then(|| git::zero_ended(&finished.stdout).map(path).collect())
    }
}

/// The output of git; `None` if it fails or takes too long.
pub fn answer(git: Running, limit: Duration) -> Option<Vec<u8>> {
    let finished = git.finish(Instant::now() + limit, MOST_PRINTED).ok()?;
    (finished.status.success() && !finished.capped).then_some(finished.stdout)
}

impl Repository {
    /// True if the repository's own configuration may name filters.
    pub(crate) fn may_name_filters(&self) -> bool {
        ["config", "config.worktree"].iter().any(|file| self.says_filter(file))
    }

    fn says_filter(&self, file: &str) -> bool {
        let is_there = |folder: &Path| folder.join(file).symlink_metadata().is_ok();
        match self.text(file) {
            Some(text) => {
                let text = text.to_ascii_lowercase();
                text.contains("filter") || text.contains("include")
            }
            // A file that cannot be read may contain anything.
            None => is_there(&self.own) || is_there(&self.common),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::sandbox::Sandbox;

    const LIMIT: Duration = Duration::from_secs(20);

    #[test]
    fn a_linked_work_tree_has_files_of_its_own_and_some_that_it_shares() {
        let at = Sandbox::new();
        at.git("worktree add -q linked");
        let main = around(&at.root()).unwrap();
        assert_eq!(main.main_work_tree(), None);
        assert_eq!(main.text("HEAD").unwrap(), "ref: refs/heads/main\n");
        let linked = around(&at.path("linked/none")).unwrap();
        assert_eq!(linked.top, at.path("linked"));
        assert_eq!(linked.main_work_tree(), Some(at.root()));
        assert_eq!(linked.text("HEAD").unwrap(), "ref: refs/heads/linked\n");
        assert!(linked.text("config").unwrap().contains("[core]"));
        assert_eq!(linked.common(), main.common());
        assert_eq!(linked.text("MERGE_HEAD"), None);
        assert!(!linked.ask(&["log", "--format=%s"], LIMIT).unwrap().is_empty());
    }

    #[test]
    fn a_broken_repository_is_none_and_a_failing_git_says_nothing() {
        let at = Sandbox::folder();
        assert!(around(&at.root()).is_none());
        for broken in ["", "gitdir: /no/such/folder\n", "nonsense"] {
            at.write(".git", broken);
            assert!(around(&at.root()).is_none(), "{broken}");
        }
        std::fs::remove_file(at.path(".git")).unwrap();
        std::fs::create_dir(at.path(".git")).unwrap();
        let empty = around(&at.root()).unwrap();
        assert_eq!(empty.text("HEAD"), None);
        assert_eq!(empty.ask(&["status"], LIMIT), None);
    }
}
