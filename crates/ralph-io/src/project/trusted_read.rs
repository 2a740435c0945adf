//! Reads files that decide something, and only if no other user could have planted them.

use anyhow::{Context, Result, bail};
use rustix::fs::{Mode, OFlags};
use std::fs::{File, Metadata, Permissions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::OnceLock;

/// None of Ralph's documents comes near this size; a larger file is a mistake or an attack.
const LARGEST: u64 = 64 << 20;

/// Reads a regular file that belongs to us and is not writable by others; `None` if it does not
/// exist.
///
/// A symbolic link is refused: in a shared folder it could point anywhere.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    read_at_most(path, LARGEST)
}

/// Reads a regular file of ours even if others can write it. The caller must not base a decision on
/// it.
pub(crate) fn peek(path: &Path) -> Option<Vec<u8>> {
    let file = open(path).ok()??;
    let about = file.metadata().ok()?;
    let is_ours = about.is_file() && about.uid() == user() && about.len() <= LARGEST;
    let mut bytes = Vec::new();
    is_ours.then(|| file.take(LARGEST).read_to_end(&mut bytes).ok())??;
    Some(bytes)
}

/// Reads as [`read`] does, for a file that swaps names with a spare copy, which is overwritten
/// later.
///
/// # Errors
/// Also if the path names another file by now. Only a file that has lost its name is overwritten,
/// so a file that still has it was read whole.
pub(crate) fn read_settled(path: &Path) -> Result<Option<Vec<u8>>> {
    let Some((bytes, read)) = read_with(path, LARGEST)? else { return Ok(None) };
    if !keeps_its_name(path, &read) {
        return Err(anyhow::Error::from(std::io::Error::from(ErrorKind::ResourceBusy)))
            .with_context(|| format!("`{}` was replaced while it was read", path.display()));
    }
    Ok(Some(bytes))
}

/// True for the error of a file that was replaced while it was read. Reading it again helps.
pub(crate) fn was_replaced(error: &anyhow::Error) -> bool {
    let cause = error.root_cause().downcast_ref::<std::io::Error>();
    cause.is_some_and(|cause| cause.kind() == ErrorKind::ResourceBusy)
}

fn keeps_its_name(path: &Path, read: &Metadata) -> bool {
    path.symlink_metadata().is_ok_and(|at| (at.dev(), at.ino()) == (read.dev(), read.ino()))
}

/// Reads as [`read`] does, with another limit: for documents that grow with the project.
pub(crate) fn read_at_most(path: &Path, largest: u64) -> Result<Option<Vec<u8>>> {
    Ok(read_with(path, largest)?.map(|(bytes, _)| bytes))
}

fn read_with(path: &Path, largest: u64) -> Result<Option<(Vec<u8>, Metadata)>> {
    let Some(file) = open(path)? else { return Ok(None) };
    let about =
        file.metadata().with_context(|| format!("could not inspect `{}`", path.display()))?;
    check(path, &about, largest)?;
    // These files are replaced, never changed in place, so the size is final and one exact read is
    // enough. Every hook call of a loop comes through here.
    let length = usize::try_from(about.len()).unwrap_or(0);
    let mut bytes = Vec::with_capacity(length);
    let read = file.take(about.len()).read_to_end(&mut bytes).and_then(|read| match read {
        read if read == length => Ok(()),
        _ => Err(ErrorKind::UnexpectedEof.into()),
    });
    read.with_context(|| format!("could not read `{}`", path.display()))?;
    Ok(Some((bytes, about)))
}

/// Removes write permission for others from a file or a folder of ours; links are skipped.
pub(crate) fn take_one_from_others(path: &Path) {
    let Ok(about) = path.symlink_metadata() else { return };
    let is_ours = about.uid() == user() && (about.is_file() || about.is_dir());
    if is_ours && about.mode() & 0o022 != 0 {
        let kept = Permissions::from_mode(about.mode() & 0o7777 & !0o022);
        let _ = std::fs::set_permissions(path, kept);
    }
}

/// Removes it from a folder and from the entries directly in it.
pub(crate) fn take_from_others(folder: &Path) {
    take_one_from_others(folder);
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.for_each(|entry| take_one_from_others(&entry.path()));
}

/// Our effective user id; asked of the system once.
pub fn user() -> u32 {
    static USER: OnceLock<u32> = OnceLock::new();
    *USER.get_or_init(|| rustix::process::geteuid().as_raw())
}

fn open(path: &Path) -> Result<Option<File>> {
    // Non-blocking: a planted pipe must not hang the session.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(fd) => Ok(Some(File::from(fd))),
        Err(error) => match std::io::Error::from(error) {
            error if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                Ok(None)
            }
            error => Err(error).with_context(|| format!("could not open `{}`", path.display())),
        },
    }
}

fn check(path: &Path, about: &Metadata, largest: u64) -> Result<()> {
    let path = path.display();
    if !about.is_file() {
        bail!("`{path}` is not a regular file; it was left unchanged");
    }
    if about.uid() != user() {
        bail!("`{path}` belongs to another user; it was left unchanged");
    }
    if about.mode() & 0o022 != 0 {
        bail!("`{path}` can be written by others; run `chmod 600 {path}` if it is yours");
    }
    if about.len() > largest {
        bail!("`{path}` is larger than {} MiB; it was left unchanged", largest >> 20);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_plain_file_of_ours_is_read_and_an_absent_one_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, "text").unwrap();
        assert_eq!(read(&path).unwrap().unwrap(), b"text");
        assert!(read(&folder.path().join("g")).unwrap().is_none());
        assert!(read(&path.join("below a file")).unwrap().is_none());
    }

    #[test]
    fn what_has_lost_its_name_while_it_was_read_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let [path, spare] = ["state", "spare"].map(|name| folder.path().join(name));
        std::fs::write(&path, "old").unwrap();
        assert_eq!(read_settled(&path).unwrap().unwrap(), b"old");
        let (_, about) = read_with(&path, LARGEST).unwrap().unwrap();
        assert!(keeps_its_name(&path, &about));
        crate::store::atomic::write_and_exchange(&path, &spare, b"new").unwrap();
        assert!(!keeps_its_name(&path, &about));
    }

    #[test]
    fn links_pipes_folders_and_writable_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f");
        std::fs::write(&file, "text").unwrap();
        let link = folder.path().join("link");
        symlink(&file, &link).unwrap();
        assert!(read(&link).is_err());
        assert!(read(folder.path()).unwrap_err().to_string().contains("not a regular file"));
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o620)).unwrap();
        assert!(read(&file).unwrap_err().to_string().contains("written by others"));
    }
}
