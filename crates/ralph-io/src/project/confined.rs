//! Reads files and folders inside a tree, and nothing outside it, wherever links lead.
//!
//! What is read here is shown on screen, so a repository must not be able to select one of the
//! user's own files. A pipe, an endless file or a folder of a million files cannot block the
//! reader.

use crate::project::safe_read;
use ralph_core::project::reader::{EntryKind, Folder, FolderEntry};
use std::path::{Path, PathBuf};

/// Nobody writes a larger file by hand.
const LARGEST: u64 = 1 << 20;

/// The most entries read from a folder.
const MOST_ENTRIES: usize = 10_000;

/// True if a regular file of this name is below the top.
pub fn is_file(top: &Path, name: &str) -> bool {
    let Ok(top) = top.canonicalize() else { return false };
    real(&top, &top.join(name)).is_some_and(|path| path.is_file())
}

/// True if anything of this name is below the top.
pub fn is_there(top: &Path, name: &str) -> bool {
    let Ok(top) = top.canonicalize() else { return false };
    real(&top, &top.join(name)).is_some()
}

/// Reads a text file below the top, which must be a path without links. Returns `None` if there is
/// no such regular file, or if it is too large or not UTF-8.
pub fn text(top: &Path, path: &Path) -> Option<String> {
    safe_read::text(&real(top, path)?, LARGEST).ok().flatten()
}

/// Lists a folder below the top, or returns `None` if it cannot be read.
pub fn list(top: &Path, folder: &Path) -> Option<Folder> {
    entries(&real(top, folder)?)
}

/// Lists any folder, or returns `None` if it cannot be read.
pub(super) fn entries(folder: &Path) -> Option<Folder> {
    let (mut entries, mut is_cut) = (Vec::new(), false);
    for entry in std::fs::read_dir(folder).ok()?.flatten() {
        if entries.len() == MOST_ENTRIES {
            is_cut = true;
            break;
        }
        // On most file systems the listing itself holds the type, so this needs no further call.
        let Ok(kind) = entry.file_type() else { continue };
        let kind = match (kind.is_dir(), kind.is_symlink()) {
            (true, _) => EntryKind::Folder,
            (false, true) => EntryKind::Link,
            (false, false) => EntryKind::File,
        };
        entries.push(FolderEntry { name: entry.file_name().to_string_lossy().into_owned(), kind });
    }
    entries.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    Some(Folder { entries, is_cut })
}

/// Resolves a path. Returns `None` outside the top, and inside a `.git` folder, whose configuration
/// may hold a password.
pub(crate) fn real(top: &Path, path: &Path) -> Option<PathBuf> {
    let real = path.canonicalize().ok()?;
    let below = real.strip_prefix(top).ok()?;
    let is_gits = below.components().any(|name| name.as_os_str() == ".git");
    (!is_gits).then_some(real)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::sandbox::Sandbox;
    use std::os::unix::fs::symlink;
    use std::time::{Duration, Instant};

    #[test]
    fn what_is_outside_or_gits_own_is_not_looked_at_through_a_link() {
        let at = Sandbox::folder();
        at.write("secret/key", "k");
        at.write("top/.git/config", "c");
        at.write("top/a/b", "b");
        for (target, link) in [
            ("../secret/key", "top/out"),
            ("../secret", "top/folder"),
            (".git/config", "top/git"),
            ("a/b", "top/in"),
            ("loop", "top/loop"),
        ] {
            symlink(target, at.path(link)).unwrap();
        }
        let top = at.path("top");
        let text = |path: &str| text(&top, &top.join(path));
        assert_eq!(text("in").as_deref(), Some("b"));
        for path in ["out", "git", "loop", "folder/key", "../secret/key", "a", "none"] {
            assert_eq!(text(path), None, "{path}");
        }
        assert!(
            list(&top, &top.join("folder")).is_none() && list(&top, &top.join("loop")).is_none()
        );
        let listing = list(&top, &top).unwrap();
        let entry = |name: &str, kind| FolderEntry { name: name.to_owned(), kind };
        assert_eq!(listing.entries[0], entry(".git", EntryKind::Folder));
        assert_eq!(listing.entries[2], entry("folder", EntryKind::Link));
        assert!(!listing.is_cut);
    }

    #[test]
    fn a_folder_of_very_many_files_is_left_after_the_first_ten_thousand() {
        let at = Sandbox::folder();
        let folder = at.path("many");
        std::fs::create_dir(&folder).unwrap();
        // Hard links are the cheapest files to make.
        at.write("one", "");
        for n in 0..20_000 {
            std::fs::hard_link(at.path("one"), folder.join(n.to_string())).unwrap();
        }
        let began = Instant::now();
        let listing = list(&at.root(), &folder).unwrap();
        assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
        assert_eq!((listing.entries.len(), listing.is_cut), (MOST_ENTRIES, true));
    }

    #[test]
    fn a_file_without_an_end_or_without_a_writer_holds_nobody_up() {
        let at = Sandbox::folder();
        std::fs::File::create(at.path("huge")).unwrap().set_len(200 << 20).unwrap();
        std::fs::write(at.path("bytes"), b"\xff\xfe").unwrap();
        assert!(
            std::process::Command::new("mkfifo").arg(at.path("pipe")).status().unwrap().success()
        );
        let began = Instant::now();
        for name in ["huge", "bytes", "pipe"] {
            assert_eq!(text(&at.root(), &at.path(name)), None, "{name}");
        }
        assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    }
}
