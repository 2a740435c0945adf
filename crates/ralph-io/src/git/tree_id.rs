//! The tree id: one value for the content of a whole working tree, taken before and after a check.
//!
//! Equal content has an equal id, before and after a commit, staging or a touch. Any changed byte,
//! executable bit, link target or set of files changes the id. Git only lists the files, and we
//! read the bytes ourselves: git would apply filters and the bits that hide changes
//! (`assume-unchanged`, `skip-worktree`), would trust an index that may be wrong about a file
//! written in the same moment, and would store every file that it checks.

mod contents;
pub(crate) mod names;
pub(crate) mod stored;
#[cfg(test)]
mod tests;

use crate::git::{self, repository, tree};
use crate::project::{safe_read, trusted_read};
use crate::store::atomic;
use anyhow::{Context, Result};
use contents::PathKind;
use ralph_core::stop::progress;
use ralph_core::text::hex::hex;
use ralph_core::text::{globs, sanitize};
use sha2::{Digest, Sha256};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use stored::Remembered;

/// A larger note of the start would mean a tree of several million files.
const LARGEST_NOTE: u64 = 256 << 20;

const MARK_OF_NOTE: &[u8] = b"ralph-begun-1\n";

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
    /// Sorted by path.
    records: Vec<PathRecord>,
}

/// One path of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PathRecord {
    path: Vec<u8>,
    kind: PathKind,
    digest: [u8; 32],
}

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
    listing_with(scope, stored::MARGIN)
}

/// As [`listing`], with the age that a file must have before it is remembered.
fn listing_with(scope: &TreeScope<'_>, margin: i64) -> Result<Listing> {
    let TreeRoot { root, base, is_repository } = TreeRoot::find(scope.project_root)?;
    let mut names = names::gather(&root, &base, is_repository)?;
    if let Some(begun) = scope.begun {
        names.extend(begun.names().map(<[u8]>::to_vec));
        names::sort(&mut names);
    }
    names.retain(|path| {
        let ours = progress::is_ours(&String::from_utf8_lossy(path));
        !ours && !scope.ignore.iter().any(|pattern| globs::ignores(pattern.as_bytes(), path))
    });
    let cache = scope.cache.filter(|_| scope.trusts_cache);
    let remembered = cache.map(|cache| Remembered::load(cache, &root)).unwrap_or_default();
    let (found, began) = contents::read(&root, &names, &remembered)
        .with_context(|| format!("could not read `{}`", root.display()))?;
    if let Some(cache) = scope.cache {
        let found =
            names.iter().zip(&found).filter_map(|(name, found)| Some((name, found.as_ref()?)));
        remembered.renew(cache, &root, found, began.saturating_sub(margin));
    }
    let records = names.into_iter().zip(found).filter_map(|(path, found)| {
        found.map(|found| PathRecord { path, kind: found.kind, digest: found.digest })
    });
    Ok(Listing { base, records: records.collect() })
}

impl TreeRoot {
    fn find(project_root: &Path) -> Result<TreeRoot> {
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
        for PathRecord { path, kind, digest } in &self.records {
            hash.update(kind.word());
            hash.update(b" ");
            hash.update(path);
            hash.update(b"\0");
            hash.update(digest);
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
        let is_within =
            |one: &&PathRecord| patterns.iter().any(|pattern| globs::holds(pattern, &one.path));
        let records = self.records.iter().filter(is_within).cloned().collect();
        Listing { base: self.base.clone(), records }
    }

    /// True if it has a file of this path, relative to the project.
    pub fn has(&self, path: &str) -> bool {
        let path = globs::from_top(&self.base, path.as_bytes());
        path.is_some_and(|path| self.records.iter().any(|one| one.path == path))
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
        let mut unreadable = self.records.iter().filter(|it| it.kind == PathKind::Unreadable);
        !unreadable.any(|it| paths.contains(&readable(&it.path)))
    }

    /// The paths that were added, removed or changed, sorted and printable.
    pub fn changed_since(&self, earlier: &Listing) -> Vec<String> {
        let mut changed = Vec::new();
        let (mut now, mut then) =
            (self.records.iter().peekable(), earlier.records.iter().peekable());
        loop {
            let order = match (now.peek(), then.peek()) {
                (None, None) => return changed,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(new), Some(old)) => new.path.cmp(&old.path),
            };
            let new = now.next_if(|_| order != Ordering::Greater);
            let old = then.next_if(|_| order != Ordering::Less);
            changed.extend(new.or(old).filter(|_| new != old).map(|one| readable(&one.path)));
        }
    }
}

/// The files of a tree at the start of the loop, and git's ignore rules at that time.
///
/// A file that is ignored later would leave the tree id without a trace. So the files of the start
/// stay in every later listing, and a change of the rules is detected.
#[derive(Debug, Default)]
pub struct TreeAtStart {
    rules: String,
    /// Each name after a zero byte.
    names: Vec<u8>,
}

/// Notes the files of the tree and the ignore rules, unless they are noted already.
pub fn note_begun(path: &Path, project_root: &Path) -> Result<()> {
    if path.exists() {
        return Ok(());
    }
    let place = TreeRoot::find(project_root)?;
    let names = names::gather(&place.root, &place.base, place.is_repository)?;
    let rules = rules_of(&place, names.iter().map(Vec::as_slice));
    let mut bytes = [MARK_OF_NOTE, rules.as_bytes()].concat();
    for name in &names {
        bytes.push(0);
        bytes.extend(name);
    }
    atomic::write(path, &bytes)
}

/// Reads the note; `None` if it cannot be read.
pub fn begun(path: &Path) -> Option<TreeAtStart> {
    let bytes = trusted_read::read_at_most(path, LARGEST_NOTE).ok().flatten()?;
    let rest = bytes.strip_prefix(MARK_OF_NOTE)?;
    let end = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
    let rules = String::from_utf8(rest[..end].to_vec()).ok()?;
    Some(TreeAtStart { rules, names: rest[end..].to_vec() })
}

impl TreeAtStart {
    fn names(&self) -> impl Iterator<Item = &[u8]> {
        git::zero_ended(&self.names)
    }

    /// True if the tree had none of these files.
    pub fn has_none_of(&self, paths: &[String]) -> bool {
        let paths: BTreeSet<&[u8]> = paths.iter().map(String::as_bytes).collect();
        self.names().all(|name| !paths.contains(name))
    }

    /// True if the ignore rules differ from those at the start.
    pub fn rules_changed(&self, project_root: &Path, now: &Listing) -> Result<bool> {
        let place = TreeRoot::find(project_root)?;
        Ok(rules_of(&place, now.records.iter().map(|one| one.path.as_slice())) != self.rules)
    }
}

/// A digest of the rules: the user's, the repository's, and every `.gitignore` in the tree or at
/// the top of a folder that is ignored as a whole.
fn rules_of<'a>(place: &TreeRoot, names: impl Iterator<Item = &'a [u8]>) -> String {
    let mut hash = Sha256::new();
    let mut add = |name: &[u8], text: Option<Vec<u8>>| {
        let text = text.unwrap_or_default();
        for part in [name, &text] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    };
    let text = |path: &Path| safe_read::text(path, 1 << 20).ok().flatten().map(String::into_bytes);
    add(b"person", excludes_of_user(&place.root).and_then(|path| text(&path)));
    if let Some(repository) = repository::around(&place.root).filter(|_| place.is_repository) {
        add(b"repository", repository.text("info/exclude").map(String::into_bytes));
        let mut asked = git::command(&place.root);
        let named = git::line(asked.args(["config", "--path", "--get", "core.excludesFile"]));
        let named = named.unwrap_or_default();
        let path = place.root.join(&named);
        add(named.as_bytes(), (!named.is_empty()).then(|| text(&path)).flatten());
    }
    let is_rules = |name: &[u8]| name.rsplit(|byte| *byte == b'/').next() == Some(b".gitignore");
    for name in names.filter(|name| is_rules(name)) {
        add(name, text(&place.root.join(OsStr::from_bytes(name))));
    }
    let ignored = if place.is_repository { git::ignored(&place.root) } else { Ok(Vec::new()) };
    for name in git::zero_ended(&ignored.unwrap_or_default()) {
        let path = place.root.join(OsStr::from_bytes(name));
        // Rules may ignore the file that contains them.
        let rules = match (name.ends_with(b"/"), is_rules(name)) {
            (true, _) => text(&path.join(".gitignore")),
            (false, true) => text(&path),
            (false, false) => None,
        };
        if rules.is_some() {
            add(name, rules);
        }
    }
    hex(hash.finalize())
}

/// The file with the patterns that the user has git ignore everywhere.
fn excludes_of_user(root: &Path) -> Option<PathBuf> {
    let mut asked = git::command(root);
    asked.args(["config", "--global", "--path", "--get", "core.excludesFile"]);
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    git::line(&mut asked).ok().filter(|named| !named.is_empty()).map(PathBuf::from).or_else(|| {
        let config = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")));
        Some(config?.join("git/ignore"))
    })
}

/// Makes a path printable: terminal control characters are escaped, and bytes that are not UTF-8
/// replaced.
pub(crate) fn readable(path: &[u8]) -> String {
    let mut shown = String::with_capacity(path.len());
    for letter in String::from_utf8_lossy(path).chars() {
        if sanitize::acts(letter) {
            shown.extend(letter.escape_default());
        } else {
            shown.push(letter);
        }
    }
    shown
}
