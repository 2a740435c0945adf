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
    pub fn of(home: &Home, session_id: &str) -> Result<WallFlag> {
        lifecycle::check_session_id(session_id)?;
        Ok(WallFlag { home: home.clone(), session_id: session_id.to_owned() })
    }

    /// The flag at this path; `None` if it is no path of a flag.
    pub fn at(path: &Path) -> Option<WallFlag> {
        let home = Home::at(path.parent()?.parent()?);
        let flag = WallFlag::of(&home, path.file_name()?.to_str()?).ok()?;
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
    let network = Settings::of(state).wall().network.unwrap_or(false);
    (state.is_live() && state.ralplan().is_some()).then_some(Standing { network })
}
