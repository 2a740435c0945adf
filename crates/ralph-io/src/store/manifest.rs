//! Finds the state file of a session: one small file per session, named after it.
//!
//! For a session without a loop, the lookup is one failed open, which every tool call of every
//! session without Ralph pays. A session's entry also has a copy that is kept apart. If the entry is
//! lost, the session's next prompt, stop or start restores it from there.

use crate::store::home::Home;
use crate::store::second_place::{SESSIONS, apart_from};
use crate::{project::trusted_read, store::atomic};
use anyhow::{Context, Result, bail};
use ralph_core::text::hex::sha256;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Whose entry it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ManifestKey {
    /// A session of Claude Code.
    Session(String),
    /// A project: its planned or most recent loop.
    Project(String),
}

impl ManifestKey {
    /// The key of a session; `None` if the id cannot be a file name, because such a session is not
    /// ours.
    pub fn session(id: &str) -> Option<ManifestKey> {
        let fits = |letter: u8| letter.is_ascii_alphanumeric() || b"-_.".contains(&letter);
        let valid = (1..=128).contains(&id.len())
            && id.bytes().all(fits)
            && !id.starts_with('.')
            && !id.starts_with("project-");
        valid.then(|| ManifestKey::Session(id.to_owned()))
    }

    /// The key of a project, from the path that identifies it.
    pub fn project(identity: &Path) -> ManifestKey {
        let digest = sha256(identity.as_os_str().as_bytes());
        ManifestKey::Project(format!("project-{}", &digest[..16]))
    }

    pub(crate) fn name(&self) -> &str {
        match self {
            ManifestKey::Session(name) | ManifestKey::Project(name) => name,
        }
    }

    fn path(&self, home: &Home) -> PathBuf {
        match (self, home.single_manifest()) {
            (ManifestKey::Session(_), Some(single)) => single.to_owned(),
            _ => home.manifest_folder().join(self.name()),
        }
    }

    /// The path of the entry's copy outside of Ralph's own folder. A project's entry and a single
    /// manifest have none.
    fn copy(&self, home: &Home) -> Option<PathBuf> {
        match self {
            ManifestKey::Session(name) if home.single_manifest().is_none() => {
                Some(copies(home)?.join(name))
            }
            _ => None,
        }
    }
}

fn copies(home: &Home) -> Option<PathBuf> {
    Some(apart_from(home.root())?.join(SESSIONS))
}

/// The state file that the entry names; `None` if there is no entry.
///
/// # Errors
/// If the entry exists but is not a private file of ours with one absolute path in it.
pub fn read(home: &Home, key: &ManifestKey) -> Result<Option<PathBuf>> {
    let path = key.path(home);
    let found = match trusted_read::read(&path)? {
        None => restore(home, &path, key.copy(home))?,
        found => found,
    };
    let Some(bytes) = found else { return Ok(None) };
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let state = PathBuf::from(OsStr::from_bytes(line));
    if !state.is_absolute() || line.contains(&0) {
        bail!("the manifest entry `{}` does not hold an absolute path", path.display());
    }
    Ok(Some(state))
}

/// Restores a lost entry from its copy, with all of Ralph's folders, and returns its bytes, even if
/// it cannot be written.
fn restore(home: &Home, path: &Path, copy: Option<PathBuf>) -> Result<Option<Vec<u8>>> {
    let Some(copy) = copy else { return Ok(None) };
    let bytes = trusted_read::read(&copy)?;
    if let Some(bytes) = &bytes {
        let _ = home.prepare().and_then(|()| atomic::write(path, bytes));
    }
    Ok(bytes)
}

/// True if the entry of the session that the environment names has a copy.
pub(crate) fn has_copy() -> bool {
    let session = std::env::var("CLAUDE_CODE_SESSION_ID").unwrap_or_default();
    let copy = ManifestKey::session(&session).zip(Home::from_env().ok());
    copy.and_then(|(key, home)| key.copy(&home)).is_some_and(|copy| is_at(&copy))
}

/// Points the entry at a state file.
pub fn write(home: &Home, key: &ManifestKey, state: &Path) -> Result<()> {
    let mut line = state.as_os_str().as_bytes().to_owned();
    line.push(b'\n');
    let path = key.path(home);
    atomic::write(&path, &line)?;
    if let Some(copy) = key.copy(home) {
        // Without a sync, and best effort: the entry itself is there.
        let _ = copy.parent().map(atomic::make_private);
        let _ = atomic::write_unsynced(&copy, &line);
    }
    Ok(())
}

/// Removes the entry if it points at this state file; another loop's entry stays. True if this call
/// removed it: of several callers only one gets true.
pub fn remove(home: &Home, key: &ManifestKey, state: &Path) -> Result<bool> {
    if read(home, key)?.as_deref() != Some(state) {
        return Ok(false);
    }
    let path = key.path(home);
    let was_there = is_at(&path);
    // The copy first: otherwise a reader could restore the entry from it.
    let is_copy_removed = key.copy(home).is_some_and(|copy| std::fs::remove_file(copy).is_ok());
    let is_entry_removed = atomic::remove(&path)?;
    Ok(if was_there { is_entry_removed } else { is_copy_removed })
}

/// True if anything exists at the entry's path or that of its copy.
pub(crate) fn is_there(home: &Home, key: &ManifestKey) -> bool {
    is_at(&key.path(home)) || key.copy(home).is_some_and(|copy| is_at(&copy))
}

fn is_at(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Removes write permission for others from the home, the manifest and this entry. Best effort: the
/// next reader reports what is still wrong.
pub(crate) fn take_from_others(home: &Home, key: Option<&ManifestKey>) {
    let folders = [home.root().to_owned(), home.manifest_folder(), home.loops(), home.archive()];
    let entries = key.into_iter().flat_map(|key| [Some(key.path(home)), key.copy(home)]).flatten();
    folders.into_iter().chain(entries).for_each(|path| trusted_read::take_one_from_others(&path));
}

/// Removes whatever is at the entry's path; what cannot be unlinked is moved to this folder.
pub(crate) fn discard(home: &Home, key: &ManifestKey, to: &Path) -> Result<()> {
    if let Some(copy) = key.copy(home) {
        throw_away(&copy, &to.join("manifest-entry-copy"))?;
    }
    throw_away(&key.path(home), &to.join("manifest-entry"))
}

fn throw_away(path: &Path, to: &Path) -> Result<()> {
    let gone = |error: &std::io::Error| {
        matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
    };
    match std::fs::remove_file(path) {
        Ok(()) => Ok(()),
        Err(error) if gone(&error) => Ok(()),
        Err(_) => std::fs::rename(path, to)
            .with_context(|| format!("could not remove `{}`", path.display())),
    }
}

/// Every session entry: the session id and its state file. An unreadable entry comes with its
/// error.
pub fn sessions(home: &Home) -> Vec<(String, Result<PathBuf>)> {
    let folders = [Some(home.manifest_folder()), copies(home)].into_iter().flatten();
    let entries = folders.filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
    let names: BTreeSet<String> = entries
        .filter_map(|entry| {
            Some(ManifestKey::session(entry.ok()?.file_name().to_str()?)?.name().to_owned())
        })
        .collect();
    names
        .into_iter()
        .map(|name| {
            let state = read(home, &ManifestKey::Session(name.clone()));
            (name, state.and_then(|path| path.context("the entry is gone")))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_could_leave_the_folder_is_not_ours() {
        for id in
            ["", "..", "../x", "a/b", "a\0b", ".hidden", "project-1", "a b", "é", &"x".repeat(4096)]
        {
            assert_eq!(ManifestKey::session(id), None, "{id:?}");
        }
        assert!(ManifestKey::session("f85a4e38-41ba-4387-a308-8d822283f345").is_some());
    }

    #[test]
    fn an_entry_reads_back_and_is_removed_only_by_its_own_loop() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("ralph"));
        home.prepare().unwrap();
        let key = ManifestKey::session("s").unwrap();
        assert_eq!(read(&home, &key).unwrap(), None);
        write(&home, &key, Path::new("/a/state.json")).unwrap();
        assert!(!remove(&home, &key, Path::new("/b/state.json")).unwrap());
        assert_eq!(read(&home, &key).unwrap(), Some(PathBuf::from("/a/state.json")));
        assert_eq!(sessions(&home).len(), 1);
        assert!(remove(&home, &key, Path::new("/a/state.json")).unwrap());
        assert!(!remove(&home, &key, Path::new("/a/state.json")).unwrap(), "it is gone already");
        assert_eq!(read(&home, &key).unwrap(), None);
    }

    #[test]
    fn a_lost_entry_is_restored_and_a_removed_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("ralph"));
        home.prepare().unwrap();
        let key = ManifestKey::session("s").unwrap();
        let state = Path::new("/a/state.json");
        for lose in [
            |home: &Home| std::fs::remove_file(home.manifest_folder().join("s")),
            |home: &Home| std::fs::remove_file(copies(home).unwrap().join("s")),
            |home: &Home| std::fs::remove_dir_all(home.manifest_folder()),
        ] {
            home.prepare().unwrap();
            write(&home, &key, state).unwrap();
            lose(&home).unwrap();
            assert!(is_there(&home, &key));
            assert_eq!(read(&home, &key).unwrap().as_deref(), Some(state));
            assert_eq!(sessions(&home).len(), 1);
            assert!(remove(&home, &key, state).unwrap());
            assert!(!remove(&home, &key, state).unwrap(), "it is gone already");
            assert!(!is_there(&home, &key));
            assert_eq!(read(&home, &key).unwrap(), None);
        }
        home.prepare().unwrap();
        write(&home, &key, state).unwrap();
        let other = Path::new("/b/state.json");
        write(&home, &key, other).unwrap();
        std::fs::remove_file(home.manifest_folder().join("s")).unwrap();
        assert_eq!(read(&home, &key).unwrap().as_deref(), Some(other), "the copy followed");
    }

    #[test]
    fn an_entry_that_could_not_be_restored_is_removed_with_its_copy_and_once() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("ralph"));
        home.prepare().unwrap();
        let key = ManifestKey::session("s").unwrap();
        let state = Path::new("/a/state.json");
        write(&home, &key, state).unwrap();
        std::fs::remove_dir_all(home.manifest_folder()).unwrap();
        std::os::unix::fs::symlink("none", home.manifest_folder()).unwrap();
        assert_eq!(read(&home, &key).unwrap().as_deref(), Some(state));
        assert!(remove(&home, &key, state).unwrap());
        assert!(!is_there(&home, &key));
        assert!(!remove(&home, &key, state).unwrap(), "it is gone already");
    }

    #[test]
    fn what_is_at_an_entrys_path_is_removed_or_moved_whatever_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("ralph"));
        let to = folder.path().join("to");
        std::fs::create_dir(&to).unwrap();
        let key = ManifestKey::session("s").unwrap();
        let moved = || {
            let names = std::fs::read_dir(&to).unwrap();
            let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        discard(&home, &key, &to).unwrap();
        home.prepare().unwrap();
        write(&home, &key, Path::new("/a/state.json")).unwrap();
        discard(&home, &key, &to).unwrap();
        assert!(!is_there(&home, &key) && moved().is_empty());
        let [entry, copy] = [key.path(&home), key.copy(&home).unwrap()];
        for path in [&entry, &copy] {
            std::fs::create_dir_all(path.join("full")).unwrap();
        }
        discard(&home, &key, &to).unwrap();
        assert!(!is_there(&home, &key));
        assert_eq!(moved(), ["manifest-entry", "manifest-entry-copy"]);
        std::fs::create_dir(&entry).unwrap();
        let why = discard(&home, &key, &to.join("none")).unwrap_err().to_string();
        assert_eq!(why, format!("could not remove `{}`", entry.display()));
        std::fs::remove_dir_all(home.manifest_folder()).unwrap();
        std::fs::write(home.manifest_folder(), "no folder").unwrap();
        discard(&home, &key, &to).unwrap();
    }

    #[test]
    fn others_lose_the_right_to_write_the_home_and_the_entry() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("ralph"));
        home.prepare().unwrap();
        let key = ManifestKey::session("s").unwrap();
        write(&home, &key, Path::new("/a/state.json")).unwrap();
        let folders =
            [home.root().to_owned(), home.manifest_folder(), home.loops(), home.archive()];
        let entries = [key.path(&home), key.copy(&home).unwrap()];
        let open = |path: &PathBuf, mode: u32| {
            std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        };
        let mode = |path: &PathBuf| path.metadata().unwrap().permissions().mode() & 0o777;
        for (named, expected) in [(None, 0o666), (Some(&key), 0o644)] {
            folders.iter().for_each(|path| open(path, 0o777));
            entries.iter().for_each(|path| open(path, 0o666));
            take_from_others(&home, named);
            assert_eq!(folders.each_ref().map(mode), [0o755; 4]);
            assert_eq!(entries.each_ref().map(mode), [expected; 2]);
        }
    }

    #[test]
    fn every_entry_of_a_session_is_listed_by_its_name_and_an_unreadable_one_with_its_error() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("ralph"));
        home.prepare().unwrap();
        let keys = ["b", "a", "c"].map(|id| ManifestKey::session(id).unwrap());
        for key in &keys {
            write(&home, key, &Path::new("/at").join(key.name())).unwrap();
        }
        write(&home, &ManifestKey::project(Path::new("/p")), Path::new("/p/state.json")).unwrap();
        std::fs::remove_file(keys[0].path(&home)).unwrap();
        atomic::write(&keys[2].path(&home), b"relative").unwrap();
        let listed = sessions(&home).into_iter().map(|(id, path)| (id, path.ok()));
        let expected = [("a", Some("/at/a")), ("b", Some("/at/b")), ("c", None)];
        let expected = expected.map(|(id, path)| (id.to_owned(), path.map(PathBuf::from)));
        assert_eq!(listed.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_single_manifest_is_the_entry_of_every_session_and_has_no_copy() {
        let folder = tempfile::tempdir().unwrap();
        let single = folder.path().join("manifest.txt");
        let home = Home::at(folder.path().join("ralph")).with_manifest(&single);
        home.prepare().unwrap();
        let [one, other] = ["s", "t"].map(|id| ManifestKey::session(id).unwrap());
        write(&home, &one, Path::new("/a/state.json")).unwrap();
        assert_eq!(std::fs::read_to_string(&single).unwrap(), "/a/state.json\n");
        assert_eq!(read(&home, &other).unwrap(), Some(PathBuf::from("/a/state.json")));
        let project = ManifestKey::project(Path::new("/p"));
        write(&home, &project, Path::new("/p/state.json")).unwrap();
        assert_eq!(read(&home, &project).unwrap(), Some(PathBuf::from("/p/state.json")));
        assert_eq!(read(&home, &one).unwrap(), Some(PathBuf::from("/a/state.json")));
        assert!(!copies(&home).unwrap().exists());
        std::fs::remove_file(&single).unwrap();
        assert!(!is_there(&home, &one));
    }

    #[test]
    fn what_a_killed_writer_left_is_no_session() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("ralph"));
        home.prepare().unwrap();
        let key = ManifestKey::session("s").unwrap();
        let temporary = format!(".s.tmp-{}", std::process::id());
        let folders = [home.manifest_folder(), copies(&home).unwrap()];
        atomic::make_private(&folders[1]).unwrap();
        folders.iter().for_each(|folder| std::fs::write(folder.join(&temporary), "").unwrap());
        assert_eq!(sessions(&home).len(), 0);
        write(&home, &key, Path::new("/a/state.json")).unwrap();
        let left = folders.map(|folder| std::fs::read_dir(folder).unwrap().count());
        assert_eq!(left, [1, 1], "the same names were written and renamed");
        assert_eq!(sessions(&home).len(), 1);
    }

    #[test]
    fn an_entry_without_an_absolute_path_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("ralph"));
        home.prepare().unwrap();
        let key = ManifestKey::session("s").unwrap();
        for text in ["", "relative/state.json", "\n/late", "/a\0b"] {
            atomic::write(&key.path(&home), text.as_bytes()).unwrap();
            assert!(read(&home, &key).is_err(), "{text:?}");
        }
    }
}
