//! What Ralph keeps of a live loop apart from the loop's own folder, so that no single `rm`, `git clean` or
//! `sed` over one folder reaches both.
//!
//! It holds a copy of the state and the digests of two states: the last that Ralph wrote, and the one that it
//! was about to write. A state with another digest was changed by something else. All of it is written without a
//! sync: after a power cut it may be older than the state, so it counts only until the machine starts again.

use crate::project::trusted_read;
use crate::store::atomic;
use anyhow::{Context, Result};
use std::ffi::OsStr;
use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_128;

/// The folder of one loop.
#[derive(Debug, Clone)]
pub(crate) struct SecondPlace {
    folder: PathBuf,
}

/// Where the state lies by default, and where the second place then is.
const DEFAULT: (&str, &str) = (".local/state/ralph", ".local/share/ralph/kept");

/// The name of the folder with the copies of sessions' entries, beside those of loops.
pub(crate) const SESSIONS: &str = "sessions";

/// The folder of all that is kept apart from Ralph's own folder.
pub(crate) fn apart_from(root: &Path) -> Option<PathBuf> {
    match root.to_str().and_then(|root| root.strip_suffix(DEFAULT.0)) {
        Some(home) => Some(Path::new(home).join(DEFAULT.1)),
        None => Some(root.parent()?.join(".ralph-kept").join(root.file_name()?)),
    }
}

impl SecondPlace {
    /// The second place of a loop's state; `None` for a state that is not in Ralph's own folder, which people and
    /// other tools may change.
    pub(crate) fn for_state(state: &Path) -> Option<SecondPlace> {
        let folder = state.parent()?;
        let loops =
            folder.parent().filter(|loops| loops.file_name() == Some(OsStr::new("loops")))?;
        let all = apart_from(loops.parent()?)?;
        Some(SecondPlace { folder: all.join(folder.file_name()?) })
    }

    /// Notes that this state is about to replace the old one.
    ///
    /// # Errors
    /// If the disk is full or broken, or the folder cannot be written any more, as in the client's sandbox. Where it never
    /// could, nothing is noted, and [`SecondPlace::accepts`] everything.
    pub(crate) fn announce(&self, old: &[u8], new: &[u8]) -> Result<()> {
        let text = record(&[xxh3_128(old), xxh3_128(new)]);
        let written = match atomic::write_unsynced(&self.digests(), text.as_bytes()) {
            Err(error) if error.kind() == ErrorKind::NotFound => DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&self.folder)
                .and_then(|()| atomic::write_unsynced(&self.digests(), text.as_bytes())),
            written => written,
        };
        match written {
            Err(error) if !is_closed(error.kind()) || self.digests().exists() => Err(error)
                .with_context(|| format!("could not write `{}`", self.digests().display())),
            _ => Ok(()),
        }
    }

    /// Keeps a copy of the state that was written, after which the old one is accepted no longer. A copy that
    /// fails or is torn is not used.
    pub(crate) fn keep(&self, state: &[u8]) {
        let _ = atomic::overwrite(&self.copy_file(), state);
        let _ = atomic::write_unsynced(&self.digests(), record(&[xxh3_128(state)]).as_bytes());
    }

    /// False if something other than Ralph wrote this state.
    pub(crate) fn accepts(&self, state: &[u8]) -> bool {
        let Ok(Some(known)) = trusted_read::read(&self.digests()) else { return true };
        let known = String::from_utf8_lossy(&known);
        let mut lines = known.lines();
        if lines.next() != Some(boot().as_str()) {
            return true;
        }
        let found = format!("{:032x}", xxh3_128(state));
        lines.any(|line| line == found)
    }

    pub(crate) fn has_copy(&self) -> bool {
        self.copy_file().symlink_metadata().is_ok()
    }

    /// The copy, if it is whole.
    pub(crate) fn copy(&self) -> Option<Vec<u8>> {
        let copy = trusted_read::read(&self.copy_file()).ok()??;
        self.accepts(&copy).then_some(copy)
    }

    /// The file with what the watched files looked like.
    pub(crate) fn marks(&self) -> PathBuf {
        self.folder.join("marks")
    }

    /// Removes all of it, with a loop that has ended.
    pub(crate) fn remove(&self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }

    fn digests(&self) -> PathBuf {
        self.folder.join("digests")
    }

    fn copy_file(&self) -> PathBuf {
        self.folder.join("state.json")
    }
}

fn is_closed(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}

/// What [`SecondPlace::accepts`] reads: the machine's start, and the digests of the states that it accepts.
fn record(digests: &[u128]) -> String {
    let digests: String = digests.iter().map(|digest| format!("{digest:032x}\n")).collect();
    format!("{}\n{digests}", boot())
}

/// The machine's last start; empty where the system does not say.
fn boot() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    boot.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(folder: &Path) -> SecondPlace {
        SecondPlace::for_state(&folder.join("ralph/loops/L/state.json")).unwrap()
    }

    #[test]
    fn it_lies_below_another_folder_than_the_state() {
        let of = |path: &str| SecondPlace::for_state(Path::new(path)).map(|place| place.folder);
        let by_default = of("/h/.local/state/ralph/loops/L/state.json");
        assert_eq!(by_default, Some("/h/.local/share/ralph/kept/L".into()));
        assert_eq!(of("/x/mine/loops/L/state.json"), Some("/x/.ralph-kept/mine/L".into()));
        assert_eq!(of("/project/.claude/state.json"), None);
        assert_eq!(place(Path::new("/x")).marks(), Path::new("/x/.ralph-kept/ralph/L/marks"));
    }

    #[test]
    fn the_old_state_and_the_announced_one_are_accepted_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(folder.path());
        assert!(place.accepts(b"anything"), "nothing was announced yet");
        place.announce(b"one", b"two").unwrap();
        assert!(place.accepts(b"one") && place.accepts(b"two") && !place.accepts(b"three"));
        place.keep(b"two");
        assert!(
            place.accepts(b"two") && !place.accepts(b"one"),
            "what was rolled back is a change"
        );
    }

    #[test]
    fn the_record_names_the_machines_start_and_the_digests() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(folder.path());
        let recorded = || std::fs::read_to_string(place.digests()).unwrap();
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let [one, two] = [xxh3_128(b"one"), xxh3_128(b"two")];
        place.announce(b"one", b"two").unwrap();
        assert_eq!(recorded(), format!("{}\n{one:032x}\n{two:032x}\n", boot.trim()));
        place.keep(b"two");
        assert_eq!(recorded(), format!("{}\n{two:032x}\n", boot.trim()));
    }

    #[test]
    fn where_nothing_can_ever_be_written_nothing_is_noted() {
        for (kind, closed) in [
            (ErrorKind::PermissionDenied, true),
            (ErrorKind::ReadOnlyFilesystem, true),
            (ErrorKind::StorageFull, false),
            (ErrorKind::NotFound, false),
        ] {
            assert_eq!(is_closed(kind), closed, "{kind}");
        }
        // Nobody makes a folder there.
        let closed = SecondPlace { folder: "/sys/ralph".into() };
        closed.announce(b"one", b"two").unwrap();
        assert!(closed.accepts(b"three"));
    }

    /// A write fails at a link to what cannot be written, in the place of the temporary file.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_state_is_not_written_without_a_note_where_there_was_one_or_the_disk_is_full() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(folder.path());
        std::fs::create_dir_all(&place.folder).unwrap();
        let temporary = place.folder.join(format!(".digests.tmp-{}", std::process::id()));
        let announce = |to: &str| {
            std::os::unix::fs::symlink(to, &temporary).unwrap();
            place.announce(b"one", b"two").map_err(|error| error.to_string())
        };
        let could_not = Err(format!("could not write `{}`", place.digests().display()));
        assert_eq!(announce("/sys/ralph"), Ok(()), "it never could be written");
        assert_eq!(announce("/dev/full"), could_not);
        place.announce(b"one", b"two").unwrap();
        assert_eq!(announce("/sys/ralph"), could_not);
        assert!(place.accepts(b"two") && !place.accepts(b"three"), "the note is there");
    }

    #[test]
    fn a_copy_is_used_only_if_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(folder.path());
        place.announce(b"one", b"two").unwrap();
        assert_eq!((place.copy(), place.has_copy()), (None, false));
        place.keep(b"two");
        assert!(place.has_copy());
        assert_eq!(place.copy().as_deref(), Some(&b"two"[..]));
        std::fs::write(place.copy_file(), "t").unwrap();
        assert_eq!(place.copy(), None);
        place.remove();
        assert!(!place.folder.exists());
    }

    #[test]
    fn after_the_machine_has_started_again_every_state_is_accepted() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(folder.path());
        place.announce(b"one", b"two").unwrap();
        let kept = std::fs::read_to_string(place.digests()).unwrap();
        let (_, digests) = kept.split_once('\n').unwrap();
        std::fs::write(place.digests(), format!("another start\n{digests}")).unwrap();
        assert!(place.accepts(b"three"));
    }
}
