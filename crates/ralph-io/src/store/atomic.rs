//! Replaces files atomically: whatever happens, the file has the old content or the new.

use crate::process::portable;
use anyhow::{Context, Result};
use rustix::fs::{CWD, OFlags, RenameFlags};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Writes the bytes to a temporary file in the same folder, syncs it, renames it over `path`, and
/// syncs the folder. Only the owner can read the file.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    write_with_mode(path, bytes, 0o600)
}

/// As [`write()`], with these permission bits. The umask applies to a new file.
pub fn write_with_mode(path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    let temporary = temporary_beside(path);
    let written = write_new(&temporary, bytes, mode).and_then(|()| {
        if mode != 0o600 && path.exists() {
            std::fs::set_permissions(&temporary, Permissions::from_mode(mode))?;
        }
        std::fs::rename(&temporary, path)?;
        sync_folder(path)
    });
    if written.is_err() {
        // Best effort: a leftover temporary file is harmless, and its name shows its writer.
        let _ = std::fs::remove_file(&temporary);
    }
    written.with_context(|| format!("could not write `{}`", path.display()))
}

fn write_new(path: &Path, bytes: &[u8], mode: u32) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    // Creates a new file only: in a folder that others can write to, the name may be planted.
    options.write(true).create_new(true).mode(mode);
    let mut file = options.open(path).or_else(|error| {
        // Left by a killed process that had the same process id.
        std::fs::remove_file(path).map_err(|_| error)?;
        options.open(path)
    })?;
    file.write_all(bytes)?;
    file.sync_data()
}

/// As [`write()`], without a sync, for a file with a checksum: after a power cut it may be gone or torn.
pub(crate) fn write_unsynced(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let temporary = temporary_beside(path);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let written = options
        .open(&temporary)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| std::fs::rename(&temporary, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    written
}

/// Writes the bytes to the file at `spare`, syncs it, and exchanges the two names, so that `path`
/// holds the new bytes and `spare` the old ones. Both must be in the same folder.
///
/// Returns false and leaves `path` untouched where the system cannot exchange names.
pub fn write_and_exchange(path: &Path, spare: &Path, bytes: &[u8]) -> Result<bool> {
    let describe = || format!("could not write `{}`", path.display());
    overwrite(spare, bytes).and_then(|file| file.sync_data()).with_context(describe)?;
    // A test that asks for it plays a file system that cannot; macOS has a call of its own.
    if portable::is_tested() {
        return Ok(false);
    }
    match rustix::fs::renameat_with(CWD, spare, CWD, path, RenameFlags::EXCHANGE) {
        Ok(()) => {}
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => return Ok(false),
        Err(error) => return Err(std::io::Error::from(error)).with_context(describe),
    }
    sync_folder(path).with_context(describe)?;
    Ok(true)
}

/// How a file of ours is opened: through a link, someone else could choose the file, and a pipe would hang the session.
pub(crate) const NO_LINK_OR_PIPE: i32 = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).bits() as i32;

/// The piece of a file that is written or left alone.
const PIECE: usize = 16 << 10;

/// Overwrites a file in place, which keeps its blocks on the disk. Leaves alone what is equal already:
/// a stop changes little of a long list of tasks, and a sync waits for what was written.
pub(crate) fn overwrite(path: &Path, bytes: &[u8]) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let mut file = options.custom_flags(NO_LINK_OR_PIPE).open(path)?;
    if file.metadata()?.nlink() > 1 {
        // The file has another name; the file of that name must not change.
        std::fs::remove_file(path)?;
        file = options.open(path)?;
    }
    let mut old = vec![0; PIECE];
    let mut at = 0;
    for piece in bytes.chunks(PIECE) {
        let old = &mut old[..piece.len()];
        if file.read_exact_at(old, at).is_err() || old != piece {
            file.write_all_at(piece, at)?;
        }
        at += piece.len() as u64;
    }
    file.set_len(at)?;
    Ok(file)
}

/// Creates a folder and those above it, private to their owner.
pub fn make_private(folder: &Path) -> Result<()> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.with_context(|| format!("could not make the folder `{}`", folder.display()))
}

/// Creates only the last folder: that of a loop which was archived meanwhile must not come back.
pub fn make_last(folder: &Path) -> Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        made => made.with_context(|| format!("could not make the folder `{}`", folder.display())),
    }
}

/// Removes a file, or a folder with all that it holds; false if nothing was there.
pub fn remove(path: &Path) -> Result<bool> {
    let removed = match path.symlink_metadata() {
        Ok(about) if about.is_dir() => std::fs::remove_dir_all(path),
        _ => std::fs::remove_file(path),
    };
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        removed => {
            removed.map(|()| true).with_context(|| format!("could not remove `{}`", path.display()))
        }
    }
}

/// Makes a rename or a removal in the folder of `path` durable.
pub fn sync_folder(path: &Path) -> std::io::Result<()> {
    match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => File::open(".")?.sync_all(),
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

/// A hidden name with our process id, so that no other process uses it at the same time. Because it
/// is hidden, the file of a killed writer is not taken for a session's manifest entry, or for its copy.
fn temporary_beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".tmp-{}", std::process::id()));
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_replaced_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.json");
        write(&path, b"one").unwrap();
        write(&path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_exchange_leaves_the_old_bytes_in_the_spare_file() {
        if portable::is_tested() {
            // It then plays a file system that cannot exchange names.
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let [path, spare] = ["state", "spare"].map(|name| folder.path().join(name));
        write(&path, b"a long first state").unwrap();
        for new in [&b"second"[..], b"the third one is longer", b"4"] {
            let old = std::fs::read(&path).unwrap();
            assert!(write_and_exchange(&path, &spare, new).unwrap());
            assert_eq!(std::fs::read(&path).unwrap(), new);
            assert_eq!(std::fs::read(&spare).unwrap(), old);
        }
    }

    #[test]
    fn any_change_of_a_long_file_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("spare");
        let mut bytes = vec![b'a'; 3 * PIECE + 5];
        let file = overwrite(&path, &bytes).unwrap().metadata().unwrap().ino();
        for at in [0, PIECE - 1, PIECE, 2 * PIECE + 17, 3 * PIECE, 3 * PIECE + 4] {
            bytes[at] = b'b';
            overwrite(&path, &bytes).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), bytes, "{at}");
        }
        for length in [2 * PIECE, 2 * PIECE + 1, 5 * PIECE, 7, 0, 1] {
            bytes.resize(length, b'c');
            overwrite(&path, &bytes).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), bytes, "{length}");
        }
        assert_eq!(path.metadata().unwrap().ino(), file, "the file keeps its blocks");
    }

    #[test]
    fn what_was_planted_at_our_names_is_replaced_and_not_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let [path, other] = ["state", "other"].map(|name| folder.path().join(name));
        std::fs::write(&other, "other's").unwrap();
        let plant: [fn(&Path, &Path) -> std::io::Result<()>; 2] = [
            |from, to| std::os::unix::fs::symlink(from, to),
            |from, to| std::fs::hard_link(from, to),
        ];
        for plant in plant {
            plant(&other, &temporary_beside(&path)).unwrap();
            write(&path, b"ours").unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), b"ours");
            assert_eq!(std::fs::read(&other).unwrap(), b"other's");
        }
        if portable::is_tested() {
            return;
        }
        let spare = folder.path().join("spare");
        std::fs::hard_link(&other, &spare).unwrap();
        assert!(write_and_exchange(&path, &spare, b"new").unwrap());
        assert_eq!(std::fs::read(&other).unwrap(), b"other's");
        std::fs::remove_file(&spare).unwrap();
        std::os::unix::fs::symlink(&other, &spare).unwrap();
        assert!(write_and_exchange(&path, &spare, b"newer").is_err());
        assert_eq!(std::fs::read(&other).unwrap(), b"other's");
    }

    #[test]
    fn a_new_file_gets_its_mode_by_the_umask_and_an_old_one_exactly() {
        let folder = tempfile::tempdir().unwrap();
        let mode_of = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        let plain = folder.path().join("plain");
        File::create(&plain).unwrap();
        for (name, mode, new) in
            [("a", 0o666, mode_of(&plain)), ("b", 0o600, 0o600), ("c", 0o400, 0o400)]
        {
            let path = folder.path().join(name);
            write_with_mode(&path, b"new", mode).unwrap();
            assert_eq!(mode_of(&path), new, "{name}");
            write_with_mode(&path, b"old", mode).unwrap();
            assert_eq!(mode_of(&path), mode, "{name}");
        }
    }

    #[test]
    fn what_is_removed_is_gone_with_all_that_it_holds_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("full/below")).unwrap();
        std::fs::write(at("full/below/file"), "").unwrap();
        std::fs::write(at("file"), "").unwrap();
        std::os::unix::fs::symlink(at("full"), at("link")).unwrap();
        std::os::unix::fs::symlink(at("none"), at("astray")).unwrap();
        for (name, was_there) in
            [("file", true), ("link", true), ("astray", true), ("none", false), ("none/x", false)]
        {
            assert_eq!(remove(&at(name)).unwrap(), was_there, "{name}");
            assert!(at(name).symlink_metadata().is_err(), "{name}");
        }
        let below = at("full/below/file").join("x");
        let why = remove(&below).unwrap_err();
        assert_eq!(why.to_string(), format!("could not remove `{}`", below.display()));
        assert!(at("full/below/file").exists(), "the link alone was removed");
        assert!(remove(&at("full")).unwrap());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_last_folder_alone_is_made_and_may_be_there() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        make_last(&at("one")).unwrap();
        make_last(&at("one")).unwrap();
        assert_eq!(at("one").metadata().unwrap().permissions().mode() & 0o777, 0o700);
        let why = make_last(&at("none/one")).unwrap_err().to_string();
        assert_eq!(why, format!("could not make the folder `{}`", at("none/one").display()));
        make_private(&at("two/three")).unwrap();
        assert_eq!(at("two").metadata().unwrap().permissions().mode() & 0o777, 0o700);
        std::fs::write(at("file"), "").unwrap();
        assert!(make_private(&at("file")).is_err());
    }

    #[test]
    fn the_folder_of_a_path_is_synced_if_it_is_there() {
        let folder = tempfile::tempdir().unwrap();
        for path in [Path::new("bare-name"), Path::new("/"), &folder.path().join("none")] {
            sync_folder(path).unwrap();
        }
        let error = sync_folder(&folder.path().join("none/state.json")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }

    #[test]
    fn an_unsynced_write_replaces_the_file_and_leaves_nothing_if_it_fails() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("marks");
        for text in ["a longer one", "short"] {
            write_unsynced(&path, text.as_bytes()).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
        std::fs::write(temporary_beside(&path), "left by a killed writer").unwrap();
        write_unsynced(&path, b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        std::fs::create_dir(folder.path().join("d")).unwrap();
        assert!(write_unsynced(&folder.path().join("d"), b"x").is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_write_that_fails_leaves_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d");
        std::fs::create_dir(&path).unwrap();
        let error = write(&path, b"two").unwrap_err();
        assert!(error.to_string().contains("could not write"), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
