//! The tree id: one value for the content of a whole working tree, taken before and after a check.
//!
//! Equal content has an equal id, before and after a commit, staging or a touch. Any changed byte,
//! executable bit, link target or set of files changes the id. Git only lists the files, and we
//! read the bytes ourselves: git would apply filters and the bits that hide changes
//! (`assume-unchanged`, `skip-worktree`), would trust an index that may be wrong about a file
//! written in the same moment, and would store every file that it checks.

mod at_start;
mod behind;
pub(crate) mod cache;
mod compare;
mod folder;
mod kept;
pub(crate) mod names;
mod read;
mod reader;
#[cfg(test)]
mod tests;

pub use at_start::{TreeAtStart, load as begun, note as note_begun};
pub(crate) use compare::readable;

use crate::git::tree;
use anyhow::{Context, Result};
use ralph_core::stop::progress;
use ralph_core::text::globs;
use ralph_core::text::hex::hex;
use sha2::{Digest, Sha256};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What to list.
#[derive(Debug, Clone, Copy)]
pub struct TreeScope<'a> {
    /// The project's folder; the repository that holds it is listed.
    pub project_root: &'a Path,
    /// Patterns to leave out, relative to the top of the repository as in a `.gitignore`. `!` and
    /// `[…]` have no special meaning.
    pub ignore: &'a [String],
    /// A file that remembers digests between calls; without it every file is read.
    pub cache: Option<&'a Path>,
    /// False to read every file whatever is remembered: a write through a memory mapping may leave
    /// a file's times unchanged.
    pub trusts_cache: bool,
    /// The files at the start of the loop; they are listed even if git ignores them now.
    pub begun: Option<&'a TreeAtStart>,
}

/// The content of a working tree: each path with its kind and the digest of its content.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// The project's path below the top of the tree; the paths of a criterion are relative to it.
    base: Vec<u8>,
    /// All paths in sorted order, in one allocation, because there may be a million.
    names: Vec<u8>,
    records: Vec<PathRecord>,
}

/// One path of a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PathRecord {
    /// Where the path ends in `names`; it begins where the previous one ends.
    end: usize,
    kind: PathKind,
    digest: [u8; 32],
}

/// What a path is. Folders are left out, because git does not keep them either.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PathKind {
    Plain,
    Executable,
    Link,
    Pipe,
    Socket,
    Device,
    /// Size and time stand for its content.
    Unreadable,
}

const KINDS: [(PathKind, &str); 7] = [
    (PathKind::Plain, "100644"),
    (PathKind::Executable, "100755"),
    (PathKind::Link, "120000"),
    (PathKind::Pipe, "pipe"),
    (PathKind::Socket, "socket"),
    (PathKind::Device, "device"),
    (PathKind::Unreadable, "unreadable"),
];

/// The top of the tree, and the part of it that is the project.
struct TreeRoot {
    root: PathBuf,
    base: Vec<u8>,
    is_repository: bool,
}

/// Lists the repository that holds the project, or the project's folder if there is no repository.
///
/// # Errors
/// If the folder is gone, or git fails; the error includes git's message.
pub fn listing(scope: &TreeScope<'_>) -> Result<Listing> {
    listing_with(scope, cache::MARGIN)
}

/// As [`listing`], with the age that a file must have before it is remembered.
fn listing_with(scope: &TreeScope<'_>, margin: i64) -> Result<Listing> {
    let place = TreeRoot::of(scope.project_root)?;
    let mut names = names::gather(&place)?;
    if let Some(begun) = scope.begun {
        begun.add_to(&mut names);
    }
    names.retain(|path| {
        let ours = progress::is_ours(&String::from_utf8_lossy(path));
        !ours && !scope.ignore.iter().any(|pattern| globs::ignores(pattern.as_bytes(), path))
    });
    let remembered = match scope.trusts_cache {
        true => cache::load(scope.cache, &place.root),
        false => cache::Remembered::default(),
    };
    let read = read::all(&place.root, &names, &remembered)
        .with_context(|| format!("could not read `{}`", place.root.display()))?;
    let settled_before = read.began.saturating_sub(margin);
    cache::keep(
        scope.cache,
        &place.root,
        &remembered,
        &cache::CacheUpdate { names: &names, read: &read, settled_before },
    );
    let mut listing = Listing { base: place.base, ..Listing::default() };
    for (path, found) in names.iter().zip(&read.found) {
        if let Some(found) = found {
            listing.push(path, found.kind, found.digest);
        }
    }
    Ok(listing)
}

impl TreeRoot {
    fn of(project_root: &Path) -> Result<TreeRoot> {
        let project = project_root
            .canonicalize()
            .with_context(|| format!("could not find `{}`", project_root.display()))?;
        let repository = tree::repository_root(&project);
        let is_repository = repository.is_some();
        let root = repository.unwrap_or_else(|| project.clone());
        let base = project.strip_prefix(&root).unwrap_or(Path::new(""));
        Ok(TreeRoot { base: base.as_os_str().as_bytes().to_owned(), root, is_repository })
    }
}

impl Listing {
    /// The id: 64 hexadecimal digits, computed over the records in path order. A path contains no
    /// zero byte and a digest has a fixed length, so different lists have different input.
    pub fn id(&self) -> String {
        let mut hash = Sha256::new();
        for (path, record) in self.iter() {
            hash.update(record.kind.word());
            hash.update(b" ");
            hash.update(path);
            hash.update(b"\0");
            hash.update(record.digest);
            hash.update(b"\0");
        }
        hex(hash.finalize())
    }

    /// The part that matches a criterion's `paths`: files, folders and globs, relative to the
    /// project.
    ///
    /// It may be empty, and the id of an empty listing never changes: check [`Listing::is_empty`].
    pub fn within(&self, paths: &[String]) -> Listing {
        let patterns: Vec<Vec<u8>> =
            paths.iter().filter_map(|path| globs::from_top(&self.base, path.as_bytes())).collect();
        let mut part = Listing { base: self.base.clone(), ..Listing::default() };
        for (path, record) in self.iter() {
            if patterns.iter().any(|pattern| globs::holds(pattern, path)) {
                part.push(path, record.kind, record.digest);
            }
        }
        part
    }

    /// True if it has a file of this path, relative to the project.
    pub fn has(&self, path: &str) -> bool {
        let path = globs::from_top(&self.base, path.as_bytes());
        path.is_some_and(|path| self.iter().any(|(at, _)| at == path))
    }

    /// The number of files.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// True if none of these files is one that could not be read.
    pub fn could_read(&self, paths: &[String]) -> bool {
        let mut unreadable = self.iter().filter(|(_, it)| it.kind == PathKind::Unreadable);
        !unreadable.any(|(path, _)| paths.contains(&compare::readable(path)))
    }

    /// Appends a path, which must sort after all others.
    fn push(&mut self, path: &[u8], kind: PathKind, digest: [u8; 32]) {
        self.names.extend_from_slice(path);
        self.records.push(PathRecord { end: self.names.len(), kind, digest });
    }

    fn iter(&self) -> impl Iterator<Item = (&[u8], &PathRecord)> {
        self.records.iter().scan(0, |start, record| {
            let path = &self.names[*start..record.end];
            *start = record.end;
            Some((path, record))
        })
    }
}

impl PathKind {
    fn word(self) -> &'static str {
        KINDS.iter().find(|(kind, _)| *kind == self).map_or("", |(_, word)| word)
    }

    fn number(self) -> u8 {
        KINDS.iter().position(|(kind, _)| *kind == self).map_or(u8::MAX, |at| at as u8)
    }

    fn from_number(number: u8) -> Option<PathKind> {
        KINDS.get(usize::from(number)).map(|(kind, _)| *kind)
    }
}
