//! Shows what a checkpoint contains and what has changed since, without leaving anything behind.

use super::work::{NOT_OURS, Objects, ScratchIndex};
use super::{Checkpoint, comparing};
use crate::git::tree_id::readable;
use crate::{git, git::tree};
use anyhow::{Context, Result};
use std::path::Path;

/// The form of a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffFormat {
    /// Line by line.
    Patch,
    /// The amount of change in each file.
    Stat,
}

/// The diff from the checkpoint to the present working tree, as git prints it.
pub fn diff(root: &Path, from: &Checkpoint, form: DiffFormat) -> Result<Vec<u8>> {
    let work = now(root)?;
    let mut command = work.command();
    comparing(&mut command, "diff");
    command.arg(match form {
        DiffFormat::Patch => "--patch",
        DiffFormat::Stat => "--stat=100",
    });
    git::output(command.args(["--cached", &from.commit, "--"]).args(NOT_OURS))
        .with_context(|| compared(from))
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
    tree::repository_root(root).with_context(|| format!("`{}` is in no repository", root.display()))
}

pub(super) fn is_ours(path: &[u8]) -> bool {
    ralph_core::stop::progress::is_ours(&String::from_utf8_lossy(path))
}

fn now(root: &Path) -> Result<ScratchIndex> {
    ScratchIndex::gather(&top(root)?, Objects::Dropped).context("could not look at the work tree")
}

fn compared(from: &Checkpoint) -> String {
    format!("could not compare with checkpoint {}", from.number)
}
