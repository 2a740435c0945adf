//! Recognises and removes the empty files that a killed client leaves in a project
//! ([`ralph_core::protocol::sandbox`]).
//!
//! Only an empty file with mode 0444 and a known name is one of them, and never a tracked file. Such a
//! file may also be the user's, so only what was not there before a client of Ralph's is removed.

use crate::git;
use crate::git::tree;
use crate::process::ancestry;
use anyhow::{Context, Result};
use ralph_core::protocol::sandbox;
use rustix::fs::OFlags;
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// True if the untracked file at this path below `root` is left over from a sandbox.
pub fn is_litter(root: &Path, path: &[u8]) -> bool {
    sandbox::is_litter_name(path) && is_empty_and_read_only(&root.join(OsStr::from_bytes(path)))
}

/// True if the file at this path looks like one that a sandbox left.
pub(crate) fn is_empty_and_read_only(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|about| {
        about.is_file() && about.len() == 0 && about.mode() & 0o7777 == sandbox::LITTER_MODE
    })
}

/// The paths in an index that a sandbox left and that the user's own index does not have. `command`
/// is a git command for that index.
pub(crate) fn added(root: &Path, command: &mut Command) -> Result<Vec<Vec<u8>>> {
    let listed = in_index(command)?;
    let mut found: Vec<&[u8]> =
        git::zero_ended(&listed).filter(|path| is_litter(root, path)).collect();
    if !found.is_empty() {
        let tracked = in_index(&mut git::command(root))?;
        found.retain(|path| git::zero_ended(&tracked).all(|tracked| tracked != *path));
    }
    Ok(found.into_iter().map(<[u8]>::to_vec).collect())
}

/// All paths in an index. Git takes several times longer to look for the names of litter by itself.
fn in_index(command: &mut Command) -> Result<Vec<u8>> {
    git::output(command.args(["ls-files", "-z", "--cached"]))
}

/// A folder in which a round's client works, with a note of the files that look like litter and were
/// there before. The rounds in a folder share the note by a lock, and the last one removes it; if all
/// are killed, it stays for the next start.
#[derive(Debug)]
pub struct RoundFolder<'a> {
    folder: &'a Path,
    /// Further files that the sandbox protects.
    protected: &'a [PathBuf],
    path: PathBuf,
    note: File,
}

impl<'a> RoundFolder<'a> {
    /// Removes what killed clients left in the folder, and notes the rest at `path`.
    ///
    /// # Errors
    /// If the note cannot be written; no client must start then.
    pub fn begin(path: &Path, folder: &'a Path, protected: &'a [PathBuf]) -> Result<Self> {
        let open = || -> std::io::Result<RoundFolder<'a>> {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false).mode(0o600);
            let note = options.custom_flags(OFlags::NOFOLLOW.bits() as i32).open(path)?;
            let is_first = is_alone(&note);
            let this = RoundFolder { folder, protected, path: path.to_owned(), note };
            if is_first && this.clear() {
                let found: Vec<_> = this.candidates().iter().map(|path| text(path)).collect();
                this.note.set_len(0)?;
                let text = serde_json::to_vec(&found).map_err(std::io::Error::other)?;
                this.note.write_all_at(&text, 0)?;
            }
            this.note.lock_shared()?;
            Ok(this)
        };
        let what = || format!("could not note what is in `{}`", folder.display());
        loop {
            let this = open().with_context(what)?;
            // A round that ended meanwhile may have removed the file.
            if this.note.metadata().with_context(what)?.nlink() > 0 {
                return Ok(this);
            }
        }
    }

    /// Removes what the client left in the folder, unless another round works there.
    pub fn finish(self) {
        if is_alone(&self.note) && self.clear() {
            // A note that stays lets the next start look again.
            let _ = std::fs::remove_file(&self.path);
        }
    }

    /// Removes what has appeared since the note was written. False if a sandbox may be at work there:
    /// its files are mounted over these.
    fn clear(&self) -> bool {
        let mut noted = Vec::new();
        // A note that was not written whole says nothing.
        let Some(noted) = (&self.note)
            .read_to_end(&mut noted)
            .ok()
            .and_then(|_| serde_json::from_slice::<Vec<String>>(&noted).ok())
        else {
            return true;
        };
        let mut found = self.candidates();
        found.retain(|path| !noted.contains(&text(path)));
        if found.is_empty() || !leave_tracked(self.folder, &mut found) {
            return true;
        }
        if ancestry::a_client_works_in(self.folder) {
            return false;
        }
        found.retain(|path| std::fs::remove_file(path).is_err());
        found.is_empty()
    }

    /// The files in the folder and its repository that look like litter.
    fn candidates(&self) -> Vec<PathBuf> {
        let in_folder = sandbox::LITTER.iter().map(|name| self.folder.join(name));
        let git_dir = tree::repository_root(self.folder).and_then(|root| git_dir(&root));
        let in_git = git_dir.iter().flat_map(|git| sandbox::GIT_LITTER.map(|name| git.join(name)));
        let all = in_folder.chain(in_git).chain(self.protected.iter().cloned());
        let mut found: Vec<PathBuf> = all.filter(|path| is_empty_and_read_only(path)).collect();
        found.sort();
        found.dedup();
        found
    }
}

/// True if no round has the note. A process that another thread is starting has every open file until
/// it begins its program, so the lock is tried for a moment.
fn is_alone(note: &File) -> bool {
    const MOMENT: Duration = Duration::from_millis(200);
    let until = Instant::now() + MOMENT;
    while note.try_lock().is_err() {
        if Instant::now() >= until {
            return false;
        }
        std::thread::sleep(MOMENT / 40);
    }
    true
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The repository's own folder, which its worktrees share.
fn git_dir(root: &Path) -> Option<PathBuf> {
    let asked = git::line(git::command(root).args(["rev-parse", "--git-common-dir"])).ok()?;
    Some(root.join(asked))
}

/// Drops the tracked files from a list; false if git cannot tell.
fn leave_tracked(folder: &Path, found: &mut Vec<PathBuf>) -> bool {
    let Some(root) = tree::repository_root(folder) else { return true };
    let Ok(tracked) = in_index(&mut git::command(&root)) else { return false };
    found.retain(|path| {
        let below = path.strip_prefix(&root).map(|path| path.as_os_str().as_bytes());
        !below.is_ok_and(|below| git::zero_ended(&tracked).any(|tracked| tracked == below))
    });
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::sandbox::Sandbox;

    fn litter(at: &Sandbox, name: &str) {
        at.write(name, "");
        at.chmod(name, 0o444);
    }

    #[test]
    fn only_an_empty_read_only_file_of_a_known_name_is_litter() {
        let at = Sandbox::new();
        litter(&at, ".bashrc");
        litter(&at, "other");
        at.write(".zshrc", "");
        at.write(".profile", "x");
        at.chmod(".profile", 0o444);
        let is = |name: &str| is_litter(&at.root(), name.as_bytes());
        assert!(is(".bashrc"));
        for name in ["other", ".zshrc", ".profile", ".gitmodules"] {
            assert!(!is(name), "{name}");
        }
    }

    /// A round whose client leaves these files and is killed with it, unless it finishes.
    fn round(at: &Sandbox, protected: &[PathBuf], left: &[&str], finishes: bool) {
        let root = at.root();
        let this = RoundFolder::begin(&note(at), &root, protected).unwrap();
        left.iter().for_each(|name| litter(at, name));
        if finishes {
            this.finish();
        }
    }

    fn note(at: &Sandbox) -> PathBuf {
        at.root().with_extension("note")
    }

    const LEFT: [&str; 4] = [".bashrc", ".claude/agents", ".git/config.lock", "protected"];

    #[test]
    fn a_round_and_the_next_start_remove_what_appeared_and_leave_the_users_files() {
        for finishes in [true, false] {
            let at = Sandbox::new();
            litter(&at, ".gitmodules");
            at.commit("second");
            litter(&at, ".idea");
            at.write(".zshrc", "");
            let protected = [at.path("protected"), at.path("none")];
            round(&at, &protected, &LEFT, finishes);
            at.remove(".gitmodules");
            litter(&at, ".gitmodules");
            round(&at, &protected, &[], true);
            assert_eq!(LEFT.map(|name| at.exists(name)), [false; 4], "{finishes}");
            assert!([".gitmodules", ".idea", ".zshrc"].iter().all(|name| at.exists(name)));
            assert!(!note(&at).exists());
            // No round is between the user's file and the next start.
            litter(&at, ".profile");
            round(&at, &protected, &[], false);
            round(&at, &protected, &[], true);
            assert!(at.exists(".profile"));
        }
    }

    #[test]
    fn the_last_round_in_a_folder_clears_it() {
        let at = Sandbox::new();
        let root = at.root();
        let begin = || RoundFolder::begin(&note(&at), &root, &[]).unwrap();
        let first = begin();
        litter(&at, ".bashrc");
        let second = begin();
        first.finish();
        assert!(at.exists(".bashrc"), "the second may have it mounted");
        second.finish();
        assert!(!at.exists(".bashrc") && !note(&at).exists());
    }

    #[test]
    fn a_note_that_was_not_written_whole_removes_nothing() {
        let at = Sandbox::new();
        for torn in ["", "[\"/x"] {
            litter(&at, ".bashrc");
            std::fs::write(note(&at), torn).unwrap();
            round(&at, &[], &[], true);
            assert!(at.exists(".bashrc"), "{torn:?}");
        }
    }

    #[test]
    fn a_lock_that_git_holds_stays() {
        let at = Sandbox::new();
        for text in ["[core]\n", ""] {
            round(&at, &[], &[], false);
            at.write(".git/config.lock", text);
            round(&at, &[], &[], true);
            assert!(at.exists(".git/config.lock"), "git makes its own with another mode");
        }
    }
}
