//! Puts files into another form, and runs a command on a copy of the project at another path, where no overlay can be
//! made.
//!
//! `std` copies a file by sharing its blocks where the file system can. What the command writes outside
//! of the copy reaches the machine.

use super::opened::Watches;
use super::private::PrivateFolder;
use super::{ElsewhereRun, OtherFiles, OtherForm};
use crate::process::command::{self, CommandOrder, CommandRequest};
use crate::process::portable;
use anyhow::{Context, Result, bail};
use ralph_core::state::Bounds;
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, Metadata, Permissions};
use std::io::ErrorKind::{self, NotFound, PermissionDenied};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tempfile::NamedTempFile;
use walkdir::WalkDir;

/// How much is copied byte by byte.
const MOST: u64 = 2 << 30;

/// Why no copy of `root` can be made; `None` if it can.
pub(super) fn obstacle(root: &Path, store: &Path) -> Option<String> {
    if portable::no_copy() {
        return Some("a test forbids copies".to_owned());
    }
    let mut left = MOST;
    match measure(root, &mut left) {
        Err(error) => Some(format!("`{}` cannot be read: {error}", root.display())),
        Ok(sample) if left == 0 && !sample.as_deref().is_some_and(|file| shares(file, store)) => {
            let limit = MOST >> 30;
            Some(format!("`{}` has more than {limit} GB to copy", root.display()))
        }
        Ok(_) => None,
    }
}

/// Counts the bytes of all files down, until none are left; returns the path of one file.
fn measure(root: &Path, left: &mut u64) -> std::io::Result<Option<PathBuf>> {
    let mut sample = None;
    for entry in WalkDir::new(root) {
        let entry = match entry {
            // One below that cannot be read has nothing to copy.
            Err(error) if error.depth() > 0 => continue,
            entry => entry?,
        };
        if entry.file_type().is_file() {
            let length = entry.metadata().map_or(0, |about| about.len());
            *left = left.saturating_sub(length);
            sample = sample.or_else(|| (length > 0).then(|| entry.into_path()));
        }
        if *left == 0 {
            break;
        }
    }
    Ok(sample)
}

/// True if a copy of this file in `store` shares its blocks.
fn shares(file: &Path, store: &Path) -> bool {
    let share = || -> Result<()> {
        let folder = PrivateFolder::make(store)?;
        let from = File::open(file)?;
        #[cfg(target_os = "linux")]
        rustix::fs::ioctl_ficlone(File::create(folder.path().join("shared"))?, from)?;
        #[cfg(target_os = "macos")]
        {
            use rustix::fs::{CloneFlags, fclonefileat};
            fclonefileat(from, File::open(folder.path())?, "shared", CloneFlags::empty())?;
        }
        Ok(())
    };
    share().is_ok()
}

/// Runs a command on a copy of `root` with other files.
pub(super) fn run(
    order: &CommandOrder<'_>,
    files: &OtherFiles,
    store: &Path,
    root: &Path,
) -> Result<ElsewhereRun> {
    let folder = PrivateFolder::make(store)?;
    let paths = Paths {
        root: root
            .canonicalize()
            .with_context(|| format!("could not find `{}`", root.display()))?,
        given: root.to_owned(),
        copy: folder.path().join("copy"),
    };
    copy_folder(&paths.root, &paths.copy, &paths, folder.store()).context("could not copy")?;
    let mut replaced: Vec<_> = files.replaced.iter().collect();
    in_order(&mut replaced, |file| file.form == OtherForm::Absent);
    for file in replaced {
        place(&paths.to_copy(&file.path)?, &file.form, Some(&paths.copy), false)?;
    }
    let to_watch = files.to_watch();
    let to_watch = to_watch.iter().map(|path| paths.to_copy(path)).collect::<Result<Vec<_>>>()?;
    let watches = Watches::begin(&to_watch);
    let bounds = order.bounds.map(|bounds| paths.bounds(bounds));
    let command = paths.in_text(order.command.as_bytes());
    let moved = CommandOrder {
        command: &String::from_utf8_lossy(&command),
        folder: &paths.to_copy(order.folder)?,
        bounds: bounds.as_ref(),
        ..*order
    };
    let mut request = CommandRequest::from_order(&moved);
    request.variables = paths.variables();
    let mut run = command::run_request(&moved, &request)?;
    let opened = watches.and_then(Watches::opened);
    let back = |text: &str| text.replace(&*paths.copy.to_string_lossy(), &root.to_string_lossy());
    run.tail = back(&run.tail);
    run.error = back(&run.error);
    run.failing = run.failing.iter().map(|name| back(name)).collect();
    let opened = opened.map(|which| files.named(&which));
    Ok(ElsewhereRun { run, opened, is_read_outside: true })
}

/// Copies a file with its mode and times. One that cannot be read becomes an empty one, which cannot be
/// read either.
pub(super) fn copy_file(from: &Path, to: &Path, about: &Metadata) -> std::io::Result<()> {
    match fs::copy(from, to) {
        Err(error) if error.kind() == PermissionDenied => {
            File::create(to)?.set_permissions(Permissions::from_mode(about.mode()))?;
        }
        copied => drop(copied?),
    }
    keep_times(to, about)
}

fn keep_times(to: &Path, about: &Metadata) -> std::io::Result<()> {
    let time = |tv_sec, nanoseconds: i64| Timespec { tv_sec, tv_nsec: nanoseconds as _ };
    let times = Timestamps {
        last_access: time(about.atime(), about.atime_nsec()),
        last_modification: time(about.mtime(), about.mtime_nsec()),
    };
    Ok(utimensat(CWD, to, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}

/// Copies a folder but for `store`. Sockets and pipes are left out.
fn copy_folder(root: &Path, copy: &Path, paths: &Paths, store: &Path) -> std::io::Result<()> {
    let mut folders = Vec::new();
    for entry in WalkDir::new(root).into_iter().filter_entry(|entry| entry.path() != store) {
        let entry = match entry.map_err(std::io::Error::from) {
            // Closed, or gone by now.
            Err(error) if [PermissionDenied, NotFound].contains(&error.kind()) => continue,
            entry => entry?,
        };
        let Ok(about) = entry.metadata() else { continue };
        let from = entry.path();
        let to = copy.join(from.strip_prefix(root).unwrap_or(from));
        if about.is_symlink() {
            symlink(paths.link(&fs::read_link(from)?), &to)?;
            keep_times(&to, &about)?;
        } else if about.is_dir() {
            DirBuilder::new().mode(0o700).create(&to)?;
            folders.push((to, about));
        } else if about.is_file() && !leads_out(from, &paths.root) {
            copy_file(from, &to, &about)?;
        }
    }
    // Once they are filled.
    folders.iter().rev().try_for_each(|(to, about)| {
        fs::set_permissions(to, Permissions::from_mode(about.mode() & 0o7777))?;
        keep_times(to, about)
    })
}

/// True for the file by which a work tree or a submodule names a git folder outside of the copy: git
/// would write there.
fn leads_out(file: &Path, root: &Path) -> bool {
    if file.file_name() != Some(OsStr::new(".git")) {
        return false;
    }
    let text = fs::read(file).unwrap_or_default();
    let named = text.strip_prefix(b"gitdir: ").unwrap_or_default().trim_ascii_end();
    let named = Path::new(OsStr::from_bytes(named));
    let real = file.parent().and_then(|folder| folder.join(named).canonicalize().ok());
    named.is_absolute() || !real.is_some_and(|real| real.starts_with(root))
}

/// The project and its copy.
struct Paths {
    root: PathBuf,
    /// The root as the caller names it, perhaps by a link.
    given: PathBuf,
    copy: PathBuf,
}

impl Paths {
    fn to_copy(&self, path: &Path) -> Result<PathBuf> {
        match self.find(path) {
            Some(copied) => Ok(copied),
            None => bail!("`{}` is not in the copy of `{}`", path.display(), self.root.display()),
        }
    }

    fn find(&self, path: &Path) -> Option<PathBuf> {
        moved(path, &self.root, &self.copy)
            .or_else(|| moved(path, &self.given, &self.copy))
            .or_else(|| moved(&path.canonicalize().ok()?, &self.root, &self.copy))
    }

    /// The target of a link. An absolute one into the project leads into the copy.
    fn link(&self, target: &Path) -> PathBuf {
        let copied = moved(target, &self.root, &self.copy);
        copied
            .or_else(|| moved(target, &self.given, &self.copy))
            .unwrap_or_else(|| target.to_owned())
    }

    fn bounds(&self, bounds: &Bounds) -> Bounds {
        let mapped = |paths: &[String]| {
            let copied = |path: &String| match self.find(Path::new(path)) {
                Some(copied) => copied.to_string_lossy().into_owned(),
                None => path.clone(),
            };
            paths.iter().map(copied).collect()
        };
        Bounds {
            write: mapped(&bounds.write),
            read_deny: mapped(&bounds.read_deny),
            write_deny: mapped(&bounds.write_deny),
            sockets: mapped(&bounds.sockets),
            ..bounds.clone()
        }
    }

    /// The variables that name the project, and what they are to be instead.
    fn variables(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let changed = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            let other = self.in_text(value.as_bytes());
            (other != value.as_bytes()).then(|| (name.as_bytes().to_vec(), other))
        };
        std::env::vars_os().filter_map(changed).collect()
    }

    /// A text that names the copy where it named the project.
    fn in_text(&self, text: &[u8]) -> Vec<u8> {
        let real = renamed(text, &self.root, &self.copy);
        if self.given == self.root { real } else { renamed(&real, &self.given, &self.copy) }
    }
}

/// Replaces a path wherever it stands as a whole or as the beginning of another.
fn renamed(text: &[u8], from: &Path, to: &Path) -> Vec<u8> {
    let (from, to) = (from.as_os_str().as_bytes(), to.as_os_str().as_bytes());
    let goes_on = |byte: Option<&u8>| {
        byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(byte))
    };
    let mut result = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let is_path = text[at..].starts_with(from)
            && !goes_on(text[..at].last())
            && !goes_on(text.get(at + from.len()));
        match is_path {
            true => result.extend_from_slice(to),
            false => result.push(text[at]),
        }
        at += if is_path { from.len() } else { 1 };
    }
    result
}

// Puts one file into its other form.
//
// The new file is newer than what was built from the old one, and never has the second of the old
// one's time: byte code counts as fresh if second and size are the same.

/// The mode of a file that was not there.
const PLAIN: u32 = 0o644;

/// Gives a file its other form. With `within`, the folder of the file must lie there, whatever links
/// lead to it. With `at_once`, it may be up to a second ahead.
pub(super) fn place(
    path: &Path,
    form: &OtherForm,
    within: Option<&Path>,
    at_once: bool,
) -> Result<()> {
    let what = || format!("could not replace `{}`", path.display());
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { bail!(what()) };
    if matches!(form, OtherForm::Absent) && !folder.exists() {
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
        OtherForm::Absent => match old {
            Some(old) if !old.is_dir() => fs::remove_file(&path).with_context(what),
            _ => Ok(()),
        },
        OtherForm::Link(target) => {
            remove(&path).and_then(|()| symlink(target, &path)).with_context(what)
        }
        OtherForm::File { content, is_executable } => {
            if old.as_ref().is_some_and(Metadata::is_dir) {
                fs::remove_dir_all(&path).with_context(what)?;
            }
            let mode = mode(old.filter(Metadata::is_file), *is_executable);
            // In an overlay, a new name in the place of the old file costs half as much as the removal
            // of that file.
            let mut file = NamedTempFile::new_in(&folder).with_context(what)?;
            file.write_all(content).with_context(what)?;
            file.as_file().set_permissions(Permissions::from_mode(mode)).with_context(what)?;
            set_apart(file.as_file(), &seconds, at_once).with_context(what)?;
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
fn set_apart(file: &File, seconds: &BTreeSet<i64>, at_once: bool) -> std::io::Result<()> {
    if !seconds.contains(&file.metadata()?.mtime()) {
        return Ok(());
    }
    loop {
        let now = SystemTime::now();
        let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        if !seconds.contains(&i64::try_from(since.as_secs()).unwrap_or_default()) {
            return file.set_modified(now);
        }
        let next = Duration::from_secs(since.as_secs() + 1);
        if at_once {
            return file.set_modified(SystemTime::UNIX_EPOCH + next);
        }
        std::thread::sleep(next - since);
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

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let got = renamed(text.as_bytes(), Path::new("/a/b"), Path::new("/copy"));
        assert_eq!(String::from_utf8(got).unwrap(), expected);
    }

    #[test]
    fn only_a_whole_path_is_renamed() {
        check("cd /a/b && x=/a/b:/a/b/c '/a/b'", "cd /copy && x=/copy:/copy/c '/copy'");
        check("/a/bc /a/b-c /a/b.c /x/a/b a/b /a/b", "/a/bc /a/b-c /a/b.c /x/a/b a/b /copy");
    }

    #[test]
    fn a_folder_with_more_than_may_be_copied_is_measured_only_so_far() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a"), "123").unwrap();
        std::fs::write(folder.path().join("b"), "123").unwrap();
        let mut left = 5;
        let sample = measure(folder.path(), &mut left).unwrap();
        assert!(left == 0 && sample.is_some());
        left = 7;
        measure(folder.path(), &mut left).unwrap();
        assert_eq!(left, 1);
    }
}

#[cfg(test)]
mod place_tests {
    use super::*;

    #[test]
    fn a_fresh_file_is_replaced_by_one_of_a_later_second_that_is_not_in_the_future() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "old").unwrap();
        let old = path.metadata().unwrap().mtime();
        let form = OtherForm::File { content: b"new".to_vec(), is_executable: true };
        place(&path, &form, None, false).unwrap();
        let about = path.metadata().unwrap();
        assert!(about.mtime() > old);
        assert!(about.modified().unwrap() <= SystemTime::now());
        assert_eq!(about.mode() & 0o111, 0o111);
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }

    #[test]
    fn a_file_that_is_replaced_at_once_is_of_the_next_second() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        // Within one second, unless the machine sleeps.
        let is_next = || {
            fs::write(&path, "old").unwrap();
            let old = path.metadata().unwrap().mtime();
            place(
                &path,
                &OtherForm::File { content: b"new".to_vec(), is_executable: false },
                None,
                true,
            )
            .unwrap();
            let new = path.metadata().unwrap();
            new.mtime() == old + 1 && new.mtime_nsec() == 0
        };
        assert!((0..5).any(|_| is_next()));
    }

    /// Byte code of the file that is gone may still be there.
    #[test]
    fn a_file_that_was_just_removed_comes_back_in_a_later_second() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "old").unwrap();
        fs::remove_file(&path).unwrap();
        let removed = folder.path().metadata().unwrap().mtime();
        place(
            &path,
            &OtherForm::File { content: b"old".to_vec(), is_executable: false },
            None,
            false,
        )
        .unwrap();
        assert!(path.metadata().unwrap().mtime() > removed);
    }

    #[test]
    fn a_folder_in_the_place_of_an_absent_file_stays() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("a")).unwrap();
        place(&folder.path().join("a"), &OtherForm::Absent, None, false).unwrap();
        place(&folder.path().join("none/b"), &OtherForm::Absent, None, false).unwrap();
        assert!(folder.path().join("a").exists());
        assert!(!folder.path().join("none").exists());
    }
}
