//! Carries out what happens to a whole loop: begin, bind, end, put away.
//!
//! Each step leaves something that the next hook can make sense of: a manifest entry may point at
//! a loop that was just put away, and is followed there.

use crate::project;
use crate::store::home::Home;
use crate::store::lock::{self, Lock};
use crate::store::loop_file::{Loaded, LoopFile};
use crate::store::manifest::{self, ManifestKey};
use crate::{
    process::clock, project::trusted_read, store::archive, store::atomic, store::digest,
    store::journal,
};
use anyhow::{Context, Result};
use jiff::Timestamp;
use ralph_core::modes::mode;
use ralph_core::state::{EndingKind, LoopState, Phase, SCHEMA_VERSION, StateView};
use ralph_core::tasks::plan;
use serde::Serialize;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::Duration;

/// A start writes and syncs several files, and on a busy disk each sync may take a second. The
/// second copy of the prompt hook waits for the first: were it to give up, the client would show
/// its refusal although the loop has started. Shorter than that hook's own timeout of ten seconds.
const TO_START: Duration = Duration::from_secs(6);

/// The client ends the hooks of a session that ends after 1.5 seconds, and they put away what was
/// left. What cannot be put away now is put away by the session's next hook.
const TO_PUT_AWAY: Duration = Duration::from_secs(1);

/// The loop that a session is bound to; none if there is none.
///
/// # Errors
/// When the manifest entry cannot be trusted.
pub fn of_session(home: &Home, session_id: &str) -> Result<Option<LoopFile>> {
    let Some(key) = ManifestKey::session(session_id) else { return Ok(None) };
    let Some(path) = manifest::read(home, &key)? else { return Ok(None) };
    Ok(Some(follow(home, &path)))
}

/// The live loop whose own state names this session: for one whose manifest entry says nothing usable.
pub fn by_its_state(home: &Home, session_id: &str) -> Option<LoopFile> {
    home.check().ok()?;
    let is_its = |state: &LoopState| {
        state.is_of(session_id) && state.is_live() && state.strangeness().is_none()
    };
    all(home).into_iter().find_map(|(file, state)| is_its(&state.ok()?).then_some(file))
}

/// True when it is certain that this session is bound to a loop of ours, however damaged that is: it has
/// an entry of its own, or, where all sessions share one, a state of ours names the session.
pub fn is_bound(home: &Home, session_id: &str) -> bool {
    let Some(key) = ManifestKey::session(session_id) else { return false };
    if home.single_manifest().is_none() {
        return manifest::is_there(home, &key);
    }
    let shared = manifest::read(home, &key).ok().flatten().map(LoopFile::at);
    shared.and_then(|file| file.salvage()).is_some_and(|state| state.is_of(session_id))
        || by_its_state(home, session_id).is_some()
}

/// True when the entry of a session cannot be used, or names a loop of which nothing is there.
pub fn is_one_lost(home: &Home) -> bool {
    let is_lost = |path: &Path| {
        let file = follow(home, path);
        !file.path().starts_with(home.archive()) && matches!(file.read(), Ok(None))
    };
    let entries = manifest::sessions(home);
    entries.into_iter().any(|(_, path)| path.map_or(true, |path| is_lost(&path)))
}

/// True for a state that a single manifest names and that stands elsewhere than Ralph's own: another tool may
/// have written it.
pub fn is_in_place(home: &Home, file: &LoopFile) -> bool {
    home.single_manifest().is_some()
        && is_put_away(home, file)
        && !file.path().starts_with(home.archive())
}

/// Reads a state. One that stands in place and names no loop gets a name of its own, here and wherever else it
/// is read.
///
/// # Errors
/// As [`LoopFile::read`].
pub fn read_named(home: &Home, file: &LoopFile) -> Result<Option<Loaded>> {
    let mut loaded = file.read()?;
    if let Some(loaded) = &mut loaded
        && loaded.state.loop_id.is_empty()
        && is_in_place(home, file)
    {
        loaded.state.loop_id = id_in_place(file, &loaded.state);
    }
    Ok(loaded)
}

/// Takes in a state that stands in place: it gets what another tool does not write, and nothing that it claims
/// is evidence. Without a project of its own it is about this one.
///
/// # Errors
/// As [`LoopFile::update`].
pub fn take_in(file: &LoopFile, project: &Path) -> Result<()> {
    file.update(|state| {
        if state.loop_id.is_empty() {
            plan::taken_in(state);
            state.loop_id = id_in_place(file, state);
            // Its minutes count from here, as after `ralph adopt`.
            state.started_at.get_or_insert_with(clock::now);
        }
        if state.project_root.is_empty() {
            state.project_root = project.to_string_lossy().into_owned();
        }
    })?;
    Ok(())
}

/// The same each time, so that it can be told before it is written.
fn id_in_place(file: &LoopFile, state: &LoopState) -> String {
    let digest = digest::of_bytes(file.path().as_os_str().as_encoded_bytes());
    let salt = &digest[digest.len() - 4..];
    format!("{}-{salt}", second(state.created_at))
}

/// A loop that a person gave up although its state could not be used.
#[derive(Debug)]
pub struct GivenUp {
    /// Where what was left of it stands now.
    pub file: LoopFile,
    /// The record of its end, with what could still be told of it.
    pub state: LoopState,
}

/// Ends a loop whose state cannot be used, by a person's wish: what is there of it is put away, with a
/// state that says how it ended, and its session is freed. Where only rights were wrong, they are put
/// right first, and the loop is left for whoever ends it as usual: none then, and none where there is no
/// such loop.
///
/// # Errors
/// When the disk cannot be written, or what stands there belongs to another user.
pub fn give_up(home: &Home, whose: &Whose<'_>, how: &str) -> Result<Option<GivenUp>> {
    let (session_id, folder) = match whose {
        Whose::Session(id) | Whose::Typed(id, _) => (Some((*id).to_owned()), None),
        Whose::Loop(id) => {
            ManifestKey::session(id)
                .with_context(|| format!("`{}` is no id of a loop", id.escape_debug()))?;
            let folder = home.loops().join(id);
            let state = folder.join("state.json");
            let of_it = sessions_of(home, &state);
            (of_it, Some(folder))
        }
    };
    let key = session_id.as_deref().and_then(ManifestKey::session);
    if key.as_ref().is_none_or(|key| !manifest::is_there(home, key))
        && folder.as_ref().is_none_or(|folder| folder.symlink_metadata().is_err())
    {
        return Ok(None);
    }
    manifest::take_from_others(home, key.as_ref());
    // Two copies of a hook may be asked at the same moment, and the loop ends once.
    let _ending = lock_starts(home)?;
    let named = key.as_ref().and_then(|key| manifest::read(home, key).ok().flatten());
    let state_path = folder.map(|folder| folder.join("state.json")).or_else(|| named.clone());
    let file = match &state_path {
        Some(path) => Some(LoopFile::at(path)),
        None => session_id.as_deref().and_then(|id| by_its_state(home, id)),
    };
    if let Some(file) = &file {
        trusted_read::take_from_others(file.folder());
        let usable = |state: &LoopState| {
            state.strangeness().is_none()
                && session_id.as_deref().is_none_or(|id| state.is_of(id))
                && !matches!(state.phase, Phase::Planned)
        };
        if file.read().ok().flatten().is_some_and(|loaded| usable(&loaded.state)) {
            let is_named = named.as_deref() == Some(file.path());
            if let (false, Some(key)) = (is_named, &key) {
                rebind(home, key, file)?;
            }
            return Ok(None);
        }
        // The entry leads astray, and the session's own loop is there.
        let its_own = session_id.as_deref().and_then(|id| by_its_state(home, id));
        if let (Some(its_own), Some(key)) = (its_own, &key) {
            rebind(home, key, &its_own)?;
            return Ok(None);
        }
    }
    let at = clock::now();
    let mut state = file.as_ref().and_then(LoopFile::salvage).unwrap_or_default();
    let stands = |file: &LoopFile| file.folder().symlink_metadata().is_ok_and(|at| at.is_dir());
    // A link may lead anywhere: nothing is written behind it.
    let (in_place, astray) = match file.filter(|file| !is_put_away(home, file)) {
        Some(file) if stands(&file) => (Some(file), None),
        other => (None, other),
    };
    let of_path = state_path.as_deref().and_then(|path| path.parent()?.file_name()?.to_str());
    if state.loop_id.is_empty() || ManifestKey::session(&state.loop_id).is_none() {
        state.loop_id = of_path.map_or_else(|| loop_id(at, 0), str::to_owned);
    }
    if let Some(id) = session_id {
        state.session_id = id;
    }
    if state.created_at == Timestamp::UNIX_EPOCH || state.created_at == Timestamp::default() {
        state.created_at = at;
    }
    // Written by this Ralph, whichever wrote it before.
    state.schema_version = SCHEMA_VERSION;
    state.end(EndingKind::Cancelled, how, at);
    if let Whose::Typed(_, prompt_id) = whose {
        state.cancelled_by_prompt = Some((*prompt_id).to_owned());
    }
    let archived = match in_place {
        Some(file) => {
            file.set_aside()?;
            let _ = std::fs::rename(file.path(), file.path().with_extension("json.unreadable"));
            file.create(&state)?;
            archive::put_away(home, &file, &state.loop_id, at)?
        }
        None => archive::make(home, &state, at)?,
    };
    if let Some(astray) = astray {
        let _ = std::fs::rename(astray.folder(), archived.folder().join("loop-folder"));
    }
    let is_typed = matches!(whose, Whose::Typed(..));
    // The second copy of a hook that is registered twice finds the end there, and has nothing to add.
    let is_bound = is_typed && bind(home, &archived, &state.session_id).is_ok();
    if let Some(key) = key.as_ref().filter(|_| !is_bound) {
        manifest::discard(home, key, archived.folder())?;
        if is_typed {
            bind(home, &archived, &state.session_id)?;
        }
    }
    let _ = point_projects_at(home, &archived, &state);
    Ok(Some(GivenUp { file: archived, state }))
}

/// Has a damaged entry name its loop again.
fn rebind(home: &Home, key: &ManifestKey, file: &LoopFile) -> Result<()> {
    manifest::discard(home, key, file.folder())?;
    manifest::write(home, key, file.path())
}

/// Whose loop is given up.
#[derive(Debug, Clone, Copy)]
pub enum Whose<'a> {
    /// The loop that this session is bound to.
    Session(&'a str),
    /// The same, by the prompt of this id, typed in the session.
    Typed(&'a str, &'a str),
    /// The loop of this id.
    Loop(&'a str),
}

/// The session whose entry names this state.
fn sessions_of(home: &Home, state: &Path) -> Option<String> {
    let entries = manifest::sessions(home);
    entries
        .into_iter()
        .find(|(_, path)| path.as_ref().is_ok_and(|at| at == state))
        .map(|(id, _)| id)
}

/// The project's planned or most recent loop.
pub fn of_project(home: &Home, folder: &Path) -> Result<Option<LoopFile>> {
    let key = ManifestKey::project(&project::identity(folder));
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

/// True when a loop, whose state names another session or no session, was moved away from this one: its
/// lineage says so, or the session that the state names is bound to it. This session's entry is a leftover then.
pub fn has_left(home: &Home, file: &LoopFile, state: &LoopState, session_id: &str) -> bool {
    let is_anothers = || of_session(home, &state.session_id).ok().flatten().as_ref() == Some(file);
    state.lineage.iter().any(|bound| bound.session_id == session_id) || is_anothers()
}

/// Writes a new loop: its folder, its state, the project's entry and, if it is bound, its
/// session's. The state gets its `loop_id`.
pub fn create(home: &Home, state: &mut LoopState) -> Result<LoopFile> {
    // Asked before anything is written: a loop that cannot be bound must not be left behind.
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

/// # Errors
/// When a loop could not be bound to this session. An empty id binds nothing and is fine.
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

/// Frees a session's manifest entry if it points at this loop, or at where the loop stood before
/// it was put away. True if it was this call that freed it.
///
/// Under the state's lock: whoever puts the loop away at this moment may be about to write the entry
/// anew.
///
/// # Errors
/// When the entry cannot be trusted, or the lock cannot be had in time.
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

/// True unless the loop stands among those that have not ended.
pub fn is_put_away(home: &Home, file: &LoopFile) -> bool {
    file.folder().parent() != Some(home.loops().as_path())
}

/// Frees the session of a loop that has ended. One that still stands among the live loops is put
/// away first: the process that ended it died before it could, or is about to. True if it was this
/// call that freed the session, so that of several at once one tells the person.
pub fn let_go(home: &Home, file: &LoopFile, state: &LoopState) -> Result<bool> {
    if !is_put_away(home, file) {
        return put_away(home, file, state, ManifestFate::Remove).map(|away| away.freed);
    }
    release(home, file, &state.session_id)
}

/// What becomes of a session's manifest entry when its loop ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManifestFate {
    /// The session knows: the entry is removed.
    Remove,
    /// The session has not heard yet: the entry stays as a tombstone, which its next hook acts on
    /// and removes.
    KeepAsTombstone,
}

/// A loop that was put away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutAway {
    /// Where its state stands now.
    pub file: LoopFile,
    /// True if it was this call that freed the session.
    pub freed: bool,
}

/// Puts an ended loop away.
///
/// The state's lock is held over the move and over what becomes of the entry. Else a process that
/// had begun to write would find its folder gone, and one that has acknowledged the ending meanwhile
/// would find the entry made again, as a tombstone that is told of twice.
///
/// # Errors
/// When the disk or the lock cannot be had; the session's next hook puts the loop away then.
pub fn put_away(
    home: &Home,
    file: &LoopFile,
    state: &LoopState,
    entry: ManifestFate,
) -> Result<PutAway> {
    home.prepare()?;
    let at = state.ending.as_ref().map_or_else(clock::now, |ending| ending.at);
    let held = file.hold(TO_PUT_AWAY)?;
    let archived = archive::put_away(home, file, &state.loop_id, at)?;
    // Who has moved it holds the lock, which has moved along, until the entry is as it is to be.
    let _moved = if held.is_none() { archived.hold(TO_PUT_AWAY)? } else { None };
    if held.is_some() {
        // Otherwise another process has put it away; the project may have a new loop by now.
        point_projects_at(home, &archived, state)?;
    }
    let freed = match (entry, held) {
        // A state that stands elsewhere was copied; one that another has put away has moved.
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

/// Appends to the journal of a loop, which another process may just be putting away.
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

/// All loops that have not ended, by their folders; unreadable ones come with the reason.
pub fn all(home: &Home) -> Vec<(LoopFile, Result<LoopState>)> {
    all_loaded(home).into_iter().map(|(file, loaded)| (file, loaded.map(|it| it.state))).collect()
}

/// As [`all`], with the files as they were, for one who goes on to change what was found.
pub fn all_loaded(home: &Home) -> Vec<(LoopFile, Result<Loaded>)> {
    let Ok(folders) = std::fs::read_dir(home.loops()) else { return Vec::new() };
    let mut files: Vec<LoopFile> = folders
        .filter_map(|entry| Some(LoopFile::at(entry.ok()?.path().join("state.json"))))
        .collect();
    files.sort_by(|a, b| a.path().cmp(b.path()));
    files
        .into_iter()
        .filter_map(|file| match file.read() {
            Ok(None) => None,
            Ok(Some(loaded)) => Some((file, Ok(loaded))),
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

/// The state that a single manifest names, where it stands in place.
pub fn in_place(home: &Home) -> Option<LoopFile> {
    // Every session has the same entry then, so any name will do.
    home.single_manifest()?;
    of_session(home, "any").ok().flatten().filter(|file| is_in_place(home, file))
}

/// A loop by its id with its state, wherever it stands; none if there is no such loop.
///
/// # Errors
/// When the state cannot be read.
pub fn read_by_id(home: &Home, loop_id: &str) -> Result<Option<(LoopFile, Loaded)>> {
    by_id(home, loop_id).map_or(Ok(None), |file| read(home, file))
}

/// Reads a state file that another process may just be putting away.
fn read(home: &Home, file: LoopFile) -> Result<Option<(LoopFile, Loaded)>> {
    if let Some(loaded) = read_named(home, &file)? {
        return Ok(Some((file, loaded)));
    }
    let Some(moved) = archive::find(home, file.path()) else { return Ok(None) };
    Ok(moved.read()?.map(|loaded| (moved, loaded)))
}

/// Makes a loop the one that its project is asked about.
pub fn point_project_at(home: &Home, file: &LoopFile, project_root: &str) -> Result<()> {
    let identity = project::identity(Path::new(project_root));
    manifest::write(home, &ManifestKey::project(&identity), file.path())
}

/// The loop of a worker is no loop that a person asks for: the project's is the one above it.
fn point_projects_at(home: &Home, file: &LoopFile, state: &LoopState) -> Result<()> {
    match state.parent {
        Some(_) => Ok(()),
        // What is planned is what `/ralph` starts next, also while its tasks are refined.
        None if !mode::of(&state.mode).has_tasks() && is_planned(home, &state.project_root) => {
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
    format!("{}-{:04x}", second(at), salt & 0xffff)
}

fn second(at: Timestamp) -> String {
    clock::compact(at).replace('T', "-").replace('Z', "")
}

#[cfg(test)]
mod tests {
    use super::*;

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
            // On a busy machine its patience may end before it is its turn.
            let patient = || std::iter::repeat_with(|| let_go(&at.home, &at.file, &at.state));
            scope.spawn(move || told.send(patient().find_map(Result::ok)).unwrap());
            // Only one that does not wait is done in this time.
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
    fn loops_of_the_same_moment_get_different_ids() {
        let at = running_loop();
        let mut twin = at.state.clone();
        create(&at.home, &mut twin).unwrap();
        assert_ne!(twin.loop_id, at.state.loop_id);
        assert_eq!(all(&at.home).len(), 2);
    }
}
