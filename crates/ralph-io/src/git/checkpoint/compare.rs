//! Compares the present working tree with a checkpoint or with the tree from which a loop started,
//! without leaving anything behind, and restores a checkpoint's files.
//!
//! Before a restore the present state is kept as a checkpoint, so nothing is lost: a file is
//! overwritten or removed only if that checkpoint contains it. Git's own two-tree merge does the
//! rest; it never writes through a link, and it does all or nothing.

use super::work::{Filters, Maker, NOT_OURS, Objects, ScratchIndex};
use super::{Checkpoint, NONE, REFS, START, check_loop_id, comparing, keep};
use crate::git;
use crate::git::scratch;
use crate::git::tree;
use crate::git::tree_id::readable;
use crate::process::clock;
use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use walkdir::{DirEntry, WalkDir};

/// The diff from the checkpoint to the present working tree, as git prints it.
pub fn diff(root: &Path, from: &Checkpoint) -> Result<Vec<u8>> {
    differences(&now(root)?, &["--patch"], &from.commit, &NOT_OURS).with_context(|| compared(from))
}

/// The diff of these paths from a tree to the present working tree, as git prints it.
pub fn diff_since(root: &Path, tree: &str, paths: &[String]) -> Result<Vec<u8>> {
    let paths: Vec<String> = paths.iter().map(|path| format!(":(top,literal){path}")).collect();
    differences(&now(root)?, &["--patch"], tree, &paths).context(NOT_COMPARED)
}

/// The files that were added, removed or changed since the checkpoint, sorted and printable.
pub fn changed(root: &Path, from: &Checkpoint) -> Result<Vec<String>> {
    let options = ["--name-only", "--no-renames", "-z"];
    let printed = differences(&now(root)?, &options, &from.commit, &NOT_OURS);
    Ok(git::zero_ended(&printed.with_context(|| compared(from))?).map(readable).collect())
}

/// A changed file: its path, and its added and removed lines, unless it is binary.
pub type ChangedFile = (String, Option<(u64, u64)>);

/// The files that differ between a tree and a checkpoint's commit, or the present working tree.
pub fn changed_files(root: &Path, tree: &str, to: Option<&str>) -> Result<Vec<ChangedFile>> {
    let top = top(root)?;
    let options = ["--numstat", "-z", "--no-renames"];
    let printed = match to {
        Some(commit) => {
            let mut command = git::command(&top);
            comparing(&mut command, "diff");
            git::output(command.args(options).args([tree, commit, "--"]).args(NOT_OURS))
        }
        None => differences(&now_unfiltered(&top)?, &options, tree, &NOT_OURS),
    };
    Ok(git::zero_ended(&printed.context(NOT_COMPARED)?).filter_map(changed_file).collect())
}

/// What `git diff` prints about the way from a tree or commit to the gathered files.
fn differences(
    work: &ScratchIndex,
    options: &[&str],
    from: &str,
    paths: &[impl AsRef<OsStr>],
) -> Result<Vec<u8>> {
    let mut command = work.command();
    comparing(&mut command, "diff");
    git::output(command.args(options).args(["--cached", from, "--"]).args(paths))
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
    let rows = git::zero_ended(&printed).map(String::from_utf8_lossy);
    let fields = |row: std::borrow::Cow<'_, str>| {
        row.split_once('\t').map(|(id, subject)| (id.to_owned(), subject.to_owned()))
    };
    Ok(rows.filter_map(fields).collect())
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

fn top(root: &Path) -> Result<PathBuf> {
    tree::repository_root(root)
        .with_context(|| format!("`{}` is not in a repository", root.display()))
}

fn is_ours(path: &[u8]) -> bool {
    ralph_core::stop::progress::is_ours(&String::from_utf8_lossy(path))
}

fn now(root: &Path) -> Result<ScratchIndex> {
    ScratchIndex::gather(&top(root)?, Objects::Dropped, Filters::Run)
        .context("could not read the work tree")
}

fn now_unfiltered(top: &Path) -> Result<ScratchIndex> {
    ScratchIndex::gather(top, Objects::Dropped, Filters::Off)
        .context("could not read the work tree")
}

fn compared(from: &Checkpoint) -> String {
    format!("could not compare with checkpoint {}", from.number)
}

const NOT_COMPARED: &str = "could not compare with the start of the loop";

/// The most bytes of changed files that are read, in both forms together.
const MOST_BYTES: u64 = 256 << 20;

/// Keeps the repository's files as they are on a ref of the loop, so that no `git gc` takes them, and returns the id of
/// their tree; `None` if there is no repository. Filters that the repository may name do not run: starting a loop must
/// run nothing that nobody agreed to.
pub fn keep_start(root: &Path, loop_id: &str, now: Timestamp) -> Result<Option<String>> {
    check_loop_id(loop_id)?;
    let Some(top) = tree::repository_root(root) else { return Ok(None) };
    let work = ScratchIndex::gather(&top, Objects::Kept, Filters::Off)?;
    let commit = work.commit(Maker::Ralph, &format!("Start of Ralph loop {loop_id}"), now)?;
    git::set_ref(&top, &format!("{REFS}{loop_id}/{START}"), &commit)?;
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
    let work = now_unfiltered(top)?;
    if let Some(path) = work.left_out()? {
        bail!("git could not add `{}`", path.display());
    }
    let options = ["--raw", "-z", "--no-renames", "--abbrev=64"];
    let printed = differences(&work, &options, start, &NOT_OURS).context(NOT_COMPARED)?;
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
pub fn files_of(top: &Path, tree: &str) -> Result<BTreeSet<String>> {
    let mut command = git::command(top);
    let listed = git::output(command.args(["ls-tree", "-r", "-z", "--name-only", tree]));
    let listed = listed.context("could not list the files of the start")?;
    Ok(git::zero_ended(&listed).filter_map(|path| String::from_utf8(path.to_vec()).ok()).collect())
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
    let list = scratch::input(objects.join("\n").as_bytes())?;
    let mut command = work.command();
    command.args(["cat-file", "--batch"]).stdin(list);
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

/// The result of a restore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The checkpoint of the state before; restoring it undoes the restore.
    pub before: Checkpoint,
    /// Files that have their old content again.
    pub written: Vec<String>,
    /// Files that did not exist then and were removed.
    pub removed: Vec<String>,
    /// Files that could not be restored: an ignored file stands in their place, or they are nested
    /// repositories.
    pub left: Vec<String>,
}

/// A path that differs between now and the checkpoint.
struct RestoreChange<'a> {
    path: &'a [u8],
    /// Mode and object in the checkpoint; `None` if the file did not exist then.
    then: Option<(&'a [u8], &'a [u8])>,
    /// True if the file exists now.
    is_now: bool,
    is_repository: bool,
}

/// Makes the working tree what it was at the checkpoint. Ignored files, our own folders, the user's
/// index and all branches stay as they are.
pub fn restore(root: &Path, checkpoint: &Checkpoint) -> Result<Restored> {
    let number = checkpoint.number;
    let work = ScratchIndex::gather(&top(root)?, Objects::Kept, Filters::Run)
        .context("could not save the present state; nothing was restored")?;
    let about = format!("before restoring {number}");
    let before = keep(&work, checkpoint.loop_id(), &about, clock::now())
        .context("could not save the present state; nothing was restored")?;
    let listed = ways_back(&work, checkpoint)?;
    let changes: Vec<RestoreChange<'_>> = parse(&listed);
    let held: BTreeSet<&[u8]> =
        changes.iter().filter(|change| change.is_now).map(|change| change.path).collect();
    let (done, left): (Vec<_>, Vec<_>) = changes
        .iter()
        .partition(|change| !change.is_repository && has_room(work.root(), change, &held));
    if !done.is_empty() {
        carry_out(&work, &done).with_context(|| {
            format!("could not restore checkpoint {number}; nothing was changed")
        })?;
    }
    let (written, removed): (Vec<_>, Vec<_>) =
        done.iter().partition(|change| change.then.is_some());
    Ok(Restored { before, written: paths(&written), removed: paths(&removed), left: paths(&left) })
}

fn paths(changes: &[&RestoreChange<'_>]) -> Vec<String> {
    changes.iter().map(|change| readable(change.path)).collect()
}

fn ways_back(work: &ScratchIndex, checkpoint: &Checkpoint) -> Result<Vec<u8>> {
    let mut command = work.command();
    comparing(&mut command, "diff-tree");
    command.args(["-r", "-z", "--raw", "--no-renames", "--no-abbrev", work.tree()]);
    git::output(command.arg(&checkpoint.tree))
        .with_context(|| format!("could not read checkpoint {}", checkpoint.number))
}

/// Parses `:<mode now> <mode then> <object now> <object then> <letter>`, zero byte, path, zero
/// byte.
fn parse(listed: &[u8]) -> Vec<RestoreChange<'_>> {
    let mut parts = listed.split(|byte| *byte == 0);
    let mut changes = Vec::new();
    while let (Some(about), Some(path)) = (parts.next(), parts.next()) {
        let fields: Vec<&[u8]> = about.split(|byte| *byte == b' ').collect();
        let [now, then, _, object, _] = fields[..] else { continue };
        if is_ours(path) {
            continue;
        }
        changes.push(RestoreChange {
            path,
            then: (then != b"000000").then_some((then, object)),
            is_now: now != b":000000",
            is_repository: now == b":160000" || then == b"160000",
        });
    }
    changes
}

/// True unless the file's place is taken by something that the checkpoint of the present state does
/// not contain: an ignored file, or a link or folder with ignored content.
fn has_room(root: &Path, change: &RestoreChange<'_>, held: &BTreeSet<&[u8]>) -> bool {
    if change.then.is_none() || change.is_now {
        return true;
    }
    let path = Path::new(OsStr::from_bytes(change.path));
    let above: Vec<&Path> = path.ancestors().skip(1).collect();
    for part in above.into_iter().rev() {
        match root.join(part).symlink_metadata() {
            Ok(about) if about.is_dir() => {}
            // Git removes it first if the checkpoint contains it; where a link leads does not
            // matter.
            Ok(_) => return held.contains(part.as_os_str().as_bytes()),
            Err(_) => return true,
        }
    }
    is_held(root, path, held)
}

/// True if the path is free, or holds only what the checkpoint of the present state contains.
fn is_held(root: &Path, path: &Path, held: &BTreeSet<&[u8]>) -> bool {
    let place = root.join(path);
    let is_known = |entry: DirEntry| {
        let path = entry.path().strip_prefix(root).unwrap_or(entry.path());
        entry.file_type().is_dir() || held.contains(path.as_os_str().as_bytes())
    };
    place.symlink_metadata().is_err()
        || WalkDir::new(place)
            .follow_root_links(false)
            .into_iter()
            .all(|entry| entry.is_ok_and(is_known))
}

/// Builds the wanted tree, and lets git move the working tree from the present one to it.
fn carry_out(work: &ScratchIndex, changes: &[&RestoreChange<'_>]) -> Result<()> {
    let git = || work.command_with("wanted");
    git::output(git().args(["read-tree", work.tree()]))?;
    let mut lines: Vec<u8> = Vec::new();
    // Removals first: a folder may have to replace a file.
    for change in changes.iter().filter(|change| change.then.is_none()) {
        lines.extend([b"0 ", NONE.as_bytes(), b"\t", change.path, b"\0"].concat());
    }
    for change in changes {
        if let Some((mode, object)) = change.then {
            lines.extend([mode, b" ", object, b"\t", change.path, b"\0"].concat());
        }
    }
    let mut update = git();
    update.args(["update-index", "-z", "--index-info"]);
    git::output(update.stdin(scratch::input(&lines)?))?;
    let wanted = git::line(git().args(["write-tree", "--missing-ok"]))?;
    // Without the sparse patterns, which would remove files outside of them.
    let mut merge = work.command();
    merge.args(["read-tree", "-m", "-u", "--no-sparse-checkout", work.tree(), &wanted]);
    git::output(&mut merge).map(drop)
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
