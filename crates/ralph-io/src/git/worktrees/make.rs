//! Creates a worker's worktree, and finds what was changed in it.
//!
//! The worktree is below the project, where the client keeps its own, so the trust that the user
//! gave the client for the folder also covers the worktree. None of the repository's hooks runs,
//! and the main working tree does not change.

use crate::git::worker_base::NoBase;
use crate::git::{branch, command, output, without_submodules, worktrees};
use crate::{git::tree, project::user_files, store::atomic};
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Where the client keeps its worktrees, below the project.
pub const FOLDER: &str = ".claude/worktrees";

/// What the worktrees of a project begin from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    /// The top of the main working tree.
    top: PathBuf,
    /// The project's folder below it; empty if the project is the whole repository.
    below: PathBuf,
    pub commit: String,
}

/// The commit that the project is at, or why there is none.
pub fn base(root: &Path) -> Result<Result<Base, NoBase>> {
    let root = fs::canonicalize(root)
        .with_context(|| format!("could not find the folder `{}`", root.display()))?;
    let Some(top) = tree::repository_root(&root) else { return Ok(Err(NoBase::NoRepository)) };
    let head = worktrees::tip(&top, "HEAD").context("could not read the repository")?;
    let Some(commit) = head else { return Ok(Err(NoBase::NoCommit)) };
    let below = root.strip_prefix(&top).unwrap_or(Path::new("")).to_owned();
    Ok(Ok(Base { top, below, commit }))
}

impl Base {
    /// The project's folder in a worktree.
    pub fn project_in(&self, worktree: &Path) -> PathBuf {
        match self.below.as_os_str().is_empty() {
            true => worktree.to_owned(),
            false => worktree.join(&self.below),
        }
    }

    /// True if there is a branch of this name.
    pub fn has_branch(&self, name: &str) -> Result<bool> {
        branch::exists(&self.top, name)
    }

    /// The first of these folders below which git can have branches; the last one if there is none.
    pub fn branch_folder<'a>(&self, folders: &'a [String; 3]) -> Result<&'a str> {
        let [preferred @ .., last] = folders;
        for folder in preferred {
            if branch::in_the_way(&self.top, &format!("{folder}/task"))?.is_none() {
                return Ok(folder);
            }
        }
        Ok(last)
    }

    /// Creates a worktree with a new branch at the commit.
    ///
    /// # Errors
    /// If git fails, or the commit does not contain the project's folder.
    pub fn make(&self, worktree: &Path, branch: &str) -> Result<()> {
        let made = || -> Result<()> {
            let parent = worktree.parent().context("the worktree has no folder around it")?;
            user_files::make_folders(parent, 0o755)?;
            keep_from_git(parent)?;
            let mut add = command(&self.top);
            // Otherwise git would use it as the new worktree's folder, too.
            add.env_remove("GIT_WORK_TREE").args([
                "worktree",
                "add",
                "--quiet",
                "--no-track",
                "-b",
            ]);
            add.arg(branch).arg(worktree).arg(&self.commit);
            output(&mut add)?;
            if !self.project_in(worktree).is_dir() {
                bail!("`{}` is in no commit: commit it first", self.below.display());
            }
            Ok(())
        };
        made().with_context(|| format!("could not make the worktree `{}`", worktree.display()))
    }
}

/// Hides the worktrees from git, which would list them as content of the project. The `.gitignore`
/// also covers itself, so nothing has to be committed.
fn keep_from_git(folder: &Path) -> Result<()> {
    let path = folder.join(".gitignore");
    match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => atomic::write(&path, b"*\n"),
        _ => Ok(()),
    }
}

/// The files that differ from the commit, as paths from the top of the worktree: committed since,
/// changed, or new and not ignored.
pub fn changed(worktree: &Path, base: &str) -> Result<Vec<String>> {
    let mut tracked = command(worktree);
    tracked.args(["diff", "--name-only", "--no-renames", "--no-ext-diff", "--no-textconv", "-z"]);
    without_submodules(&mut tracked);
    let tracked = output(tracked.args([base, "--"]))?;
    let mut new = command(worktree);
    let new = output(new.args(["ls-files", "--others", "--exclude-standard", "-z"]))?;
    let names = tracked.split(|byte| *byte == 0).chain(new.split(|byte| *byte == 0));
    let names: BTreeSet<String> = names
        .filter(|name| !name.is_empty())
        .map(|name| OsStr::from_bytes(name).to_string_lossy().into_owned())
        .collect();
    Ok(names.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::sandbox::{Sandbox, git_in};

    fn base_of(at: &Sandbox) -> Base {
        base(&at.root()).unwrap().unwrap()
    }

    #[test]
    fn what_a_project_lacks_is_told_apart() {
        assert_eq!(base(&Sandbox::folder().root()).unwrap(), Err(NoBase::NoRepository));
        assert_eq!(base(&Sandbox::empty().root()).unwrap(), Err(NoBase::NoCommit));
        let at = Sandbox::new();
        assert_eq!(base_of(&at).commit, at.git("rev-parse HEAD").trim());
    }

    #[test]
    fn a_worktree_has_what_is_committed_and_the_main_one_is_as_before() {
        let at = Sandbox::new();
        at.write("tracked", "changed\n");
        at.write("new", "x");
        let before = at.git("status --porcelain");
        let base = base_of(&at);
        let worktree = at.path(FOLDER).join("ralph-1-T-1");
        base.make(&worktree, "ralph/L/T-1").unwrap();
        assert_eq!(fs::read_to_string(worktree.join("tracked")).unwrap(), "one\n");
        assert!(!worktree.join("new").exists());
        assert_eq!(git_in(&worktree, &["branch", "--show-current"]).trim(), "ralph/L/T-1");
        assert_eq!(at.git("status --porcelain"), before, "git sees nothing of it");
        assert_eq!(at.git("branch --show-current").trim(), "main");
        assert!(
            base.has_branch("ralph/L/T-1").unwrap() && !base.has_branch("ralph/L/T-2").unwrap()
        );
        let again = base.make(&worktree, "ralph/L/T-1").unwrap_err();
        assert!(format!("{again:#}").contains("could not make the worktree"), "{again:#}");
    }

    #[test]
    fn what_a_worker_did_is_seen_committed_or_not() {
        let at = Sandbox::new();
        let base = base_of(&at);
        let worktree = at.path(FOLDER).join("w");
        base.make(&worktree, "w").unwrap();
        let seen = || changed(&worktree, &base.commit).unwrap();
        assert_eq!(seen(), [] as [&str; 0]);
        fs::write(worktree.join("committed"), "x").unwrap();
        git_in(&worktree, &["add", "-A"]);
        git_in(&worktree, &["commit", "-q", "-m", "x"]);
        fs::remove_file(worktree.join("tracked")).unwrap();
        fs::write(worktree.join("src/ä b"), "x").unwrap();
        fs::write(worktree.join("y.ignored"), "x").unwrap();
        assert_eq!(seen(), ["committed", "src/ä b", "tracked"]);
    }

    #[test]
    fn a_project_below_the_top_is_below_it_in_the_worktree_too() {
        let at = Sandbox::new();
        let inner = base(&at.path("src")).unwrap().unwrap();
        let worktree = at.path("src").join(FOLDER).join("w");
        inner.make(&worktree, "w").unwrap();
        assert_eq!(inner.project_in(&worktree), worktree.join("src"));
        fs::create_dir(at.path("untracked")).unwrap();
        let outer = base(&at.path("untracked")).unwrap().unwrap();
        let error = outer.make(&at.path("untracked").join(FOLDER).join("w"), "x").unwrap_err();
        assert!(format!("{error:#}").contains("`untracked` is in no commit"), "{error:#}");
    }

    #[test]
    fn the_projects_hooks_do_not_run() {
        use std::os::unix::fs::PermissionsExt;
        let at = Sandbox::new();
        at.write(".git/hooks/post-checkout", "#!/bin/sh\ntouch \"$PWD/hooked\"\n");
        fs::set_permissions(at.path(".git/hooks/post-checkout"), fs::Permissions::from_mode(0o755))
            .unwrap();
        let worktree = at.path(FOLDER).join("w");
        base_of(&at).make(&worktree, "w").unwrap();
        assert!(!worktree.join("hooked").exists() && !at.exists("hooked"));
    }
}
