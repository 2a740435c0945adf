//! Lists the files of a working tree: tracked and untracked ones, not ignored ones.
//!
//! A folder in git's listing is a nested repository (a submodule, or one that nobody has added
//! yet). It is listed separately, because git does not descend into it.

use crate::git;
use crate::git::litter::is_litter;
use crate::git::scratch::Scratch;
use anyhow::{Context, Result};
use ralph_core::protocol::sandbox::is_litter_name;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;
use walkdir::WalkDir;

/// How deeply repositories may be nested; a deeper nesting would be endless by mistake.
const DEEPEST: usize = 32;

/// Sorts names and drops repeated ones.
pub(super) fn sort(names: &mut Vec<Vec<u8>>) {
    // Git prints sorted runs, which a stable sort takes as they are.
    names.sort();
    names.dedup();
}

/// The names of all files of the tree below `root`, sorted, with those of the project at `base` in it.
pub(super) fn gather(root: &Path, base: &[u8], is_repository: bool) -> Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    if !is_repository {
        of_plain_folder(root, b"", &mut names, 0)?;
    } else if let Err(error) = of_repository(root, b"", &mut names, 0) {
        if !git::is_missing(&error) {
            return Err(error);
        }
        // Without git, nobody knows what is ignored. Extra files do no harm; missing ones would.
        names.clear();
        walk(root, b"", &mut names);
    }
    let project = [base, b"/"].concat();
    if !base.is_empty() && !names.iter().any(|path| path.starts_with(&project)) {
        // The repository ignores the project's folder, for example in a home folder under git.
        of_plain_folder(root, &project, &mut names, 0)?;
    }
    sort(&mut names);
    Ok(names)
}

/// `below` is the repository's path below the top of the tree: empty, or ending with a slash.
fn of_repository(top: &Path, below: &[u8], names: &mut Vec<Vec<u8>>, depth: usize) -> Result<()> {
    let folder = top.join(OsStr::from_bytes(below));
    let mut command = git::command(&folder);
    list(&mut command, &["--cached", "--others"])
        .and_then(|listed| take(top, below, &listed, names, depth))
        .with_context(|| format!("could not list the files of `{}`", folder.display()))
}

/// Lists a folder that is not a repository. An empty repository elsewhere, with this folder as its
/// working tree, makes git apply a `.gitignore` all the same.
fn of_plain_folder(top: &Path, below: &[u8], names: &mut Vec<Vec<u8>>, depth: usize) -> Result<()> {
    let folder = top.join(OsStr::from_bytes(below));
    let scratch = Scratch::new()?;
    make_git_dir(scratch.folder()).context("could not make an empty repository")?;
    let mut command = git::command(&folder);
    command.arg("--git-dir").arg(scratch.folder()).arg("--work-tree").arg(&folder);
    match list(&mut command, &["--others"]) {
        Ok(listed) => take(top, below, &listed, names, depth),
        Err(error) if git::is_missing(&error) => {
            walk(top, below, names);
            Ok(())
        }
        Err(error) => Err(error)
            .with_context(|| format!("could not list the files of `{}`", folder.display())),
    }
}

/// Creates the minimum that git accepts as a repository.
fn make_git_dir(folder: &Path) -> std::io::Result<()> {
    for name in ["objects", "refs"] {
        std::fs::create_dir(folder.join(name))?;
    }
    std::fs::write(folder.join("HEAD"), "ref: refs/heads/none\n")
}

/// Lists with a status letter before each name and, for tracked files, the mode: only the mode
/// tells a submodule from a file without a system call for each. Names end with a zero byte.
fn list(command: &mut Command, which: &[&str]) -> Result<Vec<u8>> {
    git::output(command.args(["ls-files", "-z", "-t", "--stage", "--exclude-standard"]).args(which))
}

fn take(
    top: &Path,
    below: &[u8],
    listed: &[u8],
    names: &mut Vec<Vec<u8>>,
    depth: usize,
) -> Result<()> {
    for line in git::zero_ended(listed) {
        match parse(line) {
            None => {}
            Some((false, name)) if !is_left_over(top, below, line, name) => {
                names.push([below, name].concat());
            }
            Some((false, _)) => {}
            Some((true, name)) => nested(top, &[below, name, b"/"].concat(), names, depth)?,
        }
    }
    Ok(())
}

/// True for an untracked file that a killed client left.
fn is_left_over(top: &Path, below: &[u8], line: &[u8], name: &[u8]) -> bool {
    // Compares the name before it is copied: there may be a million.
    line.starts_with(b"?") && is_litter_name(name) && is_litter(top, &[below, name].concat())
}

/// Parses `? name`, `? folder/` or `H 100644 <object> 0<tab>name` into the name and whether it is a
/// nested repository.
pub(crate) fn parse(line: &[u8]) -> Option<(bool, &[u8])> {
    let (letter, rest) = (line.first()?, line.get(2..)?);
    if *letter == b'?' {
        let folder = rest.strip_suffix(b"/");
        return Some((folder.is_some(), folder.unwrap_or(rest)));
    }
    let tab = rest.iter().position(|byte| *byte == b'\t')?;
    Some((rest.starts_with(b"160000 "), &rest[tab + 1..]))
}

fn nested(top: &Path, below: &[u8], names: &mut Vec<Vec<u8>>, depth: usize) -> Result<()> {
    let ours = ralph_core::stop::progress::is_ours(&String::from_utf8_lossy(below));
    if ours || depth == DEEPEST || !is_real_folder(top, below) {
        return Ok(());
    }
    // A `.git` that leads nowhere must not prevent the whole tree from having an id.
    of_repository(top, below, names, depth + 1)
        .or_else(|_| of_plain_folder(top, below, names, depth + 1))
}

/// False if the folder is gone, or if it or a parent has become a link: the target does not belong
/// to this tree.
fn is_real_folder(top: &Path, below: &[u8]) -> bool {
    let below = Path::new(OsStr::from_bytes(below));
    below.ancestors().filter(|part| !part.as_os_str().is_empty()).all(|part| {
        let path = top.join(part);
        // Without the trailing slash, which would follow the link.
        path.components().as_path().symlink_metadata().is_ok_and(|about| about.is_dir())
    })
}

/// Lists everything except `.git`, without following links. A folder that cannot be read, or has
/// disappeared, has no files to list.
pub(super) fn walk(top: &Path, below: &[u8], names: &mut Vec<Vec<u8>>) {
    let walk = WalkDir::new(top.join(OsStr::from_bytes(below))).min_depth(1).into_iter();
    for entry in walk.filter_entry(|entry| entry.file_name() != ".git").flatten() {
        if !entry.file_type().is_dir()
            && let Ok(path) = entry.path().strip_prefix(top)
        {
            names.push(path.as_os_str().as_bytes().to_vec());
        }
    }
}
