//! The file that says that a session may only read.
//!
//! Its being there is all that the shell of a tool call asks. It holds the path of the loop's state, so
//! that a flag which outlived its loop is recognised: by the shell's next command, which removes it. So a
//! flag may be raised too early and lowered too late, and a kill at any moment leaves the session behind
//! the wall rather than outside.

use crate::process::wall;
use crate::store::home::Home;
use crate::store::loop_file::LoopFile;
use crate::store::{archive, atomic, lifecycle};
use anyhow::Result;
use ralph_core::project::settings::Settings;
use ralph_core::state::LoopState;
use std::path::{Path, PathBuf};

/// The flag of a session.
#[derive(Debug, Clone)]
pub struct WallFlag {
    home: Home,
    session_id: String,
}

impl WallFlag {
    /// # Errors
    /// If the session's id cannot be the name of a file.
    pub fn for_session(home: &Home, session_id: &str) -> Result<WallFlag> {
        lifecycle::check_session_id(session_id)?;
        Ok(WallFlag { home: home.clone(), session_id: session_id.to_owned() })
    }

    /// The flag at this path; `None` if it is no path of a flag.
    pub fn at(path: &Path) -> Option<WallFlag> {
        let home = Home::at(path.parent()?.parent()?);
        let flag = WallFlag::for_session(&home, path.file_name()?.to_str()?).ok()?;
        (flag.path() == path).then_some(flag)
    }

    pub fn path(&self) -> PathBuf {
        self.home.walls().join(&self.session_id)
    }

    /// Raises the flag for a loop, whose path may be unknown.
    pub fn raise(&self, file: Option<&LoopFile>) -> Result<()> {
        let path = self.path();
        let text = file.map_or(String::new(), |file| file.path().to_string_lossy().into_owned());
        if std::fs::read_to_string(&path).is_ok_and(|found| found == text) {
            return Ok(());
        }
        atomic::make_private(&self.home.walls())?;
        atomic::write(&path, text.as_bytes())
    }

    /// Lowers the flag, and removes what commands left in the session's private folder.
    pub fn lower(&self) {
        let _ = std::fs::remove_file(self.path());
        wall::remove_private_folder(&self.session_id);
    }

    /// The private folder of the session's commands; makes it if it is not there.
    pub fn private_folder(&self) -> Result<PathBuf> {
        wall::private_folder(&self.session_id)
    }

    /// What holds behind the wall, if the loop that the flag names still needs it; a loop that cannot be read
    /// does. A flag that was raised for such a loop names none: then the session's own loop counts.
    pub fn stands(&self) -> Option<Standing> {
        let named = std::fs::read_to_string(self.path()).unwrap_or_default();
        let file = match named.as_str() {
            "" => lifecycle::of_session(&self.home, &self.session_id),
            path => Ok(Some(LoopFile::at(path))),
        };
        let Ok(file) = file else { return Some(Standing::default()) };
        let file = file?;
        match file.read() {
            Ok(Some(loaded)) => of_planning(&loaded.state),
            Ok(None) if archive::find(&self.home, file.path()).is_some() => None,
            Ok(None) => lifecycle::is_bound(&self.home, &self.session_id).then(Standing::default),
            Err(_) => Some(Standing::default()),
        }
    }
}

/// Lowers the flags of all sessions of a loop: a planning in a terminal has one for each of its clients.
pub fn lower_all(home: &Home, file: &LoopFile) {
    let flags = std::fs::read_dir(home.walls()).into_iter().flatten().flatten();
    for flag in flags.filter_map(|entry| WallFlag::at(&entry.path())) {
        let named = std::fs::read_to_string(flag.path()).unwrap_or_default();
        if Path::new(&named) == file.path() {
            flag.lower();
        }
    }
}

/// What holds behind a wall.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Standing {
    /// True if the user's settings leave the network open.
    pub network: bool,
}

fn of_planning(state: &LoopState) -> Option<Standing> {
    let network = Settings::from_state(state).wall().network.unwrap_or(false);
    (state.is_live() && state.ralplan().is_some()).then_some(Standing { network })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::clock;
    use ralph_core::state::{EndingKind, Phase, RalplanState};
    use serde_json::json;

    fn home() -> (tempfile::TempDir, Home) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("ralph"));
        home.prepare().unwrap();
        (folder, home)
    }

    fn planning(session_id: &str) -> LoopState {
        LoopState {
            session_id: session_id.to_owned(),
            phase: Phase::Implementation,
            mode: RalplanState::default().into(),
            ..LoopState::default()
        }
    }

    const CLOSED: Option<Standing> = Some(Standing { network: false });

    #[test]
    fn a_flag_is_known_by_its_path_and_holds_that_of_its_loop() {
        let (_folder, home) = home();
        let flag = WallFlag::for_session(&home, "s").unwrap();
        assert_eq!(flag.path(), home.root().join("walls/s"));
        assert!(WallFlag::for_session(&home, "../s").is_err());
        let file = LoopFile::at(home.loops().join("L/state.json"));
        for (of_loop, text) in [
            (None, ""),
            (Some(&file), file.path().to_str().unwrap()),
            (Some(&file), file.path().to_str().unwrap()),
            (None, ""),
        ] {
            flag.raise(of_loop).unwrap();
            assert_eq!(std::fs::read_to_string(flag.path()).unwrap(), text);
        }
        let at = |path: &str| WallFlag::at(&home.root().join(path)).map(|flag| flag.path());
        assert_eq!(at("walls/s"), Some(flag.path()));
        assert_eq!(at("walls/.s"), None);
        assert_eq!(at("elsewhere/s"), None);
        assert_eq!(at("walls/s/walls"), None);
    }

    #[test]
    fn a_lowered_flag_is_gone_with_what_the_sessions_commands_left() {
        let (_folder, home) = home();
        let name = format!("lowered-{}", std::process::id());
        let flag = WallFlag::for_session(&home, &name).unwrap();
        flag.raise(None).unwrap();
        let private = flag.private_folder().unwrap();
        let temporary = std::env::temp_dir().canonicalize().unwrap();
        assert_eq!(private, temporary.join(format!("ralph-wall-{name}")));
        std::fs::write(private.join("left"), "").unwrap();
        assert_eq!(flag.private_folder().unwrap(), private, "it is there already");
        flag.lower();
        assert!(!flag.path().exists() && !private.exists());
    }

    #[test]
    fn the_flags_of_one_loop_are_lowered_and_those_of_others_stand() {
        let (_folder, home) = home();
        let [one, other] = ["L", "M"].map(|id| LoopFile::at(home.loops().join(id).join("s.json")));
        lower_all(&home, &one);
        let raised = [("a", Some(&one)), ("b", Some(&other)), ("c", Some(&one)), ("d", None)];
        let flags = raised.map(|(id, file)| {
            let flag = WallFlag::for_session(&home, id).unwrap();
            flag.raise(file).unwrap();
            flag
        });
        lower_all(&home, &one);
        assert_eq!(flags.map(|flag| flag.path().exists()), [false, true, false, true]);
    }

    #[test]
    fn a_flag_stands_while_the_loop_that_it_names_is_planned_in_or_cannot_be_read() {
        let (_folder, home) = home();
        let made = |mut state: LoopState| {
            let file = lifecycle::create(&home, &mut state).unwrap();
            (file, state)
        };
        let of = |settings| LoopState { settings, ..planning("") };
        let open = json!({ "wall": { "network": true } });
        let shut = json!({ "wall": { "network": false } });
        let ended = || {
            let mut state = planning("");
            state.end(EndingKind::Cancelled, "", clock::now());
            state
        };
        let broken = || {
            let (file, _) = made(planning(""));
            crate::store::second_place::SecondPlace::for_state(file.path()).unwrap().remove();
            atomic::write(file.path(), b"{").unwrap();
            file
        };
        let archived = {
            let (file, state) = made(LoopState { created_at: clock::now(), ..ended() });
            archive::put_away(&home, &file, &state.loop_id, clock::now()).unwrap();
            crate::store::second_place::SecondPlace::for_state(file.path()).unwrap().remove();
            file
        };
        let plain = LoopState { mode: LoopState::default().mode, ..planning("") };
        let flag = WallFlag::for_session(&home, "s").unwrap();
        for (file, standing) in [
            (made(planning("")).0, CLOSED),
            (made(of(shut)).0, CLOSED),
            (made(of(open)).0, Some(Standing { network: true })),
            (made(LoopState { phase: Phase::Paused, ..planning("") }).0, CLOSED),
            (made(ended()).0, None),
            (made(plain).0, None),
            (broken(), CLOSED),
            (archived.clone(), None),
            (LoopFile::at(home.loops().join("never/state.json")), None),
        ] {
            flag.raise(Some(&file)).unwrap();
            assert_eq!(flag.stands(), standing, "{}", file.path().display());
        }
        let file = LoopFile::at(home.loops().join("never/state.json"));
        lifecycle::bind(&home, &file, "s").unwrap();
        assert_eq!(flag.stands(), CLOSED, "its session is bound to a loop that is not there");
        flag.raise(Some(&archived)).unwrap();
        assert_eq!(flag.stands(), None, "whatever its session is bound to");
    }

    #[test]
    fn a_flag_that_names_no_loop_stands_for_that_of_its_session() {
        let (_folder, home) = home();
        let flag = WallFlag::for_session(&home, "s").unwrap();
        assert_eq!(flag.stands(), None, "no flag, no loop");
        flag.raise(None).unwrap();
        assert_eq!(flag.stands(), None, "no loop");
        let open = json!({ "wall": { "network": true } });
        let mut state = LoopState { settings: open, ..planning("s") };
        lifecycle::create(&home, &mut state).unwrap();
        assert_eq!(flag.stands(), Some(Standing { network: true }));
        atomic::write(&home.manifest_folder().join("s"), b"relative").unwrap();
        assert_eq!(flag.stands(), CLOSED, "its loop is not known");
    }
}
