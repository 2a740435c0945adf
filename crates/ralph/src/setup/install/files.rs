//! Decides about one skill or agent file: write it, update it, or leave it alone.

use super::record::Copied;
use super::scope::InstallScope;
use super::shipped::SHIPPED;
use anyhow::Result;
use ralph_core::text::hex;
use ralph_io::project::user_files::{self, TextFile};
use std::path::{Path, PathBuf};

/// A shipped file, and what is at its path.
#[derive(Debug)]
pub(crate) struct ShippedFile {
    /// The path below the configuration folder.
    pub(crate) name: &'static str,
    /// The full path.
    pub(crate) path: PathBuf,
    /// The text to write.
    pub(crate) text: String,
    /// Whether the path is reached through a symlink below the configuration folder, as after
    /// `stow`.
    pub(crate) linked: bool,
    /// The existing file, or why it cannot be read.
    pub(crate) found: Result<TextFile>,
    /// The text of the repository, which a user may have copied here.
    of_the_repository: &'static str,
}

/// What to do with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The file is missing.
    Write,
    /// An older text of Ralph's is there.
    Update,
    /// The current text is there.
    Current,
    /// The current text is there, through the user's symlink, which is the user's to remove.
    Linked,
    /// Another text is there.
    Keep,
}

/// Looks at the path of every shipped file.
pub(crate) fn look(scope: &InstallScope) -> Vec<ShippedFile> {
    let target = |file: &super::shipped::Shipped| ShippedFile {
        of_the_repository: file.text,
        ..at(&scope.base, file.path, file.without_hooks())
    };
    SHIPPED.iter().map(target).collect()
}

/// Looks at one path below a folder.
pub(super) fn at(base: &Path, name: &'static str, text: String) -> ShippedFile {
    let path = base.join(name);
    let found = user_files::find(&path);
    let straight = user_files::real(base).map(|base| base.join(name));
    let linked = found.as_ref().is_ok_and(|found| Some(&found.real) != straight.as_ref());
    ShippedFile { name, path, text, linked, found, of_the_repository: "" }
}

/// The files that an earlier version wrote and this one does not have. One that the user has edited
/// is the user's.
pub(crate) fn retired(known: &[Copied]) -> Vec<PathBuf> {
    let is_shipped = |path: &Path| SHIPPED.iter().any(|file| path.ends_with(file.path));
    let is_unedited = |path: &Path| {
        let text = user_files::find(path).ok().and_then(|found| found.text);
        text.is_some_and(|text| wrote(known, path, &text))
    };
    let paths = known.iter().map(|copied| &copied.path);
    paths.filter(|path| !is_shipped(path) && is_unedited(path)).cloned().collect()
}

/// Decides by content: a text that Ralph did not write belongs to the user, whatever it claims.
pub(crate) fn decide(target: &ShippedFile, known: &[Copied]) -> Fate {
    let Ok(found) = &target.found else { return Fate::Keep };
    let Some(text) = &found.text else { return Fate::Write };
    match (*text == target.text, target.linked) {
        (true, true) => Fate::Linked,
        (true, false) => Fate::Current,
        (false, false) if text == target.of_the_repository => Fate::Update,
        (false, _) if wrote(known, &target.path, text) => Fate::Update,
        (false, _) => Fate::Keep,
    }
}

/// Whether Ralph wrote this text at this path.
pub(crate) fn wrote(known: &[Copied], path: &Path, text: &str) -> bool {
    known.iter().any(|copied| copied.path == path && copied.digest == hex::sha256(text))
}

/// A skill is a folder; without its file the empty folder is useless.
pub(crate) fn remove_folder_of_skill(file: &Path, scope: &InstallScope) {
    let folder = file.parent().filter(|folder| folder.parent() != Some(&scope.base));
    if let Some(folder) = folder {
        user_files::remove_empty_folder(folder);
    }
}
