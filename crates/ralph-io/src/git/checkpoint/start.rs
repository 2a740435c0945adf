//! The tree from which a loop started, and what has changed since, with the contents.

use super::work::{Filters, Maker, NOT_OURS, Objects, ScratchIndex};
use super::{REFS, START, check_loop_id, comparing};
use crate::{git, git::tree};
use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The most bytes of changed files that are read, in both forms together.
const MOST_BYTES: u64 = 256 << 20;

/// Keeps the repository's files as they are on a ref of the loop, so that no `git gc` takes them, and returns the id of
/// their tree; `None` if there is no repository. Filters that the repository may name do not run: starting a loop must
/// run nothing that nobody agreed to.
///
/// # Errors
/// If git fails.
pub fn keep_start(root: &Path, loop_id: &str, now: Timestamp) -> Result<Option<String>> {
    check_loop_id(loop_id)?;
    let Some(top) = tree::repository_root(root) else { return Ok(None) };
    let work = ScratchIndex::gather_with(&top, Objects::Kept, Filters::Off)?;
    let commit = work.commit(Maker::Ralph, &format!("Start of Ralph loop {loop_id}"), now)?;
    let mut update = git::command(&top);
    let name = format!("{REFS}{loop_id}/{START}");
    git::output(update.args(["update-ref", "--no-deref", &name, &commit]))
        .with_context(|| format!("could not write `{name}`"))?;
    Ok(Some(work.tree().to_owned()))
}

/// What a path holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    Plain,
    Executable,
    /// A symbolic link; the content is its target.
    Link,
    /// A submodule or a nested repository, without content.
    Submodule,
}

/// A file in one of its two forms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileForm {
    pub kind: FileKind,
    pub content: Vec<u8>,
}

/// A file that is not as it was at the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedSince {
    /// Relative to the top of the work tree.
    pub path: PathBuf,
    /// `None` if the file did not exist.
    pub start: Option<FileForm>,
    /// `None` if the file is gone.
    pub now: Option<FileForm>,
}

/// The files below `top` that differ from the tree `start`, with both forms.
///
/// # Errors
/// If git fails or leaves out a file, the tree is gone, a file cannot be read, or the files are too large.
pub fn changed_since_start(top: &Path, start: &str) -> Result<Vec<ChangedSince>> {
    let work = ScratchIndex::gather_with(top, Objects::Dropped, Filters::Off)
        .context("could not read the work tree")?;
    if let Some(path) = work.left_out()? {
        bail!("git could not add `{}`", path.display());
    }
    let mut command = work.command();
    comparing(&mut command, "diff");
    command.args(["--raw", "-z", "--no-renames", "--abbrev=64", "--cached", start, "--"]);
    let printed = git::output(command.args(NOT_OURS));
    let printed = printed.context("could not compare with the start of the loop")?;
    // `:100644 100755 <object> <object> M`, then the path.
    let mut fields = printed.split(|byte| *byte == 0);
    let mut rows = Vec::new();
    while let (Some(about), Some(path)) = (fields.next(), fields.next()) {
        let about = String::from_utf8_lossy(about);
        let words: Vec<&str> = about.trim_start_matches(':').split(' ').collect();
        let [before, after, object, ..] = words.as_slice() else { continue };
        let (before, after, object) = (kind(before), kind(after), (*object).to_owned());
        rows.push((PathBuf::from(OsStr::from_bytes(path)), before, after, object));
    }
    let wanted: Vec<&str> = rows
        .iter()
        .filter(|(_, before, ..)| before.is_some_and(|kind| kind != FileKind::Submodule))
        .map(|(.., object)| object.as_str())
        .collect();
    let mut contents = contents(&work, &wanted)?.into_iter();
    let mut left = MOST_BYTES;
    let mut found = Vec::new();
    for (path, before, after, _) in rows {
        let start = match before {
            Some(FileKind::Submodule) => {
                Some(FileForm { kind: FileKind::Submodule, content: Vec::new() })
            }
            Some(kind) => {
                let content = contents.next().context("git left out a file of the start")?;
                Some(FileForm { kind, content })
            }
            None => None,
        };
        let now = match after {
            Some(kind) => Some(content(&top.join(&path), kind)?),
            None => None,
        };
        let size = [&start, &now].into_iter().flatten().map(|form| form.content.len() as u64).sum();
        left = left.checked_sub(size).with_context(|| {
            format!("the changed files hold more than {} MiB", MOST_BYTES >> 20)
        })?;
        found.push(ChangedSince { path, start, now });
    }
    Ok(found)
}

fn kind(mode: &str) -> Option<FileKind> {
    match mode {
        "000000" => None,
        "120000" => Some(FileKind::Link),
        "160000" => Some(FileKind::Submodule),
        "100755" => Some(FileKind::Executable),
        _ => Some(FileKind::Plain),
    }
}

/// The files of the work tree `top` at the start, by its tree; only those with a readable name.
///
/// # Errors
/// If git fails.
pub fn files_of(top: &Path, tree: &str) -> Result<BTreeSet<String>> {
    let mut command = git::command(top);
    let listed = git::output(command.args(["ls-tree", "-r", "-z", "--name-only", tree]));
    let listed = listed.context("could not list the files of the start")?;
    let paths = listed.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    Ok(paths.filter_map(|path| String::from_utf8(path.to_vec()).ok()).collect())
}

/// A file as it is on the disk: git's own form may lack what a filter adds.
///
/// # Errors
/// If it cannot be read, or is neither a file nor a link.
pub fn present(path: &Path) -> Result<FileForm> {
    let about = path.symlink_metadata();
    let about = about.with_context(|| format!("could not read `{}`", path.display()))?;
    content(path, if about.is_symlink() { FileKind::Link } else { FileKind::Plain })
}

fn content(path: &Path, kind: FileKind) -> Result<FileForm> {
    let what = || format!("could not read `{}`", path.display());
    let content = match kind {
        FileKind::Submodule => Vec::new(),
        FileKind::Link => {
            std::fs::read_link(path).with_context(what)?.as_os_str().as_bytes().to_vec()
        }
        FileKind::Plain | FileKind::Executable => {
            let about = path.symlink_metadata().with_context(what)?;
            if !about.is_file() || about.len() > MOST_BYTES {
                bail!("`{}` is no file, or too large", path.display());
            }
            std::fs::read(path).with_context(what)?
        }
    };
    // The bit on the disk counts, also where git was told to ignore it.
    let kind = match kind {
        FileKind::Plain if is_executable(path) => FileKind::Executable,
        kind => kind,
    };
    Ok(FileForm { kind, content })
}

fn is_executable(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|about| about.permissions().mode() & 0o111 != 0)
}

/// The contents of these objects, in this order.
fn contents(work: &ScratchIndex, objects: &[&str]) -> Result<Vec<Vec<u8>>> {
    if objects.is_empty() {
        return Ok(Vec::new());
    }
    let mut list = Vec::new();
    for object in objects {
        writeln!(list, "{object}").context("could not list the objects")?;
    }
    let mut command = work.command();
    command.args(["cat-file", "--batch"]).stdin(work.input("wanted", &list)?);
    let printed = git::output(&mut command).context("could not read the files of the start")?;
    let mut rest = printed.as_slice();
    let mut found = Vec::with_capacity(objects.len());
    for object in objects {
        // `<object> blob <size>`, a line feed, the content, a line feed.
        let line = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let size = String::from_utf8_lossy(line);
        let size = size.strip_prefix(object).and_then(|about| about.strip_prefix(" blob "));
        let size: usize = size.and_then(|size| size.parse().ok()).with_context(|| {
            format!("the repository has lost `{object}`, a file of the loop's start")
        })?;
        rest = &rest[line.len() + 1..];
        let content = rest.get(..size).context("git ended in the middle of a file")?;
        found.push(content.to_vec());
        rest = rest.get(size + 1..).unwrap_or_default();
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::sandbox::Sandbox;

    fn form(kind: FileKind, content: &str) -> Option<FileForm> {
        Some(FileForm { kind, content: content.as_bytes().to_vec() })
    }

    #[test]
    fn the_start_survives_a_garbage_collection_and_each_change_has_both_forms() {
        let sandbox = Sandbox::new();
        sandbox.write("gone.txt", "a\n");
        sandbox.write("run.sh", "x");
        let start = keep_start(&sandbox.root(), "L", Timestamp::UNIX_EPOCH).unwrap().unwrap();
        sandbox.git("-c gc.pruneExpire=now gc --prune=now --quiet");
        std::fs::remove_file(sandbox.path("gone.txt")).unwrap();
        sandbox.write("new.txt", "n\n");
        let runs = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(sandbox.path("run.sh"), runs).unwrap();
        std::os::unix::fs::symlink("new.txt", sandbox.path("link")).unwrap();
        let found = changed_since_start(&sandbox.root(), &start).unwrap();
        let found: Vec<_> =
            found.iter().map(|one| (one.path.to_str().unwrap(), &one.start, &one.now)).collect();
        assert_eq!(
            found,
            [
                ("gone.txt", &form(FileKind::Plain, "a\n"), &None),
                ("link", &None, &form(FileKind::Link, "new.txt")),
                ("new.txt", &None, &form(FileKind::Plain, "n\n")),
                ("run.sh", &form(FileKind::Plain, "x"), &form(FileKind::Executable, "x")),
            ]
        );
    }

    #[test]
    fn a_start_that_is_lost_is_an_error() {
        let sandbox = Sandbox::new();
        let error = changed_since_start(&sandbox.root(), &"1".repeat(40)).unwrap_err();
        assert!(format!("{error:#}").contains("the start of the loop"), "{error:#}");
    }

    /// Without it, the file would count as unchanged.
    #[test]
    fn a_file_that_git_does_not_take_is_named() {
        let sandbox = Sandbox::new();
        let start = keep_start(&sandbox.root(), "L", Timestamp::UNIX_EPOCH).unwrap().unwrap();
        // The short name of `.git` on Windows.
        sandbox.write("git~1", "x");
        let error = changed_since_start(&sandbox.root(), &start).unwrap_err();
        assert!(format!("{error:#}").ends_with("git~1`"), "{error:#}");
    }
}
