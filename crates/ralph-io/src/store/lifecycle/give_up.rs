//! Ends a loop whose state is unusable, at the user's request.

use super::{bind, by_its_state, is_put_away, lock_starts, loop_id, point_projects_at};
use crate::process::clock;
use crate::project::trusted_read;
use crate::store::archive;
use crate::store::home::Home;
use crate::store::loop_file::LoopFile;
use crate::store::manifest::{self, ManifestKey};
use anyhow::{Context, Result};
use jiff::Timestamp;
use ralph_core::state::{EndingKind, LoopState, Phase, SCHEMA_VERSION};
use std::path::Path;

/// A loop that the user gave up although its state was unusable.
#[derive(Debug)]
pub struct GivenUp {
    /// Where its remains are now.
    pub file: LoopFile,
    /// The record of its end, with all that could still be read.
    pub state: LoopState,
}

/// Selects the loop to give up.
#[derive(Debug, Clone, Copy)]
pub enum LoopOwnership<'a> {
    /// The loop that this session is bound to.
    Session(&'a str),
    /// The same, at the prompt with this id, typed in the session.
    Typed(&'a str, &'a str),
    /// The loop with this id.
    Loop(&'a str),
}

/// Ends a loop with an unusable state at the user's request. Archives what exists of it, with a
/// state that records how it ended, and frees its session. If only permissions were wrong, it
/// repairs them and leaves the loop to be ended as usual. Returns `None` in that case, and if there
/// is no such loop.
///
/// # Errors
/// If the disk cannot be written, or the files belong to another user.
pub fn give_up(home: &Home, whose: &LoopOwnership<'_>, how: &str) -> Result<Option<GivenUp>> {
    let (session_id, folder) = match whose {
        LoopOwnership::Session(id) | LoopOwnership::Typed(id, _) => (Some((*id).to_owned()), None),
        LoopOwnership::Loop(id) => {
            ManifestKey::session(id)
                .with_context(|| format!("`{}` is not a loop id", id.escape_debug()))?;
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
    // Two copies of a hook may be asked at the same moment, but the loop must end once.
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
        // The entry points elsewhere, but the session's own loop exists.
        let its_own = session_id.as_deref().and_then(|id| by_its_state(home, id));
        if let (Some(its_own), Some(key)) = (its_own, &key) {
            rebind(home, key, &its_own)?;
            return Ok(None);
        }
    }
    let at = clock::now();
    let mut state = file.as_ref().and_then(LoopFile::salvage).unwrap_or_default();
    let stands = |file: &LoopFile| file.folder().symlink_metadata().is_ok_and(|at| at.is_dir());
    // A link may lead anywhere, so nothing is written through it.
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
    // This Ralph writes the state now, whichever version wrote it before.
    state.schema_version = SCHEMA_VERSION;
    state.end(EndingKind::Cancelled, how, at);
    if let LoopOwnership::Typed(_, prompt_id) = whose {
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
    let is_typed = matches!(whose, LoopOwnership::Typed(..));
    // The second copy of a hook that is registered twice finds the ending there, and has nothing to
    // add.
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

/// Makes a damaged entry point at its loop again.
fn rebind(home: &Home, key: &ManifestKey, file: &LoopFile) -> Result<()> {
    manifest::discard(home, key, file.folder())?;
    manifest::write(home, key, file.path())
}

/// The session whose entry names this state.
fn sessions_of(home: &Home, state: &Path) -> Option<String> {
    let entries = manifest::sessions(home);
    entries
        .into_iter()
        .find(|(_, path)| path.as_ref().is_ok_and(|at| at == state))
        .map(|(id, _)| id)
}
