//! Finds what a worker has done in its worktree.

use crate::git::worktrees::make;
use crate::{git, git::repository};
use anyhow::Result;
use std::path::{Path, PathBuf};

/// A worker's worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerTree {
    pub top: PathBuf,
    /// Its branch; empty for a detached `HEAD`.
    pub branch: String,
    /// The commit at which it left the branch of the project's main working tree.
    pub base: String,
    /// The paths, from the top, of all files that differ from the base, committed or not. Ignored
    /// files do not count as work.
    pub files: Vec<String>,
}

/// Inspects the worktree around a folder; `None` if it is the project's own working tree, or not in
/// the project's repository.
pub fn look(folder: &Path, project: &Path) -> Result<Option<WorkerTree>> {
    let (Ok(folder), Ok(project)) = (folder.canonicalize(), project.canonicalize()) else {
        return Ok(None);
    };
    let (Some(its), Some(ours)) = (repository::around(&folder), repository::around(&project))
    else {
        return Ok(None);
    };
    if its.top == ours.top || its.common() != ours.common() {
        return Ok(None);
    }
    let head = git::line(git::command(&ours.top).args(["rev-parse", "--verify", "HEAD"]))?;
    let base = git::line(git::command(&its.top).args(["merge-base", "HEAD", head.trim()]))?;
    let branch = its.text("HEAD").unwrap_or_default();
    let branch = branch.trim().strip_prefix("ref: refs/heads/").unwrap_or_default().to_owned();
    let files = make::changed(&its.top, &base)?;
    Ok(Some(WorkerTree { top: its.top, branch, base, files }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::sandbox::Sandbox;

    #[test]
    fn committed_changed_new_and_deleted_files_are_work_and_ignored_ones_are_not() {
        let at = Sandbox::new();
        at.write("kept", "1");
        at.write("gone", "1");
        at.write(".gitignore", "ignored\n");
        at.git("add -A");
        at.git("commit -qm base");
        at.git("worktree add -q -b work .claude/worktrees/w");
        let tree = at.path(".claude/worktrees/w");
        let write = |name: &str| std::fs::write(tree.join(name), "2").unwrap();
        write("committed");
        at.git("-C .claude/worktrees/w add committed");
        at.git("-C .claude/worktrees/w commit -qm work");
        write("new file");
        write("ignored");
        write("kept");
        std::fs::remove_file(tree.join("gone")).unwrap();
        // The loop continues meanwhile: later commits are not the worker's.
        at.write("later", "1");
        at.git("add later");
        at.git("commit -qm later");
        let look = look(&tree, &at.root()).unwrap().unwrap();
        assert_eq!(look.files, ["committed", "gone", "kept", "new file"]);
        assert_eq!((look.branch.as_str(), look.base.len()), ("work", 40));
        assert_eq!(look.top, tree.canonicalize().unwrap());
    }

    #[test]
    fn the_projects_own_work_tree_is_no_workers() {
        let at = Sandbox::new();
        std::fs::create_dir(at.path("sub")).unwrap();
        assert_eq!(look(&at.path("sub"), &at.root()).unwrap(), None);
        let other = Sandbox::new();
        assert_eq!(look(&other.root(), &at.root()).unwrap(), None);
    }
}
