//! The files that a tree had when the loop began, and the rules by which git left others out.
//!
//! A file that is excluded from git later would leave the tree id without a trace. So the files of the
//! beginning stay a part of every later listing, and a change of the rules is seen.

use super::names::{self, Names};
use super::{Listing, TreeRoot};
use crate::{git, git::repository, project::trusted_read, store::atomic};
use anyhow::Result;
use ralph_core::text::hex::hex;
use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// More would be a tree of some million files.
const LARGEST: u64 = 256 << 20;

const MARK: &[u8] = b"ralph-begun-1\n";

/// What was noted at the beginning.
#[derive(Debug, Default)]
pub struct TreeAtStart {
    rules: String,
    names: Vec<u8>,
}

/// Notes the files of the tree and the rules, where nothing was noted before.
///
/// # Errors
/// When the tree cannot be listed, or the note not be written.
pub fn note(path: &Path, project_root: &Path) -> Result<()> {
    if path.exists() {
        return Ok(());
    }
    let place = TreeRoot::of(project_root)?;
    let names = names::gather(&place)?;
    let mut bytes = MARK.to_vec();
    bytes.extend(rules_of(&place, &names).as_bytes());
    for name in names.iter() {
        bytes.push(0);
        bytes.extend(name);
    }
    atomic::write(path, &bytes)
}

/// What was noted; nothing where that cannot be read.
pub fn load(path: &Path) -> Option<TreeAtStart> {
    let bytes = trusted_read::read_at_most(path, LARGEST).ok().flatten()?;
    let rest = bytes.strip_prefix(MARK)?;
    let end = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
    let rules = String::from_utf8(rest[..end].to_vec()).ok()?;
    Some(TreeAtStart { rules, names: rest[end..].to_vec() })
}

impl TreeAtStart {
    /// True if git leaves out other files now than at the beginning, as far as its rules tell.
    ///
    /// # Errors
    /// When the tree cannot be looked at.
    pub fn rules_changed(&self, project_root: &Path, now: &Listing) -> Result<bool> {
        let place = TreeRoot::of(project_root)?;
        let mut names = Names::default();
        now.iter().for_each(|(path, _)| names.push(b"", path));
        Ok(rules_of(&place, &names) != self.rules)
    }

    pub(super) fn add_to(&self, names: &mut Names) {
        let all = self.names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        all.for_each(|name| names.push(b"", name));
        names.sort();
    }
}

/// One value for the rules: the person's own, the repository's, and every `.gitignore` of the tree or
/// at the top of a folder that is left out as a whole.
fn rules_of(place: &TreeRoot, names: &Names) -> String {
    let mut hash = Sha256::new();
    let mut add = |name: &[u8], text: Option<Vec<u8>>| {
        let text = text.unwrap_or_default();
        for part in [name, &text] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    };
    add(b"person", repository::persons_excludes().map(String::into_bytes));
    if let Some(repository) = repository::around(&place.root).filter(|_| place.is_repository) {
        add(b"repository", repository.text("info/exclude").map(String::into_bytes));
        let mut asked = git::command(&place.root);
        let named = git::line(asked.args(["config", "--path", "--get", "core.excludesFile"]));
        let named = named.unwrap_or_default();
        let path = place.root.join(&named);
        add(named.as_bytes(), (!named.is_empty()).then(|| text(&path)).flatten());
    }
    let is_rules = |name: &&[u8]| name.rsplit(|byte| *byte == b'/').next() == Some(b".gitignore");
    for name in names.iter().filter(is_rules) {
        add(name, text(&place.root.join(OsStr::from_bytes(name))));
    }
    for name in left_out(place).split(|byte| *byte == 0) {
        let path = place.root.join(OsStr::from_bytes(name));
        // Rules may leave out the file that they stand in.
        let rules = match (name.ends_with(b"/"), is_rules(&name)) {
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

/// What git leaves out, a folder as a whole where all of it is.
fn left_out(place: &TreeRoot) -> Vec<u8> {
    if !place.is_repository {
        return Vec::new();
    }
    let mut command = git::command(&place.root);
    command.args(["ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"]);
    git::output(&mut command).unwrap_or_default()
}

fn text(path: &Path) -> Option<Vec<u8>> {
    crate::project::safe_read::text(path, 1 << 20).ok().flatten().map(String::into_bytes)
}
