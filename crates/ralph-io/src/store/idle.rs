//! Finds out as cheaply as possible that a session has no loop. Every hook call of every session
//! without Ralph pays this cost.
//!
//! The check is one failed open of the manifest entry. Every unusual case is left to the full
//! reader of the entry.

use crate::store::home;
use crate::store::manifest;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// True if the environment names a session and that session has no manifest entry. False only means
/// that this is unknown.
pub fn nothing_is_bound() -> bool {
    nothing(|_| true)
}

/// As [`nothing_is_bound`], and the entry has no copy. For the end of a turn, which happens only once.
pub fn nothing_is_bound_or_lost() -> bool {
    nothing(|_| !manifest::has_copy())
}

/// As [`nothing_is_bound`], and no settings want checks in every session either: a marker file in
/// Ralph's home says so.
pub fn nothing_is_bound_or_wanted() -> bool {
    nothing(|root| is_absent(&root.join("always")))
}

fn nothing(also: impl FnOnce(&Path) -> bool) -> bool {
    let Some(session) = std::env::var_os("CLAUDE_CODE_SESSION_ID") else { return false };
    // Without a home there is no loop to be bound to.
    let Some(root) = home::root_from_env() else { return true };
    if !root.is_absolute() || session.is_empty() || home::single_manifest_from_env().is_some() {
        return false;
    }
    // No entry can have a name with a slash.
    session.as_bytes().contains(&b'/')
        || is_absent(&root.join("manifest").join(&session)) && also(&root)
}

fn is_absent(path: &Path) -> bool {
    const READ: OFlags = OFlags::CLOEXEC.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK);
    matches!(rustix::fs::open(path, READ, Mode::empty()), Err(Errno::NOENT | Errno::NOTDIR))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_what_is_not_there_is_absent_and_a_pipe_holds_nobody_up() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), "").unwrap();
        std::fs::create_dir(at("folder")).unwrap();
        symlink("none", at("astray")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), Mode::RUSR | Mode::WUSR).unwrap();
        for (name, absent) in [
            ("none", true),
            ("none/below", true),
            ("file/below", true),
            ("file", false),
            ("folder", false),
            ("astray", false),
            ("pipe", false),
        ] {
            assert_eq!(is_absent(&at(name)), absent, "{name}");
        }
        assert!(!is_absent(&at(&"x".repeat(300))), "it cannot be known");
    }
}
