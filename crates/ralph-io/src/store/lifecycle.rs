//! Starts, finds, binds, ends and archives whole loops.
//!
//! Each step leaves a state that the next hook can handle: for example, a manifest entry may point
//! at a loop that was just archived, and is followed to the archive.

mod give_up;

pub use give_up::{GivenUp, LoopOwnership, give_up};

use crate::process::clock;
use crate::project;
use crate::store::home::Home;
use crate::store::lock::Lock;
use crate::store::loop_file::{Loaded, LoopFile};
use crate::store::manifest::ManifestKey;
use crate::store::second_place::SecondPlace;
use crate::store::{
    archive, atomic, digest, journal, lock, manifest, notice, second_place, wall_flag,
};
use anyhow::{Context, Result};
use jiff::Timestamp;
use ralph_core::modes::mode;
use ralph_core::state::{LoopState, Phase};
use ralph_core::tasks::plan;
use serde::Serialize;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::Duration;

/// A start writes and syncs several files, and on a busy disk each sync may take a second. The
/// second copy of the prompt hook waits for the first: if it gave up, the client would show its
/// refusal although the loop has started. Shorter than that hook's own timeout of ten seconds.
const TO_START: Duration = Duration::from_secs(6);

/// When a session ends, the client kills its hooks after 1.5 seconds, and these hooks archive what
/// was left. What does not fit in that time is archived by the session's next hook.
const TO_PUT_AWAY: Duration = Duration::from_secs(1);

/// Locks out other starts between the check for existing loops and the creation of one.
///
/// # Errors
/// If another start takes too long, or the home cannot be created.
pub fn lock_starts(home: &Home) -> Result<Lock> {
    home.prepare()?;
    lock::take(&home.loops(), TO_START)
}

/// True if a loop whose state names another session, or none, was moved away from this session: its
/// lineage names this session, or the session in the state is bound to it. This session's entry is
/// then a leftover.
pub fn has_left(home: &Home, file: &LoopFile, state: &LoopState, session_id: &str) -> bool {
    let is_anothers = || of_session(home, &state.session_id).ok().flatten().as_ref() == Some(file);
    state.lineage.iter().any(|bound| bound.session_id == session_id) || is_anothers()
}

/// Creates a loop: its folder, its state, the project's entry and, if it is bound, its session's
/// entry. Sets the state's `loop_id`.
pub fn create(home: &Home, state: &mut LoopState) -> Result<LoopFile> {
    // Checked before anything is written: a loop that cannot be bound must not be left behind.
    check_session_id(&state.session_id)?;
    home.prepare()?;
    let file = make_folder(home, state)?;
    file.create(state)?;
    point_projects_at(home, &file, state)?;
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

/// Checks that a loop can be bound to this session. An empty id is accepted and binds nothing.
pub fn check_session_id(session_id: &str) -> Result<()> {
    match session_id {
        "" => Ok(()),
        id => session_key(id).map(drop),
    }
}

fn session_key(session_id: &str) -> Result<ManifestKey> {
    ManifestKey::session(session_id).with_context(|| {
        let shown: String = session_id.chars().take(80).collect();
        format!("the session id `{}` cannot be used as a file name", shown.escape_debug())
    })
}

/// Frees a session's manifest entry if it points at this loop, or at its place before it was
/// archived. True if this call freed it.
///
/// Takes the state's lock: a process that archives the loop at this moment may be about to write
/// the entry again.
///
/// # Errors
/// If the entry cannot be trusted, or the lock is not free in time.
pub fn release(home: &Home, file: &LoopFile, session_id: &str) -> Result<bool> {
    let _held = file.hold(TO_PUT_AWAY)?;
    free(home, file, session_id)
}

fn free(home: &Home, file: &LoopFile, session_id: &str) -> Result<bool> {
    let Some(key) = ManifestKey::session(session_id) else { return Ok(false) };
    match manifest::read(home, &key)? {
        Some(path) if path == file.path() || follow(home, &path) == *file => {
            manifest::remove(home, &key, &path)
        }
        _ => Ok(false),
    }
}

/// True unless the loop is in the folder of live loops.
pub fn is_put_away(home: &Home, file: &LoopFile) -> bool {
    file.folder().parent() != Some(home.loops().as_path())
}

/// Frees the session of an ended loop. A loop that is still in the folder of live loops is archived
/// first: the process that ended it died before archiving it, or is about to. True if this call
/// freed the session, so that only one of several callers tells the user.
pub fn let_go(home: &Home, file: &LoopFile, state: &LoopState) -> Result<bool> {
    if !is_put_away(home, file) {
        return put_away(home, file, state, ManifestFate::Remove).map(|away| away.freed);
    }
    release(home, file, &state.session_id)
}

/// What happens to a session's manifest entry when its loop ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManifestFate {
    /// The session knows of the ending: the entry is removed.
    Remove,
    /// The session does not know yet: the entry stays as a tombstone, which its next hook handles
    /// and removes.
    KeepAsTombstone,
}

/// An archived loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutAway {
    /// Where its state is now.
    pub file: LoopFile,
    /// True if this call freed the session.
    pub freed: bool,
}

/// Archives an ended loop.
///
/// Holds the state's lock during the move and the change of the entry. Otherwise a process that had
/// begun to write would lose its folder. And if another process acknowledged the ending meanwhile,
/// the entry would be created again, as a tombstone that reports the ending twice.
///
/// # Errors
/// If the disk or the lock is not available; the session's next hook then archives the loop.
pub fn put_away(
    home: &Home,
    file: &LoopFile,
    state: &LoopState,
    entry: ManifestFate,
) -> Result<PutAway> {
    home.prepare()?;
    let at = state.ending.as_ref().map_or_else(clock::now, |ending| ending.at);
    let held = file.hold(TO_PUT_AWAY)?;
    if held.is_some() {
        // Before the move: if this process is killed in between, the one that archives the loop
        // calls the user.
        notice::call_if_due(file, state);
    }
    // Before the move, which nothing may undo.
    if let Some(place) = SecondPlace::for_state(file.path()) {
        place.remove();
    }
    let archived = archive::put_away(home, file, &state.loop_id, at)?;
    // If another process moved the loop, it holds the lock, which has moved along, until the entry
    // is final.
    let _moved = if held.is_none() { archived.hold(TO_PUT_AWAY)? } else { None };
    if held.is_some() {
        // Otherwise another process archived the loop, and the project may have a new one by now.
        point_projects_at(home, &archived, state)?;
    }
    if state.ralplan().is_some() {
        wall_flag::lower_all(home, file);
    }
    let freed = match (entry, held) {
        // A foreign state was copied and keeps its path; a loop that another process archived has a
        // new one. So try both paths.
        (ManifestFate::Remove, _) => {
            let id = &state.session_id;
            free(home, file, id)? || free(home, &archived, id)?
        }
        (ManifestFate::KeepAsTombstone, Some(_)) => {
            bind(home, &archived, &state.session_id)?;
            false
        }
        (ManifestFate::KeepAsTombstone, None) => false,
    };
    Ok(PutAway { file: archived, freed })
}

/// Moves an archived loop back among the live ones. Until its state says otherwise, the next hook archives it again.
pub fn take_back(home: &Home, archived: &LoopFile) -> Result<LoopFile> {
    let held = archived.hold(lock::DEADLINE)?;
    let loaded = archived.read()?.context("the archived loop is gone")?;
    let folder = home.loops().join(&loaded.state.loop_id);
    std::fs::rename(archived.folder(), &folder)
        .with_context(|| format!("could not take back `{}`", archived.folder().display()))?;
    atomic::sync_folder(&folder).and_then(|()| atomic::sync_folder(archived.folder()))?;
    drop(held);
    Ok(LoopFile::at(folder.join("state.json")))
}

/// Appends to a loop's journal, even if another process is archiving the loop.
pub fn note<R: Serialize>(
    home: &Home,
    file: &LoopFile,
    entry: &journal::JournalEntry<R>,
) -> Result<()> {
    journal::append(file.folder(), entry).or_else(|error| {
        let moved = archive::find(home, file.path()).ok_or(error)?;
        journal::append(moved.folder(), entry)
    })
}

/// Makes this the loop that the project's entry names.
pub fn point_project_at(home: &Home, file: &LoopFile, project_root: &str) -> Result<()> {
    let identity = project::identity(Path::new(project_root));
    manifest::write(home, &ManifestKey::project(&identity), file.path())
}

/// Points the project's entry at this loop, unless it is a worker's: users ask for the loop above
/// it.
fn point_projects_at(home: &Home, file: &LoopFile, state: &LoopState) -> Result<()> {
    match state.parent {
        Some(_) => Ok(()),
        // A planned loop stays the one that `/ralph` starts next, even while its tasks are refined.
        None if !mode::rules(&state.mode).has_tasks() && is_planned(home, &state.project_root) => {
            Ok(())
        }
        None => point_project_at(home, file, &state.project_root),
    }
}

fn is_planned(home: &Home, project_root: &str) -> bool {
    let file = of_project(home, Path::new(project_root)).ok().flatten();
    let loaded = file.and_then(|file| file.read().ok().flatten());
    loaded.is_some_and(|loaded| loaded.state.phase == Phase::Planned)
}

/// Creates a new folder for the loop, named after its id.
fn make_folder(home: &Home, state: &mut LoopState) -> Result<LoopFile> {
    for attempt in 0..100_u32 {
        let id = loop_id(state.created_at, attempt);
        let folder = home.loops().join(&id);
        match DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => {
                // Synced before anything points here: otherwise an entry could survive a crash
                // without its loop.
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
    format!("{}-{:04x}", second(at), salt & 0xffff)
}

fn second(at: Timestamp) -> String {
    clock::compact(at).replace('T', "-").replace('Z', "")
}

/// The loop that a session is bound to.
///
/// # Errors
/// If the manifest entry cannot be trusted.
pub fn of_session(home: &Home, session_id: &str) -> Result<Option<LoopFile>> {
    let Some(key) = ManifestKey::session(session_id) else { return Ok(None) };
    let Some(path) = manifest::read(home, &key)? else { return Ok(None) };
    Ok(Some(follow(home, &path)))
}

/// The project's planned or most recent loop.
pub fn of_project(home: &Home, folder: &Path) -> Result<Option<LoopFile>> {
    let key = ManifestKey::project(&project::identity(folder));
    let Some(path) = manifest::read(home, &key)? else { return Ok(None) };
    Ok(Some(follow(home, &path)))
}

/// Finds a loop's state file by its id, live or archived.
pub fn by_id(home: &Home, loop_id: &str) -> Option<LoopFile> {
    // Reject an id that could leave the folder, as for a session.
    ManifestKey::session(loop_id)?;
    let path = home.loops().join(loop_id).join("state.json");
    if path.exists() {
        return Some(LoopFile::at(path));
    }
    archive::find(home, &path).or_else(|| {
        let file = in_place(home)?;
        let loaded = read_named(home, &file).ok().flatten()?;
        (loaded.state.loop_id == loop_id).then_some(file)
    })
}

/// Finds and reads a loop by its id, live or archived.
pub fn read_by_id(home: &Home, loop_id: &str) -> Result<Option<(LoopFile, Loaded)>> {
    by_id(home, loop_id).map_or(Ok(None), |file| read(home, file))
}

/// Reads a state file, even if another process is archiving it.
pub fn read(home: &Home, file: LoopFile) -> Result<Option<(LoopFile, Loaded)>> {
    if let Some(loaded) = read_named(home, &file)? {
        return Ok(Some((file, loaded)));
    }
    let Some(moved) = archive::find(home, file.path()) else { return Ok(None) };
    Ok(moved.read()?.map(|loaded| (moved, loaded)))
}

/// The state file at a path, or in the archive if its loop was moved there.
fn follow(home: &Home, path: &Path) -> LoopFile {
    if !path.exists()
        && let Some(archived) = archive::find(home, path)
    {
        return archived;
    }
    LoopFile::at(path)
}

/// The live loop whose own state names this session, for a session without a usable manifest entry.
pub fn by_its_state(home: &Home, session_id: &str) -> Option<LoopFile> {
    home.check().ok()?;
    let is_its = |state: &LoopState| {
        state.is_of(session_id) && state.is_live() && state.strangeness().is_none()
    };
    all(home).into_iter().find_map(|(file, state)| is_its(&state.ok()?).then_some(file))
}

/// True if this session is certainly bound to a loop of ours, however damaged: it has an entry of
/// its own or, if all sessions share one, a state of ours names the session.
pub fn is_bound(home: &Home, session_id: &str) -> bool {
    let Some(key) = ManifestKey::session(session_id) else { return false };
    if home.single_manifest().is_none() {
        return manifest::is_there(home, &key);
    }
    let shared = manifest::read(home, &key).ok().flatten().map(LoopFile::at);
    shared.and_then(|file| file.salvage()).is_some_and(|state| state.is_of(session_id))
        || by_its_state(home, session_id).is_some()
}

/// True if a session's entry is unusable, or names a loop of which nothing exists.
pub fn is_one_lost(home: &Home) -> bool {
    let is_lost = |path: &Path| {
        let file = follow(home, path);
        !file.path().starts_with(home.archive()) && matches!(file.read(), Ok(None))
    };
    let entries = manifest::sessions(home);
    entries.into_iter().any(|(_, path)| path.map_or(true, |path| is_lost(&path)))
}

/// All loops that have not ended, in folder order; an unreadable one comes with its error.
pub fn all(home: &Home) -> Vec<(LoopFile, Result<LoopState>)> {
    all_loaded(home).into_iter().map(|(file, loaded)| (file, loaded.map(|it| it.state))).collect()
}

/// As [`all`], with the files as read, for a caller that then changes the states.
pub fn all_loaded(home: &Home) -> Vec<(LoopFile, Result<Loaded>)> {
    let names = |folder: &Path| -> BTreeSet<OsString> {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        entries.filter_map(|entry| Some(entry.ok()?.file_name())).collect()
    };
    let at = |name: &OsString| LoopFile::at(home.loops().join(name).join("state.json"));
    let mut all = names(&home.loops());
    // A loop whose folder something else has removed.
    let kept = second_place::apart_from(home.root()).map(|kept| names(&kept)).unwrap_or_default();
    let is_lost = |name: &OsString| {
        name != second_place::SESSIONS && archive::find(home, at(name).path()).is_none()
    };
    let lost: Vec<OsString> = kept.difference(&all).filter(|name| is_lost(name)).cloned().collect();
    all.extend(lost);
    all.iter()
        .map(at)
        .filter_map(|file| match file.read() {
            Ok(None) => None,
            Ok(Some(loaded)) => Some((file, Ok(loaded))),
            Err(error) => Some((file, Err(error))),
        })
        .collect()
}

/// All ended loops, oldest first; an unreadable one comes with its error.
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

/// The foreign state that a single manifest names, if it is outside Ralph's folders.
pub fn in_place(home: &Home) -> Option<LoopFile> {
    // Every session has the same entry then, so any id will do.
    home.single_manifest()?;
    of_session(home, "any").ok().flatten().filter(|file| is_in_place(home, file))
}

/// True for a state that a single manifest names and that is outside Ralph's own folders: another
/// tool may have written it.
pub fn is_in_place(home: &Home, file: &LoopFile) -> bool {
    home.single_manifest().is_some()
        && is_put_away(home, file)
        && !file.path().starts_with(home.archive())
}

/// Reads a state. A foreign one is completed, the same wherever it is read.
pub fn read_named(home: &Home, file: &LoopFile) -> Result<Option<Loaded>> {
    let mut loaded = file.read()?;
    if let Some(loaded) = &mut loaded
        && is_in_place(home, file)
    {
        complete(file, &mut loaded.state, Path::new(""));
    }
    Ok(loaded)
}

/// Adds what other tools do not write, and treats nothing that the state claims as evidence. A state
/// that names no project gets this one.
pub fn complete(file: &LoopFile, state: &mut LoopState, project: &Path) {
    if state.loop_id.is_empty() {
        plan::taken_in(state);
        state.loop_id = id_in_place(file, state);
    }
    if state.project_root.is_empty() {
        state.project_root = project.to_string_lossy().into_owned();
    }
}

/// Deterministic, so that the id can be shown before it is written.
fn id_in_place(file: &LoopFile, state: &LoopState) -> String {
    let digest = digest::of_bytes(file.path().as_os_str().as_encoded_bytes());
    let salt = &digest[digest.len() - 4..];
    format!("{}-{salt}", second(state.created_at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::state::{EndingKind, ModeState, RefineState};

    pub(super) struct TestLoop {
        _folder: tempfile::TempDir,
        pub(super) home: Home,
        pub(super) state: LoopState,
        pub(super) file: LoopFile,
    }

    pub(super) fn running_loop() -> TestLoop {
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
        TestLoop { _folder: folder, home, state, file }
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
    fn the_loop_of_a_worker_is_not_its_projects() {
        let at = running_loop();
        let root = Path::new(&at.state.project_root);
        let mut worker = LoopState {
            session_id: "worker".to_owned(),
            parent: Some(at.state.loop_id.clone()),
            ..at.state.clone()
        };
        let file = create(&at.home, &mut worker).unwrap();
        assert_eq!(of_session(&at.home, "worker").unwrap().as_ref(), Some(&file));
        assert_eq!(of_project(&at.home, root).unwrap().as_ref(), Some(&at.file));
        worker.end(EndingKind::Cancelled, "", clock::now());
        put_away(&at.home, &file, &worker, ManifestFate::Remove).unwrap();
        assert_eq!(of_project(&at.home, root).unwrap(), Some(at.file));
    }

    #[test]
    fn an_ended_loop_is_put_away_and_its_entry_removed_or_left_as_a_tombstone() {
        for (entry, bound) in [(ManifestFate::Remove, false), (ManifestFate::KeepAsTombstone, true)]
        {
            let mut at = running_loop();
            at.state.end(EndingKind::Cancelled, "", clock::now());
            at.file.update(|state| *state = at.state.clone()).unwrap();
            let away = put_away(&at.home, &at.file, &at.state, entry).unwrap();
            let archived = away.file;
            assert_eq!(away.freed, !bound);
            assert!(archived.path().starts_with(at.home.archive()));
            assert_eq!(archived.read().unwrap().unwrap().state.ending, at.state.ending);
            assert!(!at.file.folder().exists());
            assert_eq!(of_session(&at.home, "s").unwrap().is_some(), bound);
        }
    }

    #[test]
    fn a_loop_that_is_put_away_while_it_is_looked_for_is_found_where_it_went() {
        let mut at = running_loop();
        let seen = by_id(&at.home, &at.state.loop_id).unwrap();
        at.state.end(EndingKind::Cancelled, "", clock::now());
        at.file.update(|state| *state = at.state.clone()).unwrap();
        let away = put_away(&at.home, &at.file, &at.state, ManifestFate::Remove).unwrap();
        let (file, loaded) = read(&at.home, seen).unwrap().unwrap();
        assert_eq!((file, loaded.state.ending), (away.file, at.state.ending));
        assert!(read_by_id(&at.home, "none-of-ours").unwrap().is_none());
    }

    #[test]
    fn an_archive_that_another_process_just_makes_is_not_taken_for_the_loop() {
        let at = running_loop();
        let loop_id = at.state.loop_id.clone();
        std::fs::remove_dir_all(at.file.folder()).unwrap();
        let folder = at.home.archive().join(format!("ralph_archive_20260101T000000Z_{loop_id}"));
        std::fs::create_dir(&folder).unwrap();
        assert_eq!(of_session(&at.home, "s").unwrap().unwrap(), at.file);
        let archived = LoopFile::at(folder.join("state.json"));
        archived.create(&at.state).unwrap();
        assert_eq!(of_session(&at.home, "s").unwrap().unwrap(), archived);
    }

    #[test]
    fn a_tombstone_that_was_acknowledged_is_not_made_again() {
        let mut at = running_loop();
        at.state.end(EndingKind::Cancelled, "", clock::now());
        at.file.update(|state| *state = at.state.clone()).unwrap();
        assert!(let_go(&at.home, &at.file, &at.state).unwrap(), "the session's hook was faster");
        let late = put_away(&at.home, &at.file, &at.state, ManifestFate::KeepAsTombstone).unwrap();
        assert!(!late.freed && late.file.read().unwrap().is_some());
        assert_eq!(of_session(&at.home, "s").unwrap(), None);
        assert!(!let_go(&at.home, &at.file, &at.state).unwrap(), "it is told of once");
    }

    #[test]
    fn who_finds_a_loop_moved_waits_until_its_entry_is_a_tombstone_and_frees_that() {
        let mut at = running_loop();
        at.state.end(EndingKind::Cancelled, "", clock::now());
        at.file.update(|state| *state = at.state.clone()).unwrap();
        let held = at.file.hold(TO_PUT_AWAY).unwrap();
        let archived =
            archive::put_away(&at.home, &at.file, &at.state.loop_id, clock::now()).unwrap();
        let (at, (told, tells)) = (&at, std::sync::mpsc::channel());
        std::thread::scope(|scope| {
            // On a busy machine one attempt may time out before its turn.
            let patient = || std::iter::repeat_with(|| let_go(&at.home, &at.file, &at.state));
            scope.spawn(move || told.send(patient().find_map(Result::ok)).unwrap());
            // Only a caller that does not wait finishes within this time.
            let early = tells.recv_timeout(std::time::Duration::from_millis(200));
            assert!(early.is_err(), "it did not wait");
            bind(&at.home, &archived, "s").unwrap();
            drop(held);
            assert!(tells.recv().unwrap().unwrap());
        });
        assert_eq!(of_session(&at.home, "s").unwrap(), None);
    }

    #[test]
    fn a_line_that_missed_the_move_is_written_into_the_archive() {
        let at = running_loop();
        let archived =
            archive::put_away(&at.home, &at.file, &at.state.loop_id, clock::now()).unwrap();
        let entry: journal::JournalEntry = serde_json::from_str(
            r#"{"at": "2026-01-01T00:00:00Z", "event": "Stop", "decision": "go on", "why": ""}"#,
        )
        .unwrap();
        note(&at.home, &at.file, &entry).unwrap();
        assert_eq!(journal::read(archived.folder()), [entry]);
    }

    #[test]
    fn an_entry_that_missed_the_move_is_followed_into_the_archive() {
        let at = running_loop();
        let archived =
            archive::put_away(&at.home, &at.file, &at.state.loop_id, clock::now()).unwrap();
        assert_eq!(of_session(&at.home, "s").unwrap(), Some(archived));
    }

    #[test]
    fn an_entry_is_lost_if_it_is_unusable_or_nothing_exists_of_what_it_names() {
        let mut at = running_loop();
        assert!(!is_one_lost(&at.home), "it names a loop");
        let key = ManifestKey::session("t").unwrap();
        let never = at.home.loops().join("never/state.json");
        manifest::write(&at.home, &key, &never).unwrap();
        assert!(is_one_lost(&at.home));
        manifest::write(&at.home, &key, &at.home.archive().join("swept/state.json")).unwrap();
        assert!(!is_one_lost(&at.home), "it had ended");
        atomic::write(&at.home.manifest_folder().join("t"), b"relative").unwrap();
        assert!(is_one_lost(&at.home));
        manifest::discard(&at.home, &key, at.home.root()).unwrap();
        std::fs::remove_dir_all(at.file.folder()).unwrap();
        assert!(!is_one_lost(&at.home), "a copy of its state is kept apart");
        at.file.update(|state| state.prompt = "again".to_owned()).unwrap().unwrap();
        at.state.end(EndingKind::Cancelled, "", clock::now());
        put_away(&at.home, &at.file, &at.state, ManifestFate::KeepAsTombstone).unwrap();
        assert!(!is_one_lost(&at.home), "its end is still to be told");
    }

    #[test]
    fn a_loop_whose_folder_was_removed_is_listed_and_an_archived_one_is_not() {
        let mut at = running_loop();
        // The copy of this session's entry has the name of a loop's state.
        bind(&at.home, &at.file, "state.json").unwrap();
        let listed = |home: &Home| -> Vec<(LoopFile, LoopState)> {
            all(home).into_iter().map(|(file, state)| (file, state.unwrap())).collect()
        };
        let one = [(at.file.clone(), at.state.clone())];
        assert_eq!(listed(&at.home), one);
        std::fs::remove_dir_all(at.file.folder()).unwrap();
        assert_eq!(listed(&at.home), one);
        let text = serde_json::to_vec(&at.state).unwrap();
        at.file.update(|state| state.prompt = "again".to_owned()).unwrap().unwrap();
        at.state.end(EndingKind::Cancelled, "", clock::now());
        put_away(&at.home, &at.file, &at.state, ManifestFate::Remove).unwrap();
        let place = SecondPlace::for_state(at.file.path()).unwrap();
        place.announce(&[], &text).unwrap();
        place.keep(&text);
        assert_eq!(place.copy(), Some(text), "a killed writer left it");
        assert!(listed(&at.home).is_empty());
    }

    #[test]
    fn a_loop_has_left_a_session_that_it_names_as_an_earlier_one_or_if_another_is_bound() {
        let at = running_loop();
        let mut other = LoopState { session_id: "u".to_owned(), ..at.state.clone() };
        create(&at.home, &mut other).unwrap();
        let bound = |id: &str| ralph_core::state::Bound {
            session_id: id.to_owned(),
            ..ralph_core::state::Bound::default()
        };
        let rows: [(&str, &[&str], bool); 8] = [
            ("s", &[], true),
            ("t", &[], false),
            ("", &[], false),
            ("u", &[], false),
            ("../s", &[], false),
            ("t", &["x"], false),
            ("t", &["x", "t"], true),
            ("", &["t", "x"], true),
        ];
        for (session, lineage, left) in rows {
            let state = LoopState {
                session_id: session.to_owned(),
                lineage: lineage.iter().map(|id| bound(id)).collect(),
                ..at.state.clone()
            };
            assert_eq!(has_left(&at.home, &at.file, &state, "t"), left, "{session} {lineage:?}");
        }
    }

    #[test]
    fn a_planned_loop_stays_its_projects_while_it_is_refined_and_until_another_works() {
        let at = running_loop();
        let add = |phase: Phase, mode: ModeState| {
            let session_id = String::new();
            let mut state = LoopState { phase, mode, session_id, ..at.state.clone() };
            create(&at.home, &mut state).unwrap()
        };
        let refine = || RefineState::default().into();
        let first = add(Phase::Implementation, refine());
        let root = Path::new(&at.state.project_root);
        let of_it = || of_project(&at.home, root).unwrap().unwrap();
        assert_eq!(of_it(), first, "nothing was planned");
        let planned = add(Phase::Planned, ModeState::Plain);
        assert_eq!(of_it(), planned);
        add(Phase::Implementation, refine());
        assert_eq!(of_it(), planned);
        let working = add(Phase::Implementation, ModeState::Plain);
        assert_eq!(of_it(), working);
    }

    #[test]
    fn a_session_is_freed_of_its_own_loop_alone_and_once() {
        let at = running_loop();
        let mut other = LoopState { session_id: "t".to_owned(), ..at.state.clone() };
        let other = create(&at.home, &mut other).unwrap();
        for (id, file, freed) in [
            ("t", &at.file, false),
            ("s", &other, false),
            ("none", &at.file, false),
            ("../s", &at.file, false),
            ("", &at.file, false),
            ("s", &at.file, true),
            ("s", &at.file, false),
        ] {
            assert_eq!(release(&at.home, file, id).unwrap(), freed, "{id}");
            assert_eq!(of_session(&at.home, "t").unwrap().as_ref(), Some(&other), "{id}");
        }
        assert_eq!(of_session(&at.home, "s").unwrap(), None);
        assert!(["", "s", "f85a-41"].into_iter().all(|id| check_session_id(id).is_ok()));
        for (id, shown) in [("../s", "../s".to_owned()), (&"x/".repeat(99), "x/".repeat(40))] {
            let why = format!("the session id `{shown}` cannot be used as a file name");
            assert_eq!(check_session_id(id).unwrap_err().to_string(), why);
        }
    }

    #[test]
    fn a_loop_is_found_by_its_id_wherever_it_is_and_the_ended_ones_are_listed() {
        let mut at = running_loop();
        let id = at.state.loop_id.clone();
        let mut twin = at.state.clone();
        let twin_file = create(&at.home, &mut twin).unwrap();
        let found = |id: &str| {
            let seen = read_by_id(&at.home, id).unwrap();
            seen.map(|(file, loaded)| (file, loaded.state))
        };
        assert_eq!(found(&id), Some((at.file.clone(), at.state.clone())));
        assert_eq!(found(&twin.loop_id), Some((twin_file.clone(), twin.clone())));
        assert_eq!(["", "none", "../loops"].map(found), [None, None, None]);
        assert!(ended(&at.home).is_empty());
        assert!(!is_put_away(&at.home, &at.file));
        at.state.end(EndingKind::Cancelled, "", clock::now());
        at.file.update(|state| *state = at.state.clone()).unwrap();
        assert!(!let_go(&at.home, &at.file, &at.state).unwrap(), "the session is the twin's");
        let archived = by_id(&at.home, &id).unwrap();
        assert!(is_put_away(&at.home, &archived) && !at.file.folder().exists());
        let listed: Vec<_> = ended(&at.home)
            .into_iter()
            .map(|(file, state)| (file, state.unwrap().loop_id))
            .collect();
        assert_eq!(listed, [(archived, id)]);
    }

    #[test]
    fn a_session_is_bound_if_it_has_an_entry_however_damaged() {
        let at = running_loop();
        let bound = |id: &str| is_bound(&at.home, id);
        assert_eq!(["s", "t", "", "../s"].map(bound), [true, false, false, false]);
        atomic::write(&at.home.manifest_folder().join("s"), b"relative").unwrap();
        assert!(bound("s"));
        let state = by_its_state(&at.home, "s");
        assert_eq!((state, by_its_state(&at.home, "t")), (Some(at.file.clone()), None));
        at.file.update(|state| state.phase = Phase::Planned).unwrap();
        assert_eq!(by_its_state(&at.home, "s"), None);
    }

    #[test]
    fn a_state_in_place_is_named_by_its_manifest_and_completed_alike_wherever_it_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let [single, path] = ["manifest", "state.json"].map(|name| folder.path().join(name));
        let plain = Home::at(folder.path().join("home"));
        plain.prepare().unwrap();
        let home = plain.clone().with_manifest(&single);
        let file = LoopFile::at(&path);
        let text = r#"{"session_id": "s", "phase": "IMPLEMENTATION", "created_at": "2026-01-31T23:59:59Z"}"#;
        atomic::write(&path, text.as_bytes()).unwrap();
        assert_eq!((in_place(&home), is_bound(&home, "s")), (None, false), "nothing is named");
        bind(&home, &file, "s").unwrap();
        assert_eq!(in_place(&home), Some(file.clone()));
        assert!(is_in_place(&home, &file) && !is_in_place(&plain, &file));
        for folder in [home.loops(), home.archive()] {
            assert!(!is_in_place(&home, &LoopFile::at(folder.join("L/state.json"))));
        }
        assert_eq!(
            ["s", "t", "", "../s"].map(|id| is_bound(&home, id)),
            [true, false, false, false]
        );

        let digest = digest::of_bytes(path.as_os_str().as_encoded_bytes());
        let id = format!("20260131-235959-{}", &digest[digest.len() - 4..]);
        let read = read_named(&home, &file).unwrap().unwrap().state;
        assert_eq!((read.loop_id.as_str(), read.project_root.as_str()), (id.as_str(), ""));
        assert_eq!(read_named(&plain, &file).unwrap().unwrap().state.loop_id, "");
        assert_eq!((by_id(&home, &id), by_id(&home, "other")), (Some(file.clone()), None));
        let mut state = LoopState { loop_id: "mine".to_owned(), ..LoopState::default() };
        for project in ["/p", "/q"] {
            complete(&file, &mut state, Path::new(project));
            assert_eq!((state.loop_id.as_str(), state.project_root.as_str()), ("mine", "/p"));
        }

        let mut live = LoopState {
            session_id: "t".to_owned(),
            phase: Phase::Implementation,
            project_root: "/p".to_owned(),
            ..LoopState::default()
        };
        let live = create(&plain, &mut live).unwrap();
        assert!(is_bound(&home, "t"), "{}", live.path().display());
        bind(&home, &live, "t").unwrap();
        assert_eq!(in_place(&home), None, "it is Ralph's own");
    }

    #[test]
    fn an_id_tells_the_second_and_the_next_attempt_has_the_next() {
        let at: Timestamp = "2026-01-31T23:59:59.007Z".parse().unwrap();
        let salt = std::process::id().wrapping_mul(31).wrapping_add(7);
        for attempt in [0, 1, 2, 50] {
            let expected = format!("20260131-235959-{:04x}", (salt + attempt) & 0xffff);
            assert_eq!(loop_id(at, attempt), expected);
        }
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path());
        let why = make_folder(&home, &mut LoopState::default()).unwrap_err().to_string();
        let shown = home.loops().join(loop_id(Timestamp::UNIX_EPOCH, 0)).display().to_string();
        assert_eq!(why, format!("could not make the folder `{shown}`"));
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
