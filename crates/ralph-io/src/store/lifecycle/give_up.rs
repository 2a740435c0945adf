//! Ends a loop whose state is unusable, at the user's request.

use super::{bind, by_its_state, is_put_away, lock_starts, loop_id, point_projects_at};
use crate::process::clock;
use crate::project::trusted_read;
use crate::store::archive;
use crate::store::home::Home;
use crate::store::loop_file::{Loaded, LoopFile};
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
        let usable = |Loaded { state, warning, .. }: &Loaded| {
            // A loop that the last good copy shows as planned has been started since.
            let is_too_old = warning.is_some() && state.phase == Phase::Planned;
            state.strangeness().is_none()
                && session_id.as_deref().is_none_or(|id| state.is_of(id))
                && !is_too_old
        };
        if file.read().ok().flatten().as_ref().is_some_and(usable) {
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
    if ManifestKey::session(&state.loop_id).is_none() {
        state.loop_id = of_path.map_or_else(|| loop_id(at, 0), str::to_owned);
    }
    if let Some(id) = session_id {
        state.session_id = id;
    }
    if state.created_at == Timestamp::UNIX_EPOCH {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::atomic;
    use crate::store::lifecycle::tests::{TestLoop, running_loop};
    use crate::store::lifecycle::{create, of_project, of_session};
    use crate::store::second_place::SecondPlace;
    use ralph_core::state::ModeState;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    const HOW: &str = "by the user";

    /// Leaves this text alone of the loop's state.
    fn spoil(at: &TestLoop, text: &str) {
        SecondPlace::for_state(at.file.path()).unwrap().remove();
        atomic::write(at.file.path(), text.as_bytes()).unwrap();
    }

    fn gives_up(at: &TestLoop, whose: LoopOwnership<'_>) -> GivenUp {
        give_up(&at.home, &whose, HOW).unwrap().unwrap()
    }

    /// The same state, ended when that of `given` was.
    fn ended(state: &LoopState, given: &GivenUp) -> LoopState {
        let mut state = state.clone();
        let at = given.state.ending.as_ref().unwrap().at;
        if state.created_at == Timestamp::UNIX_EPOCH {
            state.created_at = at;
        }
        state.end(EndingKind::Cancelled, HOW, at);
        state
    }

    fn entry(at: &TestLoop) -> std::path::PathBuf {
        at.home.manifest_folder().join("s")
    }

    #[test]
    fn a_broken_loop_is_archived_with_a_record_of_its_end_and_its_session_is_free() {
        for is_by_id in [false, true] {
            let at = running_loop();
            let other = LoopState { session_id: "t".to_owned(), ..at.state.clone() };
            let other = create(&at.home, &mut other.clone()).unwrap();
            spoil(&at, "{\"loop_id\": \"L");
            let id = at.state.loop_id.clone();
            let whose =
                if is_by_id { LoopOwnership::Loop(&id) } else { LoopOwnership::Session("s") };
            let given = gives_up(&at, whose);
            let known = LoopState {
                loop_id: id.clone(),
                session_id: "s".to_owned(),
                ..LoopState::default()
            };
            assert_eq!(given.state, ended(&known, &given));
            assert_eq!(given.file.read().unwrap().unwrap().state, given.state);
            let left = given.file.path().with_extension("json.unreadable");
            assert_eq!(fs::read_to_string(left).unwrap(), "{\"loop_id\": \"L");
            assert!(given.file.path().starts_with(at.home.archive()));
            assert!(!at.file.folder().exists());
            assert_eq!(of_session(&at.home, "s").unwrap(), None);
            assert_eq!(of_session(&at.home, "t").unwrap(), Some(other));
            assert!(give_up(&at.home, &whose, HOW).unwrap().is_none(), "it ends once");
        }
    }

    #[test]
    fn a_prompt_that_gives_a_loop_up_leaves_the_ending_for_its_second_copy() {
        for is_entry_broken in [false, true] {
            let at = running_loop();
            spoil(&at, "{");
            if is_entry_broken {
                fs::remove_file(entry(&at)).unwrap();
                fs::create_dir_all(entry(&at).join("full")).unwrap();
            }
            let given = gives_up(&at, LoopOwnership::Typed("s", "p"));
            let known = LoopState {
                loop_id: match is_entry_broken {
                    true => loop_id(given.state.created_at, 0),
                    false => at.state.loop_id.clone(),
                },
                session_id: "s".to_owned(),
                cancelled_by_prompt: Some("p".to_owned()),
                ..LoopState::default()
            };
            assert_eq!(given.state, ended(&known, &given));
            assert_eq!(of_session(&at.home, "s").unwrap().as_ref(), Some(&given.file));
            let moved = given.file.folder().join("manifest-entry/full");
            assert_eq!(moved.exists(), is_entry_broken);
            let again = give_up(&at.home, &LoopOwnership::Typed("s", "p"), HOW).unwrap();
            assert!(again.is_none(), "the ending is there");
        }
    }

    #[test]
    fn what_can_be_read_of_a_state_is_kept_in_the_record_and_what_is_no_name_is_not() {
        let at = running_loop();
        let newer = LoopState {
            schema_version: SCHEMA_VERSION + 1,
            loop_id: "../x".to_owned(),
            prompt: "build a door".to_owned(),
            session_id: "t".to_owned(),
            ..at.state.clone()
        };
        spoil(&at, &serde_json::to_string(&newer).unwrap());
        let given = gives_up(&at, LoopOwnership::Session("s"));
        let known = LoopState { prompt: newer.prompt, ..at.state.clone() };
        assert_eq!(given.state, ended(&known, &given));
        let of_project = of_project(&at.home, Path::new(&at.state.project_root)).unwrap();
        assert_eq!(of_project, Some(given.file));

        let at = running_loop();
        let strange = LoopState { mode: ModeState::Other("x".to_owned()), ..at.state.clone() };
        spoil(&at, &serde_json::to_string(&strange).unwrap());
        let given = gives_up(&at, LoopOwnership::Loop(&at.state.loop_id));
        assert_eq!(given.state, ended(&strange, &given));
    }

    #[test]
    fn wrong_permissions_are_repaired_and_the_loop_is_left() {
        for (phase, session, whose) in [
            (Phase::Implementation, "s", LoopOwnership::Session("s")),
            (Phase::Paused, "s", LoopOwnership::Typed("s", "p")),
            (Phase::Implementation, "s", LoopOwnership::Loop("")),
            (Phase::Implementation, "", LoopOwnership::Loop("")),
            (Phase::Planned, "", LoopOwnership::Loop("")),
        ] {
            let at = running_loop();
            let mut state = LoopState { phase, session_id: session.to_owned(), ..at.state.clone() };
            let file = create(&at.home, &mut state).unwrap();
            let opened = [(file.folder(), 0o777), (file.path(), 0o666), (at.home.root(), 0o770)];
            for (path, mode) in opened {
                fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
            }
            let whose = match whose {
                LoopOwnership::Loop(_) => LoopOwnership::Loop(&state.loop_id),
                whose => whose,
            };
            assert!(give_up(&at.home, &whose, HOW).unwrap().is_none(), "{state:?}");
            for (path, mode) in opened {
                let now = path.metadata().unwrap().permissions().mode() & 0o777;
                assert_eq!(now, mode & !0o022, "{}", path.display());
            }
            let loaded = file.read().unwrap().unwrap();
            assert_eq!((loaded.state, loaded.warning), (state, None));
            let bound = if session.is_empty() { at.file } else { file };
            assert_eq!(of_session(&at.home, "s").unwrap(), Some(bound));
        }
    }

    #[test]
    fn an_entry_that_leads_elsewhere_is_pointed_at_the_sessions_own_loop() {
        let at = running_loop();
        let mut other = LoopState { session_id: "t".to_owned(), ..at.state.clone() };
        let other = create(&at.home, &mut other).unwrap();
        let leads_elsewhere: [fn(&Path, &LoopFile); 3] = [
            |entry, other| fs::write(entry, other.path().as_os_str().as_encoded_bytes()).unwrap(),
            |entry, _| fs::write(entry, "relative").unwrap(),
            |entry, _| {
                fs::remove_file(entry).unwrap();
                fs::create_dir_all(entry.join("full")).unwrap();
            },
        ];
        for lead in leads_elsewhere {
            lead(&entry(&at), &other);
            let given = give_up(&at.home, &LoopOwnership::Session("s"), HOW).unwrap();
            assert!(given.is_none());
            assert_eq!(of_session(&at.home, "s").unwrap().as_ref(), Some(&at.file));
            assert_eq!(of_session(&at.home, "t").unwrap().as_ref(), Some(&other));
            assert_eq!(at.file.read().unwrap().unwrap().state, at.state);
        }
        assert!(at.file.folder().join("manifest-entry/full").exists(), "nothing is lost");
    }

    #[test]
    fn a_copy_from_before_the_start_is_no_loop_to_go_on_with() {
        let at = running_loop();
        let planned = LoopState { phase: Phase::Planned, ..at.state.clone() };
        atomic::write(at.file.path(), &serde_json::to_vec(&planned).unwrap()).unwrap();
        SecondPlace::for_state(at.file.path()).unwrap().remove();
        at.file.update(|state| state.phase = Phase::Implementation).unwrap();
        spoil(&at, "{");
        assert!(at.file.read().unwrap().unwrap().warning.is_some());
        let given = gives_up(&at, LoopOwnership::Session("s"));
        assert_eq!(given.state, ended(&planned, &given));
    }

    #[test]
    fn nothing_is_written_through_a_link_in_the_place_of_a_loop() {
        let at = running_loop();
        spoil(&at, "{");
        let elsewhere = at.home.root().join("elsewhere");
        fs::rename(at.file.folder(), &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, at.file.folder()).unwrap();
        let given = gives_up(&at, LoopOwnership::Session("s"));
        assert_eq!(given.state.loop_id, at.state.loop_id);
        let moved = given.file.folder().join("loop-folder");
        assert_eq!(fs::read_link(moved).unwrap(), elsewhere);
        assert!(at.file.folder().symlink_metadata().is_err());
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1);
        assert_eq!(fs::read_to_string(elsewhere.join("state.json")).unwrap(), "{");
    }

    #[test]
    fn where_no_loop_is_there_is_none_to_give_up() {
        let at = running_loop();
        for whose in [
            LoopOwnership::Session("t"),
            LoopOwnership::Session("../s"),
            LoopOwnership::Typed("", "p"),
            LoopOwnership::Loop("none"),
        ] {
            assert!(give_up(&at.home, &whose, HOW).unwrap().is_none(), "{whose:?}");
        }
        let why = give_up(&at.home, &LoopOwnership::Loop("../x"), HOW).unwrap_err();
        assert_eq!(why.to_string(), "`../x` is not a loop id");
        assert_eq!(at.file.read().unwrap().unwrap().state, at.state);
    }
}
