//! Puts one file into its other form.
//!
//! The new file is newer than what was built from the old one, and never has the second of the old
//! one's time: byte code counts as fresh if second and size are the same.

use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::fs::{self, File, Metadata, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tempfile::NamedTempFile;

/// The mode of a file that was not there.
const PLAIN: u32 = 0o644;

/// The form that a file is to have.
pub(super) enum Form<'a> {
    Absent,
    File { content: &'a [u8], is_executable: bool },
    Link(&'a Path),
}

/// Gives a file its other form. With `within`, the folder of the file must lie there, whatever links
/// lead to it.
pub(super) fn place(path: &Path, form: &Form<'_>, within: Option<&Path>) -> Result<()> {
    let what = || format!("could not replace `{}`", path.display());
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { bail!(what()) };
    if matches!(form, Form::Absent) && !folder.exists() {
        return Ok(());
    }
    let seconds = seconds(path);
    fs::create_dir_all(folder).with_context(what)?;
    let folder = folder.canonicalize().with_context(what)?;
    if within.is_some_and(|within| !folder.starts_with(within)) {
        bail!("{}: its folder is outside of the copy", what());
    }
    let path = folder.join(name);
    let old = path.symlink_metadata().ok();
    match form {
        Form::Absent => match old {
            Some(old) if !old.is_dir() => fs::remove_file(&path).with_context(what),
            _ => Ok(()),
        },
        Form::Link(target) => {
            remove(&path).and_then(|()| symlink(target, &path)).with_context(what)
        }
        Form::File { content, is_executable } => {
            if old.as_ref().is_some_and(Metadata::is_dir) {
                fs::remove_dir_all(&path).with_context(what)?;
            }
            let mode = mode(old.filter(Metadata::is_file), *is_executable);
            // In an overlay, a new name in the place of the old file costs half as much as the removal
            // of that file.
            let mut file = NamedTempFile::new_in(&folder).with_context(what)?;
            file.write_all(content).with_context(what)?;
            file.as_file().set_permissions(Permissions::from_mode(mode)).with_context(what)?;
            set_apart(file.as_file(), &seconds).with_context(what)?;
            file.persist(&path).map(drop).with_context(what)
        }
    }
}

fn remove(path: &Path) -> std::io::Result<()> {
    let gone = match path.symlink_metadata() {
        Ok(about) if about.is_dir() => fs::remove_dir_all(path),
        _ => fs::remove_file(path),
    };
    match gone {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        gone => gone,
    }
}

fn mode(old: Option<Metadata>, is_executable: bool) -> u32 {
    let plain = old.map_or(PLAIN, |old| old.mode()) & 0o666;
    if is_executable { plain | (plain & 0o444) >> 2 } else { plain }
}

/// The seconds that a new file must not have: those of the old one, also of the one that a link leads
/// to. A file that is gone was no younger than its folder.
fn seconds(path: &Path) -> BTreeSet<i64> {
    let mut all: BTreeSet<i64> = [path.symlink_metadata(), path.metadata()]
        .into_iter()
        .filter_map(|about| about.ok().map(|about| about.mtime()))
        .collect();
    if all.is_empty() {
        all.extend(path.parent().and_then(|folder| folder.metadata().ok()).map(|it| it.mtime()));
    }
    all
}

/// Gives a file the present time once its second is none of these. A time in the future would do as
/// well, but `make` warns of it, and `ninja` builds until it has passed.
fn set_apart(file: &File, seconds: &BTreeSet<i64>) -> std::io::Result<()> {
    if !seconds.contains(&file.metadata()?.mtime()) {
        return Ok(());
    }
    loop {
        let now = SystemTime::now();
        let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        if !seconds.contains(&i64::try_from(since.as_secs()).unwrap_or_default()) {
            return file.set_modified(now);
        }
        std::thread::sleep(Duration::from_secs(since.as_secs() + 1) - since);
    }
}

/// Sorts absent files first: a file may stand where another form needs a folder.
pub(super) fn in_order<T>(files: &mut [T], is_absent: impl Fn(&T) -> bool) {
    files.sort_by_key(|file| !is_absent(file));
}

/// The same path with another beginning; `None` if it does not begin so.
pub(super) fn moved(path: &Path, from: &Path, to: &Path) -> Option<PathBuf> {
    path.strip_prefix(from).ok().map(|rest| to.join(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fresh_file_is_replaced_by_one_of_a_later_second_that_is_not_in_the_future() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "old").unwrap();
        let old = path.metadata().unwrap().mtime();
        let form = Form::File { content: b"new", is_executable: true };
        place(&path, &form, None).unwrap();
        let about = path.metadata().unwrap();
        assert!(about.mtime() > old);
        assert!(about.modified().unwrap() <= SystemTime::now());
        assert_eq!(about.mode() & 0o111, 0o111);
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }

    /// Byte code of the file that is gone may still be there.
    #[test]
    fn a_file_that_was_just_removed_comes_back_in_a_later_second() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "old").unwrap();
        fs::remove_file(&path).unwrap();
        let removed = folder.path().metadata().unwrap().mtime();
        place(&path, &Form::File { content: b"old", is_executable: false }, None).unwrap();
        assert!(path.metadata().unwrap().mtime() > removed);
    }

    #[test]
    fn a_folder_in_the_place_of_an_absent_file_stays() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("a")).unwrap();
        place(&folder.path().join("a"), &Form::Absent, None).unwrap();
        place(&folder.path().join("none/b"), &Form::Absent, None).unwrap();
        assert!(folder.path().join("a").exists());
        assert!(!folder.path().join("none").exists());
    }
}
