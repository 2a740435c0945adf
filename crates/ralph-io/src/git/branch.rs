//! Switches the user's work tree to a branch, for `--branch`, a flag named for it. Changes that are
//! in no commit move along; git refuses a switch that would overwrite one.

use crate::git;
use crate::git::merge;
use anyhow::Result;
use std::path::Path;

/// Where the switch led.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchSwitch {
    /// The branch is new and begins at `HEAD`.
    Created,
    /// The branch existed.
    Switched,
    /// The work tree was on it already.
    Stayed,
}

/// Why the work tree cannot switch to this branch, with what to do; `None` if nothing known stands
/// in the way. A file that the switch would overwrite shows only when git tries.
pub fn refusal(top: &Path, name: &str) -> Result<Option<String>> {
    let mut check = git::command(top);
    if !git::agreed(check.args(["check-ref-format", "--branch", name]))? || name.starts_with('-') {
        return Ok(Some(format!("`{name}` cannot name a branch; give another after --branch=")));
    }
    if is_current(top, name)? {
        return Ok(None);
    }
    if let Some(other) = in_the_way(top, name)? {
        return Ok(Some(format!(
            "git cannot have the branch `{name}` beside `{other}`; give another after --branch="
        )));
    }
    Ok(merge::in_progress(top)?.map(|what| {
        format!("{what} is in progress, so the branch cannot change; finish or abort it (see `git status`)")
    }))
}

/// True if the repository has this branch.
pub fn exists(top: &Path, name: &str) -> Result<bool> {
    let full = format!("refs/heads/{name}");
    git::agreed(git::command(top).args(["show-ref", "--verify", "--quiet", &full]))
}

/// A branch beside which git cannot have this one: it is a part of this one's path, or lies below it.
pub fn in_the_way(top: &Path, name: &str) -> Result<Option<String>> {
    for (at, _) in name.match_indices('/') {
        if exists(top, &name[..at])? {
            return Ok(Some(name[..at].to_owned()));
        }
    }
    let below = format!("refs/heads/{name}/");
    let mut listed = git::command(top);
    listed.args(["for-each-ref", "--count=1", "--format=%(refname)", &below]);
    let listed = git::output(&mut listed)?;
    let first = String::from_utf8_lossy(&listed).trim_end().to_owned();
    Ok(first.strip_prefix("refs/heads/").map(str::to_owned))
}

fn is_current(top: &Path, name: &str) -> Result<bool> {
    let mut current = git::command(top);
    let (_, current) = git::answer(current.args(["symbolic-ref", "--quiet", "--short", "HEAD"]))?;
    Ok(current.strip_suffix(b"\n").unwrap_or(&current) == name.as_bytes())
}

/// Switches to the branch, which is created at `HEAD` if it does not exist. `Ok(Err(_))` has why
/// it cannot be done, with what to do.
pub fn switch(top: &Path, name: &str) -> Result<std::result::Result<BranchSwitch, String>> {
    if let Some(why) = refusal(top, name)? {
        return Ok(Err(why));
    }
    if is_current(top, name)? {
        return Ok(Ok(BranchSwitch::Stayed));
    }
    let is_known = exists(top, name)?;
    let mut switch = git::command(top);
    switch.args(["switch", "--quiet", "--no-guess"]);
    if !is_known {
        switch.arg("--create");
    }
    match git::output(switch.arg(name)) {
        Ok(_) if is_known => Ok(Ok(BranchSwitch::Switched)),
        Ok(_) => Ok(Ok(BranchSwitch::Created)),
        Err(error) if git::is_missing(&error) => Err(error),
        Err(error) => Ok(Err(format!("could not switch to branch `{name}`: {error:#}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::sandbox::Sandbox;

    #[test]
    fn a_branch_is_created_then_switched_to_and_dirty_files_move_along() {
        let at = Sandbox::new();
        at.write("dirty", "1");
        let top = at.root();
        assert_eq!(switch(&top, "ralph/one").unwrap(), Ok(BranchSwitch::Created));
        assert_eq!(switch(&top, "ralph/one").unwrap(), Ok(BranchSwitch::Stayed));
        assert_eq!(switch(&top, "main").unwrap(), Ok(BranchSwitch::Switched));
        assert_eq!(std::fs::read(at.path("dirty")).unwrap(), b"1");
    }

    #[test]
    fn a_switch_that_would_overwrite_a_change_is_refused_and_so_are_bad_names_and_merges() {
        let at = Sandbox::new();
        let top = at.root();
        at.git("switch -q -c other");
        at.write("file", "theirs");
        at.git("add file");
        at.git("commit -q -m x");
        at.git("switch -q main");
        at.write("file", "mine");
        let why = switch(&top, "other").unwrap().unwrap_err();
        assert!(why.starts_with("could not switch to branch `other`"), "{why}");
        assert_eq!(std::fs::read(at.path("file")).unwrap(), b"mine");
        for bad in ["-x", "a..b", "a b", ""] {
            assert!(switch(&top, bad).unwrap().unwrap_err().contains("cannot name a branch"));
        }
        at.git("branch a/b");
        for bad in ["a", "a/b/c"] {
            let why = switch(&top, bad).unwrap().unwrap_err();
            assert!(why.contains(&format!("the branch `{bad}` beside `a/b`")), "{why}");
        }
        at.write(".git/MERGE_HEAD", "x");
        assert!(switch(&top, "new").unwrap().unwrap_err().contains("a merge is in progress"));
    }
}
