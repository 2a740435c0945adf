//! Shows what a checkpoint contains and what has changed since, without leaving anything behind.

use super::work::{Filters, NOT_OURS, Objects, ScratchIndex};
use super::{Checkpoint, comparing};
use crate::git::tree_id::readable;
use crate::{git, git::tree};
use anyhow::{Context, Result};
use std::path::Path;

/// The diff from the checkpoint to the present working tree, as git prints it.
pub fn diff(root: &Path, from: &Checkpoint) -> Result<Vec<u8>> {
    let work = now(root)?;
    let mut command = work.command();
    comparing(&mut command, "diff");
    git::output(command.args(["--patch", "--cached", &from.commit, "--"]).args(NOT_OURS))
        .with_context(|| compared(from))
}

/// The diff of these paths from a tree to the present working tree, as git prints it.
pub fn diff_since(root: &Path, tree: &str, paths: &[String]) -> Result<Vec<u8>> {
    let work = now(root)?;
    let mut command = work.command();
    comparing(&mut command, "diff");
    command.args(["--patch", "--cached", tree, "--"]);
    command.args(paths.iter().map(|path| format!(":(top,literal){path}")));
    git::output(&mut command).context("could not compare with the start of the loop")
}

/// The files that were added, removed or changed since the checkpoint, sorted and printable.
pub fn changed(root: &Path, from: &Checkpoint) -> Result<Vec<String>> {
    let work = now(root)?;
    let mut command = work.command();
    comparing(&mut command, "diff-index");
    command.args(["--cached", "--name-only", "--no-renames", "-r", "-z", &from.commit, "--"]);
    let printed = git::output(&mut command).with_context(|| compared(from))?;
    let paths = printed.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    let paths = paths.filter(|path| !is_ours(path));
    Ok(paths.map(readable).collect())
}

/// A changed file: its path, and its added and removed lines, unless it is binary.
pub type ChangedFile = (String, Option<(u64, u64)>);

/// The files that differ between a tree and a checkpoint's commit, or the present working tree.
pub fn changed_files(root: &Path, tree: &str, to: Option<&str>) -> Result<Vec<ChangedFile>> {
    let top = top(root)?;
    let look = ["--numstat", "-z", "--no-renames"];
    let printed = match to {
        Some(commit) => {
            let mut command = git::command(&top);
            comparing(&mut command, "diff");
            git::output(command.args(look).args([tree, commit, "--"]).args(NOT_OURS))
        }
        None => {
            let work = ScratchIndex::gather_with(&top, Objects::Dropped, Filters::Off)
                .context("could not read the work tree")?;
            let mut command = work.command();
            comparing(&mut command, "diff");
            git::output(command.args(look).args(["--cached", tree, "--"]).args(NOT_OURS))
        }
    };
    let printed = printed.context("could not compare with the start of the loop")?;
    let rows = printed.split(|byte| *byte == 0).filter(|row| !row.is_empty());
    Ok(rows.filter_map(changed_file).collect())
}

/// A row of `git diff --numstat -z`: `12\t4\tpath`, with dashes for a binary file.
fn changed_file(row: &[u8]) -> Option<ChangedFile> {
    let mut parts = row.splitn(3, |byte| *byte == b'\t');
    let mut number = || std::str::from_utf8(parts.next()?).ok()?.parse().ok();
    let (added, removed) = (number(), number());
    Some((readable(parts.next()?), added.zip(removed)))
}

/// The commits between two of them, newest first: short ids and subjects.
pub fn commits(root: &Path, from: &str, to: &str) -> Result<Vec<(String, String)>> {
    let mut command = git::command(&top(root)?);
    command.args(["-c", "log.showSignature=false", "log", "-z", "--no-color", "--no-decorate"]);
    command.args(["--no-mailmap", "--format=%h%x09%s", "--max-count=1000"]);
    if from.is_empty() {
        command.arg(to);
    } else {
        command.arg(format!("{from}..{to}"));
    }
    let printed = git::output(command.arg("--")).context("could not list the commits")?;
    let rows = printed.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    Ok(rows
        .filter_map(|row| {
            let (id, subject) = row.split_once('\t')?;
            Some((id.to_owned(), subject.to_owned()))
        })
        .collect())
}

/// The checkpoint's description and its changes to the commit that it is based on.
pub fn show(root: &Path, checkpoint: &Checkpoint) -> Result<String> {
    let mut command = git::command(&top(root)?);
    command.args(["-c", "log.showRoot=true", "-c", "log.showSignature=false"]);
    comparing(&mut command, "show");
    command.args(["--stat=100", "--format=medium", "--no-notes", "--no-decorate", "--no-mailmap"]);
    let printed = git::output(command.args([&checkpoint.commit, "--"]))
        .with_context(|| format!("could not show checkpoint {}", checkpoint.number))?;
    Ok(String::from_utf8_lossy(&printed).into_owned())
}

pub(super) fn top(root: &Path) -> Result<std::path::PathBuf> {
    tree::repository_root(root)
        .with_context(|| format!("`{}` is not in a repository", root.display()))
}

pub(super) fn is_ours(path: &[u8]) -> bool {
    ralph_core::stop::progress::is_ours(&String::from_utf8_lossy(path))
}

fn now(root: &Path) -> Result<ScratchIndex> {
    ScratchIndex::gather(&top(root)?, Objects::Dropped).context("could not read the work tree")
}

fn compared(from: &Checkpoint) -> String {
    format!("could not compare with checkpoint {}", from.number)
}
