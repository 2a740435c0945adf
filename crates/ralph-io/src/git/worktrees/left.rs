//! Finds the worktrees that the client made for workers and left behind.
//!
//! The client removes the worktrees in which nothing changed. The others stay below the
//! repository's main working tree, each with a branch, until someone removes them. Measured with
//! 2.1.328: while a worker is running, git's lock on its worktree names the client's process.

use crate::{client, git::repository, project::safe_read, project::user_files};
use ralph_core::state::ClientProcess;
use std::path::{Path, PathBuf};

/// Below the top of a working tree.
const FOLDER: &str = ".claude/worktrees";

/// Longer than any lock reason.
const LARGEST: u64 = 1 << 16;

/// The folder of these worktrees, and the sorted names of those in which no worker is running;
/// `None` if there is no repository.
pub fn left(project: &Path) -> Option<(PathBuf, Vec<String>)> {
    let repository = repository::around(&project.canonicalize().ok()?)?;
    let top = repository.main_work_tree().unwrap_or_else(|| repository.top.clone());
    let folder = top.join(FOLDER);
    let mut names = user_files::names(&folder);
    names.retain(|name| {
        let lock = repository.common().join("worktrees").join(name).join("locked");
        let reason = safe_read::text(&lock, LARGEST).ok().flatten();
        folder.join(name).is_dir() && !reason.is_some_and(|reason| is_at_work(&reason))
    });
    Some((folder, names))
}

/// True for a reason like `claude agent agent-1f (pid 123 start 456)`, if that process still runs.
fn is_at_work(reason: &str) -> bool {
    let holder = || {
        let (_, words) = reason.rsplit_once("(pid ")?;
        let (pid, started) = words.trim_end().strip_suffix(')')?.split_once(" start ")?;
        Some(ClientProcess { pid: pid.parse().ok()?, started: started.to_owned() })
    };
    holder().is_some_and(|holder| client::is_alive(&holder))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::sandbox::Sandbox;

    fn names(at: &Path) -> Vec<String> {
        left(at).unwrap().1
    }

    #[test]
    fn only_those_in_which_somebody_is_at_work_are_left_out() {
        let at = Sandbox::new();
        assert_eq!(names(&at.root()), [""; 0]);
        let us = std::process::id();
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
        let after = stat.rsplit_once(')').unwrap().1;
        let started = after.split_whitespace().nth(19).unwrap().to_owned();
        for name in ["quiet", "busy", "gone", "odd"] {
            at.git(&format!("worktree add -q .claude/worktrees/{name}"));
        }
        at.write(".claude/worktrees/a-file", "");
        for (name, reason) in [
            ("busy", format!("claude agent busy (pid {us} start {started})\n")),
            ("gone", format!("claude agent gone (pid {us} start 1)")),
            ("odd", "keep".to_owned()),
        ] {
            at.write(&format!(".git/worktrees/{name}/locked"), &reason);
        }
        assert_eq!(names(&at.path("src")), ["gone", "odd", "quiet"]);
        let (folder, from_within) = left(&at.path(".claude/worktrees/quiet")).unwrap();
        assert_eq!(folder, at.path(".claude/worktrees"), "they are the main work tree's");
        assert_eq!(from_within, ["gone", "odd", "quiet"]);
        assert_eq!(left(&Sandbox::folder().root()), None);
    }
}
