//! Finds what a worker begins from: a worktree that the client creates at some commit, and what
//! that commit lacks.
//!
//! Measured with 2.1.328: if `worktree.baseRef` is `head`, the client takes the commit that is
//! checked out. Otherwise it takes the branch that `origin/HEAD` names, else `origin/main`, else
//! `origin/master`, and fetches first if the last fetch is a day old. If none of them is known, it
//! asks `origin` for `main`, and takes what is checked out if that fails. It ignores other remotes.
//! We do not fetch, so commits that only a fetch would show are unknown here.

use crate::client::client_settings::ClientSettings;
use crate::git::tree_id::readable;
use crate::git::{self, repository, worktrees};
use anyhow::{Context, Result};
use std::fmt;
use std::path::{Path, PathBuf};

/// What the client branches from: the first of these that exists.
const REFS: [&str; 3] =
    ["refs/remotes/origin/HEAD", "refs/remotes/origin/main", "refs/remotes/origin/master"];

/// How the base of a worker started now differs from the main session's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    /// Staged, changed and untracked files of the whole repository, as printable paths from its
    /// top, sorted. Ignored files and our own are left out. None of these files is ever in a base.
    pub uncommitted: Vec<String>,
    /// Commits that a worker will not see; not set if it begins from what is checked out.
    pub behind: Option<Behind>,
}

/// A base that lacks commits of `HEAD`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Behind {
    /// The branch that the client takes, in the usual form: `origin/main`.
    pub reference: String,
    /// How many commits of `HEAD` the branch lacks, as known without a fetch; at least one.
    pub commits: u64,
}

/// Why the client cannot create a worktree for a worker. The displayed text says what to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoBase {
    /// The folder is in no git repository.
    NoRepository,
    /// The repository has no commit yet.
    NoCommit,
}

impl fmt::Display for NoBase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::NoRepository => {
                "workers need a git repository; run `git init` and make a first commit"
            }
            Self::NoCommit => {
                "workers begin from a commit, and this repository has none yet; make a first one"
            }
        })
    }
}

/// Inspects the repository that holds `project` and the client's settings for it.
///
/// # Errors
/// If git cannot be asked. A repository in which no worker can begin is not an error.
pub fn inspect_repository(project: &Path) -> Result<Result<Base, NoBase>> {
    let Some(top) = top(project) else { return Ok(Err(NoBase::NoRepository)) };
    let base = ClientSettings::for_project(project).worktree_base();
    gather(&top, base.is_some_and(|base| base.is_head()))
        .context("could not read the commit that workers start from")
}

/// True if the repository that holds `project` has the remote from which the client may branch.
pub fn has_origin(project: &Path) -> Result<bool> {
    let Some(top) = top(project) else { return Ok(false) };
    let names = git::output(git::command(&top).arg("remote"))?;
    Ok(names.split(|byte| *byte == b'\n').any(|name| name == b"origin"))
}

/// The top of the working tree; `None` also if a `.git` exists that leads to no repository.
fn top(project: &Path) -> Option<PathBuf> {
    let project = project.canonicalize().ok()?;
    let repository = repository::around(&project)?;
    repository.text("HEAD").is_some().then_some(repository.top)
}

fn gather(top: &Path, from_head: bool) -> Result<Result<Base, NoBase>> {
    if worktrees::tip(top, "HEAD")?.is_none() {
        return Ok(Err(NoBase::NoCommit));
    }
    let behind = if from_head { None } else { behind(top)? };
    Ok(Ok(Base { uncommitted: uncommitted(top)?, behind }))
}

fn uncommitted(top: &Path) -> Result<Vec<String>> {
    let mut command = git::command(top);
    git::without_filters(&mut command, top);
    let paths = git::uncommitted(&mut command, Some(git::NO_SUBMODULES))?;
    let mut paths: Vec<String> = paths.iter().map(|path| readable(path)).collect();
    paths.sort_unstable();
    Ok(paths)
}

fn behind(top: &Path) -> Result<Option<Behind>> {
    let Some(reference) = reference(top)? else { return Ok(None) };
    let mut count = git::command(top);
    count.args(["rev-list", "--count", &format!("{reference}..HEAD"), "--"]);
    let commits = git::line(&mut count)?.parse().context("`git rev-list` printed no number")?;
    let reference = reference.trim_start_matches("refs/remotes/").to_owned();
    Ok((commits > 0).then_some(Behind { reference, commits }))
}

/// The ref that the client would take, if it is known without asking the remote.
fn reference(top: &Path) -> Result<Option<String>> {
    const FORMAT: &str = "--format=%(refname) %(symref)";
    let listed = git::output(git::command(top).args(["for-each-ref", FORMAT]).args(REFS))?;
    let listed = String::from_utf8_lossy(&listed);
    let known: Vec<(&str, &str)> = listed.lines().filter_map(|line| line.split_once(' ')).collect();
    let found = REFS.iter().find_map(|wanted| {
        let (name, target) = known.iter().find(|(name, _)| name == wanted)?;
        match *name == REFS[0] {
            // The client ignores `origin/HEAD` if it points at no branch of the same remote.
            true => target.starts_with("refs/remotes/origin/").then_some(*target),
            false => Some(*name),
        }
    });
    Ok(found.map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::sandbox::Sandbox;

    /// As for a client that branches from the remote.
    #[track_caller]
    fn base(at: &Sandbox) -> Base {
        gather(&at.root(), false).unwrap().unwrap()
    }

    #[track_caller]
    fn behind(at: &Sandbox) -> Option<(String, u64)> {
        base(at).behind.map(|behind| (behind.reference, behind.commits))
    }

    #[test]
    fn a_folder_without_repository_and_one_without_commit_are_told_apart() {
        let none = inspect_repository(&Sandbox::folder().root()).unwrap().unwrap_err();
        assert_eq!(none, NoBase::NoRepository);
        let broken = Sandbox::folder();
        broken.write(".git/config", "");
        assert_eq!(inspect_repository(&broken.root()).unwrap(), Err(NoBase::NoRepository));
        assert!(none.to_string().ends_with("run `git init` and make a first commit"));
        let empty = inspect_repository(&Sandbox::empty().root()).unwrap().unwrap_err();
        assert_eq!(empty, NoBase::NoCommit);
        assert!(empty.to_string().ends_with("make a first one"));
    }

    #[test]
    fn whatever_is_not_committed_is_named_and_nothing_of_ours() {
        let at = Sandbox::new();
        assert_eq!(base(&at), Base { uncommitted: Vec::new(), behind: None });
        at.write("tracked", "two\n");
        at.remove("src/a.rs");
        at.write("staged", "");
        at.git("add staged");
        at.write("new/a b", "");
        for silent in ["x.ignored", ".claude/worktrees/agent-1/file", ".omc/log"] {
            at.write(silent, "");
        }
        assert_eq!(base(&at).uncommitted, ["new/a b", "src/a.rs", "staged", "tracked"]);
        at.commit("second");
        assert_eq!(base(&at).uncommitted, [""; 0]);
    }

    #[test]
    fn a_folder_of_the_repository_names_all_of_it() {
        let at = Sandbox::new();
        at.write("tracked", "two\n");
        assert_eq!(inspect_repository(&at.path("src")).unwrap().unwrap().uncommitted, ["tracked"]);
    }

    #[test]
    fn commits_that_the_remotes_branch_lacks_are_counted() {
        let at = Sandbox::new();
        assert_eq!(behind(&at), None, "no remote");
        at.git("update-ref refs/remotes/origin/master HEAD");
        assert_eq!(behind(&at), None, "all of it is there");
        at.commit("second");
        assert_eq!(behind(&at), Some(("origin/master".to_owned(), 1)));
        at.commit("third");
        assert_eq!(behind(&at), Some(("origin/master".to_owned(), 2)));
        at.git("update-ref refs/remotes/origin/main HEAD~1");
        assert_eq!(behind(&at), Some(("origin/main".to_owned(), 1)));
        at.git("update-ref refs/remotes/origin/trunk HEAD~2");
        at.git("symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/trunk");
        assert_eq!(behind(&at), Some(("origin/trunk".to_owned(), 2)));
        assert_eq!(gather(&at.root(), true).unwrap().unwrap().behind, None, "from head");
    }

    #[test]
    fn only_what_the_client_would_take_counts() {
        let at = Sandbox::new();
        for name in ["upstream/main", "origin/trunk", "origin/main/x"] {
            at.git(&format!("update-ref refs/remotes/{name} HEAD"));
        }
        at.commit("second");
        assert_eq!(behind(&at), None);
        at.git("symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/gone");
        assert_eq!(behind(&at), None, "a name that leads nowhere");
        at.git("symbolic-ref refs/remotes/origin/HEAD refs/remotes/upstream/main");
        assert_eq!(behind(&at), None, "a branch of another remote");
    }

    #[test]
    fn only_the_remote_called_origin_counts() {
        let at = Sandbox::new();
        at.git("remote add upstream /nowhere");
        assert!(!has_origin(&at.root()).unwrap());
        at.git("remote add origin /nowhere");
        assert!(has_origin(&at.path("src")).unwrap());
        assert!(!has_origin(&Sandbox::folder().root()).unwrap());
    }
}
