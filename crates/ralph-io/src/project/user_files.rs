//! Handles files that belong to the user, not to Ralph: settings, skills, agents, installed
//! executables.
//!
//! They may be links into a dotfiles folder, so a write goes through the link and the link stays. A
//! file that changed between reading and writing is left alone: the client rewrites its settings
//! too.

use crate::store::atomic;
use anyhow::{Context, Result, bail};
use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// A text file as it was found.
#[derive(Debug, Clone)]
pub struct TextFile {
    /// The file that holds the text, with links followed.
    pub real: PathBuf,
    /// The text; `None` if the file does not exist.
    pub text: Option<String>,
}

/// Owner and permissions of a path that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// The permission bits.
    pub mode: u32,
    /// True if it belongs to the user who runs us.
    pub is_mine: bool,
    pub is_folder: bool,
    pub is_file: bool,
}

/// Reads a text file through links. A dangling link is an error, not an absent file.
pub fn find(path: &Path) -> Result<TextFile> {
    let shown = path.display();
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Ok(TextFile { real: path.to_owned(), text: None });
        }
        Err(error) => return Err(error).with_context(|| format!("could not inspect `{shown}`")),
        Ok(_) => {}
    }
    let real = fs::canonicalize(path).with_context(|| {
        format!("`{shown}` is a broken link; fix or remove the link, then try again")
    })?;
    if !real.is_file() {
        bail!("`{shown}` is not a regular file");
    }
    let text = fs::read_to_string(&real).with_context(|| format!("could not read `{shown}`"))?;
    Ok(TextFile { real, text: Some(text) })
}

/// Replaces the text of a found file atomically; refuses if the file has changed since.
pub fn replace(found: &TextFile, text: &str) -> Result<()> {
    unchanged(found)?;
    let mode = access(&found.real).map_or(0o644, |access| access.mode);
    atomic::write_with_mode(&found.real, text.as_bytes(), mode)
}

/// Removes a found file; refuses if the file has changed since.
pub fn remove(found: &TextFile) -> Result<()> {
    unchanged(found)?;
    fs::remove_file(&found.real)
        .with_context(|| format!("could not remove `{}`", found.real.display()))
}

/// Removes a file, a link, or a folder with everything in it. A link is removed, its target is not.
///
/// # Errors
/// If it belongs to another user, or the disk refuses.
pub fn remove_all(path: &Path) -> Result<()> {
    let shown = path.display();
    let found =
        fs::symlink_metadata(path).with_context(|| format!("could not inspect `{shown}`"))?;
    if found.uid() != rustix::process::geteuid().as_raw() {
        bail!("`{shown}` belongs to someone else; it was left unchanged");
    }
    atomic::remove(path).map(drop)
}

/// Copies a program to another place; false if the same program is already there.
///
/// The copy is renamed into place: a process that runs from there keeps its own file, and nobody
/// finds half a program.
pub fn copy_program(from: &Path, to: &Path) -> Result<bool> {
    let bytes = fs::read(from).with_context(|| format!("could not read `{}`", from.display()))?;
    let is_there = access(to).is_some_and(|access| access.is_file && access.mode & 0o111 != 0);
    if is_there && fs::read(to).is_ok_and(|there| there == bytes) {
        return Ok(false);
    }
    atomic::write_with_mode(to, &bytes, 0o755)?;
    Ok(true)
}

/// Removes a program that [`copy_program`] installed; false if there was none.
pub fn remove_program(path: &Path) -> Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).with_context(|| format!("could not remove `{}`", path.display())),
    }
}

/// Creates a folder and its parents; returns the ones that were missing, outermost first. One that another process
/// creates meanwhile is there like any other, and synced here too: the other may not have come that far.
pub fn make_folders(path: &Path, mode: u32) -> Result<Vec<PathBuf>> {
    let mut missing: Vec<PathBuf> =
        path.ancestors().take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
    missing.retain(|folder| !folder.as_os_str().is_empty());
    missing.reverse();
    for folder in &missing {
        let made = match DirBuilder::new().mode(mode).create(folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists || !folder.is_dir() => {
                Err(error)
            }
            _ => std::path::absolute(folder).and_then(|folder| atomic::sync_folder(&folder)),
        };
        made.with_context(|| format!("could not make the folder `{}`", folder.display()))?;
    }
    Ok(missing)
}

/// Removes a folder if it is empty; returns whether it did.
pub fn remove_empty_folder(path: &Path) -> bool {
    fs::remove_dir(path).is_ok()
}

/// Owner and permissions, with links followed; `None` if the path does not exist.
pub fn access(path: &Path) -> Option<Access> {
    let found = fs::metadata(path).ok()?;
    Some(Access {
        mode: found.mode() & 0o7777,
        is_mine: found.uid() == rustix::process::geteuid().as_raw(),
        is_folder: found.is_dir(),
        is_file: found.is_file(),
    })
}

/// Adds and removes permission bits of a path of ours.
///
/// # Errors
/// If it belongs to another user, or is a link, whose target was not checked.
pub fn change_mode(path: &Path, add: u32, take: u32) -> Result<()> {
    let shown = path.display();
    let found =
        fs::symlink_metadata(path).with_context(|| format!("could not inspect `{shown}`"))?;
    if found.is_symlink() || found.uid() != rustix::process::geteuid().as_raw() {
        bail!("`{shown}` is a link or belongs to someone else; it was left unchanged");
    }
    let mode = (found.mode() & 0o7777 | add) & !take;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
        .with_context(|| format!("could not change the permissions of `{shown}`"))
}

/// The names in a folder, sorted; empty if it cannot be listed.
pub fn names(folder: &Path) -> Vec<String> {
    let Ok(listing) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> =
        listing.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_unstable();
    names
}

/// The absolute path with links resolved; `None` if it does not exist.
pub fn real(path: &Path) -> Option<PathBuf> {
    fs::canonicalize(path).ok()
}

fn unchanged(found: &TextFile) -> Result<()> {
    let now = match fs::read_to_string(&found.real) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error).context("could not read it again before changing it"),
    };
    if now != found.text {
        bail!("`{}` was changed meanwhile; run the command again", found.real.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_file_that_changed_meanwhile_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        for (at_first, meanwhile) in [(Some("one"), "two"), (None, "appeared")] {
            let _ = fs::remove_file(&path);
            if let Some(text) = at_first {
                fs::write(&path, text).unwrap();
            }
            let found = find(&path).unwrap();
            fs::write(&path, meanwhile).unwrap();
            assert!(replace(&found, "ours").is_err());
            assert!(remove(&found).is_err());
            assert_eq!(fs::read_to_string(&path).unwrap(), meanwhile);
        }
    }

    #[test]
    fn links_in_a_circle_are_an_error_and_not_an_absent_file() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        symlink(&two, &one).unwrap();
        symlink(&one, &two).unwrap();
        assert!(find(&one).is_err());
    }

    #[test]
    fn a_failed_write_leaves_the_old_text_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("taken");
        fs::create_dir_all(place.join("inside")).unwrap();
        assert!(atomic::write_with_mode(&place, b"text", 0o600).is_err());
        assert_eq!(names(folder.path()), ["taken"]);
    }

    #[test]
    fn a_program_is_replaced_under_one_that_has_it_open() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        let place = folder.path().join("place");
        fs::write(&one, b"\x7fELF one").unwrap();
        fs::write(&two, b"\x7fELF two").unwrap();
        assert!(copy_program(&one, &place).unwrap());
        assert!(!copy_program(&one, &place).unwrap(), "it is there");
        assert_eq!(access(&place).unwrap().mode & 0o111, 0o111);
        let mut open = fs::File::open(&place).unwrap();
        assert!(copy_program(&two, &place).unwrap());
        let mut kept = Vec::new();
        std::io::Read::read_to_end(&mut open, &mut kept).unwrap();
        assert_eq!(kept, b"\x7fELF one");
        assert_eq!(fs::read(&place).unwrap(), b"\x7fELF two");
        assert!(remove_program(&place).unwrap());
        assert!(!remove_program(&place).unwrap());
        assert_eq!(names(folder.path()), ["one", "two"]);
    }

    #[test]
    fn only_the_folders_that_were_missing_are_reported() {
        let folder = tempfile::tempdir().unwrap();
        let (a, ab) = (folder.path().join("a"), folder.path().join("a/b"));
        assert_eq!(make_folders(&ab, 0o700).unwrap(), [a, ab.clone()]);
        assert_eq!(make_folders(&ab, 0o700).unwrap(), [] as [PathBuf; 0]);
    }
}
