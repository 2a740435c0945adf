//! Finds out as cheaply as possible that a session has no loop. Every hook call of every session
//! without Ralph pays this cost.
//!
//! The check is one failed open of the manifest entry, whose path is built in place. Every unusual
//! case is left to the full reader of the entry.
//!
//! Bytes are compared and copied one by one: a shared function for it may be far away in the
//! executable, and each new place that is touched loads 64 KiB of it into memory.

use crate::store::home;
use crate::store::manifest;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::os::unix::ffi::OsStrExt;

/// A longer path is left to the full reader.
const LONGEST: usize = 512;

/// The marker file in Ralph's home which says that some settings want checks in every session.
const WANTED: &[u8] = b"/always";

/// True if the environment names a session and that session has no manifest entry. False only means
/// that this is unknown.
pub fn nothing_is_bound() -> bool {
    nothing(None, None)
}

/// As [`nothing_is_bound`], and the entry has neither a spare name nor a copy. For the end of a turn, which
/// happens only once.
pub fn nothing_is_bound_or_lost() -> bool {
    nothing(Some(b"/bound/"), None) && !manifest::has_copy()
}

/// As [`nothing_is_bound`], and no settings want checks in every session either.
pub fn nothing_is_bound_or_wanted() -> bool {
    nothing(None, Some(WANTED))
}

#[inline(always)]
fn nothing(spare: Option<&[u8]>, wanted: Option<&[u8]>) -> bool {
    let Some(session) = std::env::var_os("CLAUDE_CODE_SESSION_ID") else { return false };
    // Without a home there is no loop to be bound to.
    let Some(root) = home::root_from_env() else { return true };
    let parts = [root.folder.as_bytes(), root.below.as_bytes(), b"/manifest/", session.as_bytes()];
    if parts[0].first() != Some(&b'/') || parts[3].is_empty() || home::has_single_manifest() {
        return false;
    }
    #[expect(clippy::manual_contains, reason = "it is the shared function")]
    if parts[3].iter().any(|byte| *byte == b'/') {
        // No entry can have this name.
        return true;
    }
    let absent = is_absent(&parts)
        && spare.is_none_or(|folder| is_absent(&[parts[0], parts[1], folder, parts[3]]))
        && wanted.is_none_or(|file| is_absent(&[parts[0], parts[1], file]));
    // The process ends next: freeing these would cost as much as finding the entry absent.
    std::mem::forget((session, root));
    absent
}

/// True if nothing exists at the path that the parts form.
#[inline(always)]
fn is_absent(parts: &[&[u8]]) -> bool {
    let mut path = [0; LONGEST];
    let Some(length) = join(&mut path, parts) else { return false };
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = rustix::fs::open(&path[..length], flags, Mode::empty());
    matches!(opened, Err(Errno::NOENT | Errno::NOTDIR))
}

/// Concatenates the parts; `None` if they do not fit.
fn join(path: &mut [u8; LONGEST], parts: &[&[u8]]) -> Option<usize> {
    let mut length = 0;
    for part in parts {
        let place = path.get_mut(length..length + part.len())?;
        place.iter_mut().zip(*part).for_each(|(to, byte)| *to = *byte);
        length += part.len();
    }
    Some(length)
}
