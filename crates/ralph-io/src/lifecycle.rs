//! Carries out what happens to a whole loop: begin, bind, end, put away.
//!
//! Each step leaves something that the next hook can make sense of: a manifest entry may point at
//! a loop that was just put away, and is followed there.

use crate::home::Home;
use crate::lock::{self, Lock};
use crate::manifest::{self, Key};
use crate::project;
use crate::store::LoopFile;
use crate::{archive, atomic, clock};
use anyhow::{Context, Result};
use jiff::Timestamp;
use ralph_core::state::LoopState;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::Duration;

/// A start writes and syncs several files, and on a busy disk each sync may take a second. The
/// second copy of the prompt hook waits for the first: were it to give up, the client would show
/// its refusal although the loop has started. Shorter than that hook's own timeout of ten seconds.
const TO_START: Duration = Duration::from_secs(6);

/// The loop that a session is bound to; none if there is none.
///
/// # Errors
/// When the manifest entry cannot be trusted.
pub fn of_session(home: &Home, session_id: &str) -> Result<Option<LoopFile>> {
    let Some(key) = Key::session(session_id) else { return Ok(None) };
    let Some(path) = manifest::read(home, &key)? else { return Ok(None) };
    Ok(Some(follow(home, &path)))
}

/// The project's planned or most recent loop.
pub fn of_project(home: &Home, folder: &Path) -> Result<Option<LoopFile>> {
    let key = Key::project(&project::identity(folder));
    let Some(path) = manifest::read(home, &key)? else { return Ok(None) };
    Ok(Some(follow(home, &path)))
}

/// The state file at a path, or where its loop was put away to.
fn follow(home: &Home, path: &Path) -> LoopFile {
    if !path.exists()
        && let Some(archived) = archive::find(home, path)
    {
        return archived;
    }
    LoopFile::at(path)
}

/// Keeps other starts out from the look at what there is to the loop that follows from it.
///
/// # Errors
/// When another start took too long, or the home cannot be made.
pub fn lock_starts(home: &Home) -> Result<Lock> {
    home.prepare()?;
    lock::take(&home.loops(), TO_START)
}

/// Writes a new loop: its folder, its state, the project's entry and, if it is bound, its
/// session's. The state gets its `loop_id`.
pub fn create(home: &Home, state: &mut LoopState) -> Result<LoopFile> {
    // Asked before anything is written: a loop that cannot be bound must not be left behind.
    check_session_id(&state.session_id)?;
    home.prepare()?;
    let file = make_folder(home, state)?;
    file.create(state)?;
    point_project_at(home, &file, &state.project_root)?;
    bind(home, &file, &state.session_id)?;
    Ok(file)
}

/// Points a session's manifest entry at a loop. An empty id binds nothing.
pub fn bind(home: &Home, file: &LoopFile, session_id: &str) -> Result<()> {
    if session_id.is_empty() {
        return Ok(());
    }
    manifest::write(home, &session_key(session_id)?, file.path())
}

/// # Errors
/// When a loop could not be bound to this session. An empty id binds nothing and is fine.
pub fn check_session_id(session_id: &str) -> Result<()> {
    match session_id {
        "" => Ok(()),
        id => session_key(id).map(drop),
    }
}

fn session_key(session_id: &str) -> Result<Key> {
    Key::session(session_id).with_context(|| {
        let shown: String = session_id.chars().take(80).collect();
        format!("the session id `{}` cannot be used as a file name", shown.escape_debug())
    })
}

/// Frees a session's manifest entry if it points at this loop, or at where the loop stood before
/// it was put away.
pub fn release(home: &Home, file: &LoopFile, session_id: &str) -> Result<()> {
    let Some(key) = Key::session(session_id) else { return Ok(()) };
    match manifest::read(home, &key)? {
        Some(path) if path == file.path() || follow(home, &path) == *file => {
            manifest::remove(home, &key, &path)
        }
        _ => Ok(()),
    }
}

/// True unless the loop stands among those that have not ended.
pub fn is_put_away(home: &Home, file: &LoopFile) -> bool {
    file.folder().parent() != Some(home.loops().as_path())
}

/// Frees the session of a loop that has ended. One that still stands among the live loops is put
/// away first: the process that ended it died before it could.
pub fn let_go(home: &Home, file: &LoopFile, state: &LoopState) -> Result<()> {
    if !is_put_away(home, file) {
        return put_away(home, file, state, Entry::Remove).map(drop);
    }
    release(home, file, &state.session_id)
}

/// What becomes of a session's manifest entry when its loop ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// The session knows: the entry is removed.
    Remove,
    /// The session has not heard yet: the entry stays as a tombstone, which its next hook acts on
    /// and removes.
    KeepAsTombstone,
}

/// Puts an ended loop away. Returns where its state stands now.
pub fn put_away(home: &Home, file: &LoopFile, state: &LoopState, entry: Entry) -> Result<LoopFile> {
    home.prepare()?;
    let at = state.ending.as_ref().map_or_else(clock::now, |ending| ending.at);
    let archived = archive::put_away(home, file, &state.loop_id, at)?;
    point_project_at(home, &archived, &state.project_root)?;
    match entry {
        Entry::Remove => release(home, file, &state.session_id)?,
        Entry::KeepAsTombstone => bind(home, &archived, &state.session_id)?,
    }
    Ok(archived)
}

/// All loops that have not ended, by their folders; unreadable ones come with the reason.
pub fn all(home: &Home) -> Vec<(LoopFile, Result<LoopState>)> {
    let Ok(folders) = std::fs::read_dir(home.loops()) else { return Vec::new() };
    let mut files: Vec<LoopFile> = folders
        .filter_map(|entry| Some(LoopFile::at(entry.ok()?.path().join("state.json"))))
        .collect();
    files.sort_by(|a, b| a.path().cmp(b.path()));
    files
        .into_iter()
        .filter_map(|file| match file.read() {
            Ok(None) => None,
            Ok(Some(loaded)) => Some((file, Ok(loaded.state))),
            Err(error) => Some((file, Err(error))),
        })
        .collect()
}

/// All loops that have ended, oldest first; unreadable ones come with the reason.
pub fn ended(home: &Home) -> Vec<(LoopFile, Result<LoopState>)> {
    archive::folders(home)
        .into_iter()
        .map(|folder| LoopFile::at(folder.join("state.json")))
        .filter_map(|file| match file.read() {
            Ok(loaded) => loaded.map(|loaded| (file, Ok(loaded.state))),
            Err(error) => Some((file, Err(error))),
        })
        .collect()
}

/// The state file of a loop by its id, wherever it stands; none if there is no such loop.
pub fn by_id(home: &Home, loop_id: &str) -> Option<LoopFile> {
    // An id that could leave the folder is no id, for a loop as for a session.
    Key::session(loop_id)?;
    let path = home.loops().join(loop_id).join("state.json");
    if path.exists() { Some(LoopFile::at(path)) } else { archive::find(home, &path) }
}

/// Makes a loop the one that its project is asked about.
pub fn point_project_at(home: &Home, file: &LoopFile, project_root: &str) -> Result<()> {
    let identity = project::identity(Path::new(project_root));
    manifest::write(home, &Key::project(&identity), file.path())
}

/// A folder of its own for the loop; its name is the loop's id.
fn make_folder(home: &Home, state: &mut LoopState) -> Result<LoopFile> {
    for attempt in 0..100_u32 {
        let id = loop_id(state.created_at, attempt);
        let folder = home.loops().join(&id);
        match DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => {
                // Before anything points there: an entry that outlives its loop leads nowhere.
                atomic::sync_folder(&folder)
                    .with_context(|| format!("could not sync `{}`", home.loops().display()))?;
                state.loop_id = id;
                return Ok(LoopFile::at(folder.join("state.json")));
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("could not make the folder `{}`", folder.display()));
            }
        }
    }
    anyhow::bail!("could not find a free loop id in `{}`", home.loops().display())
}

/// `20260131-235959-1f3a`: readable, sortable, and different for loops of the same second.
fn loop_id(at: Timestamp, attempt: u32) -> String {
    let salt =
        std::process::id().wrapping_mul(31).wrapping_add(at.subsec_millisecond() as u32 + attempt);
    let second = clock::compact(at).replace('T', "-").replace('Z', "");
    format!("{second}-{:04x}", salt & 0xffff)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::state::{EndingKind, Phase};

    struct Place {
        _folder: tempfile::TempDir,
        home: Home,
        state: LoopState,
        file: LoopFile,
    }

    fn running_loop() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("home"));
        let mut state = LoopState {
            session_id: "s".to_owned(),
            phase: Phase::Implementation,
            created_at: clock::now(),
            project_root: folder.path().display().to_string(),
            ..LoopState::default()
        };
        let file = create(&home, &mut state).unwrap();
        Place { _folder: folder, home, state, file }
    }

    #[test]
    fn a_loop_is_found_by_its_session_and_by_its_project() {
        let at = running_loop();
        assert_eq!(of_session(&at.home, "s").unwrap().as_ref(), Some(&at.file));
        assert_eq!(of_project(&at.home, Path::new(&at.state.project_root)).unwrap(), Some(at.file));
        assert_eq!(of_session(&at.home, "other").unwrap(), None);
        assert_eq!(of_session(&at.home, "../loops").unwrap(), None);
    }

    #[test]
    fn an_ended_loop_is_put_away_and_its_entry_removed_or_left_as_a_tombstone() {
        for (entry, bound) in [(Entry::Remove, false), (Entry::KeepAsTombstone, true)] {
            let mut at = running_loop();
            at.state.end(EndingKind::Cancelled, "", clock::now());
            at.file.update(|state| *state = at.state.clone()).unwrap();
            let archived = put_away(&at.home, &at.file, &at.state, entry).unwrap();
            assert!(archived.path().starts_with(at.home.archive()));
            assert_eq!(archived.read().unwrap().unwrap().state.ending, at.state.ending);
            assert!(!at.file.folder().exists());
            assert_eq!(of_session(&at.home, "s").unwrap().is_some(), bound);
        }
    }

    #[test]
    fn an_entry_that_missed_the_move_is_followed_into_the_archive() {
        let at = running_loop();
        let archived =
            archive::put_away(&at.home, &at.file, &at.state.loop_id, clock::now()).unwrap();
        assert_eq!(of_session(&at.home, "s").unwrap(), Some(archived));
    }

    #[test]
    fn loops_of_the_same_moment_get_different_ids() {
        let at = running_loop();
        let mut twin = at.state.clone();
        create(&at.home, &mut twin).unwrap();
        assert_ne!(twin.loop_id, at.state.loop_id);
        assert_eq!(all(&at.home).len(), 2);
    }
}
