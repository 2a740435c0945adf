//! The files of a tree at the start of the loop, and git's ignore rules at that time.
//!
//! A file that is ignored later would leave the tree id without a trace. So the files of the start
//! stay in every later listing, and a change of the rules is detected.

use super::names::{self, Names};
use super::{Listing, TreeRoot};
use crate::{git, git::repository, project::trusted_read, store::atomic};
use anyhow::Result;
use ralph_core::text::hex::hex;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A larger note would mean a tree of several million files.
const LARGEST: u64 = 256 << 20;

const MARK: &[u8] = b"ralph-begun-1\n";

/// What was noted at the start.
#[derive(Debug, Default)]
pub struct TreeAtStart {
    rules: String,
    names: Vec<u8>,
}

/// Notes the files of the tree and the ignore rules, unless they are noted already.
///
/// # Errors
/// If the tree cannot be listed, or the note cannot be written.
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

/// Reads the note; `None` if it cannot be read.
pub fn load(path: &Path) -> Option<TreeAtStart> {
    let bytes = trusted_read::read_at_most(path, LARGEST).ok().flatten()?;
    let rest = bytes.strip_prefix(MARK)?;
    let end = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
    let rules = String::from_utf8(rest[..end].to_vec()).ok()?;
    Some(TreeAtStart { rules, names: rest[end..].to_vec() })
}

impl TreeAtStart {
    /// True if the tree had none of these files.
    pub fn has_none_of(&self, paths: &[String]) -> bool {
        let paths: BTreeSet<&[u8]> = paths.iter().map(String::as_bytes).collect();
        self.names.split(|byte| *byte == 0).all(|name| !paths.contains(name))
    }

    /// True if the ignore rules differ from those at the start.
    ///
    /// # Errors
    /// If the tree cannot be read.
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

/// A digest of the rules: the user's, the repository's, and every `.gitignore` in the tree or at
/// the top of a folder that is ignored as a whole.
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
        // Rules may ignore the file that contains them.
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

/// What git ignores; a fully ignored folder is one entry.
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
