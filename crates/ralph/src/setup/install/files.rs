//! Decides about one skill or agent file: write it, update it, or leave it alone.

use super::record::Copied;
use super::scope::InstallScope;
use super::shipped::SHIPPED;
use anyhow::Result;
use ralph_core::protocol::registration::{HOOK_EXECUTABLES, Location, yaml_word};
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
    let target = |file: &super::shipped::Shipped| {
        at(&scope.base, file.path, located(file.text, scope.naming.location()))
    };
    SHIPPED.iter().map(target).collect()
}

/// Looks at one path below a folder.
pub(super) fn at(base: &Path, name: &'static str, text: String) -> ShippedFile {
    let path = base.join(name);
    let found = user_files::find(&path);
    let straight = user_files::real(base).map(|base| base.join(name));
    let linked = found.as_ref().is_ok_and(|found| Some(&found.real) != straight.as_ref());
    ShippedFile { name, path, text, linked, found }
}

/// Decides by content: a text that Ralph did not write belongs to the user, whatever it claims.
pub(crate) fn decide(target: &ShippedFile, known: &[Copied]) -> Fate {
    let Ok(found) = &target.found else { return Fate::Keep };
    let Some(text) = &found.text else { return Fate::Write };
    match (*text == target.text, target.linked) {
        (true, true) => Fate::Linked,
        (true, false) => Fate::Current,
        (false, _) if wrote(known, &target.path, text) => Fate::Update,
        (false, _) => Fate::Keep,
    }
}

/// Whether Ralph wrote this text at this path.
pub(crate) fn wrote(known: &[Copied], path: &Path, text: &str) -> bool {
    known.iter().any(|copied| copied.path == path && copied.digest == hex::sha256(text))
}

/// The text with its hooks where this installation has them.
///
/// The shipped skills name the executables bare, which needs them on `PATH`. An installation knows
/// their path, and a hook that is not found would be reported at every tool call.
fn located(text: &str, location: Location<'_>) -> String {
    let line = |line: &str| {
        for executable in HOOK_EXECUTABLES {
            let bare = format!("command: {executable}\n");
            if line.trim_start() == bare {
                let command = yaml_word(&location.command(executable));
                return line.replace(&bare, &format!("command: {command}\n"));
            }
        }
        line.to_owned()
    };
    text.split_inclusive('\n').map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::protocol::registration::skill_front_matter;

    #[test]
    fn an_installed_skill_points_at_the_installed_hooks() {
        let place = Location::Folder("/opt/a b/bin");
        let bare = skill_front_matter(Location::Path);
        assert_eq!(located(&bare, place), skill_front_matter(place));
        assert_eq!(located(&bare, Location::Path), bare);
    }

    #[test]
    fn a_shipped_skill_with_hooks_has_exactly_those_of_the_table() {
        for file in SHIPPED.iter().filter(|file| file.text.contains("\nhooks:")) {
            let front_matter = skill_front_matter(Location::Path);
            assert!(
                file.text.contains(&front_matter),
                "{} differs from\n{front_matter}",
                file.path
            );
        }
    }
}
