//! Checks that every loop's state can be read and that every manifest entry leads to one.
//!
//! Reads the state as the hooks do, so that the doctor accepts nothing that they refuse.

use super::check::{Check, fail, warn, well};
use super::fix::Fix;
use ralph_core::state::LoopState;
use ralph_io::store::home::Home;
use ralph_io::store::loop_file::LoopFile;
use ralph_io::store::manifest::{self, ManifestKey};
use ralph_io::{project::user_files, store::lifecycle};

const NAME: &str = "loops";

/// The stored loops.
pub(super) struct Loops {
    /// The readable states, including those read from the last good copy.
    pub(super) states: Vec<LoopState>,
    /// The file of each state, in the same order.
    pub(super) files: Vec<LoopFile>,
    troubles: Vec<Check>,
}

impl Loops {
    pub(super) fn gather(home: &Home) -> Loops {
        let mut loops = Loops { states: Vec::new(), files: Vec::new(), troubles: Vec::new() };
        for name in user_files::names(&home.loops()) {
            loops.read(LoopFile::at(home.loops().join(name).join("state.json")));
        }
        for (session, state) in manifest::sessions(home) {
            let entry = home.manifest_folder().join(&session).display().to_string();
            let cure = format!("run `rm '{entry}'`");
            loops.troubles.extend(match state {
                Ok(state) if user_files::access(&state).is_some() => None,
                // A loop that is just being archived is followed to its new place.
                Ok(_) if leads_somewhere(home, &session) => None,
                Ok(_) => Some(
                    warn(NAME, format!("`{entry}` points to no loop"), cure)
                        .with_fix(Fix::ForgetEntry(session)),
                ),
                Err(error) => {
                    Some(warn(NAME, format!("`{entry}` points to no loop: {error:#}"), cure))
                }
            });
        }
        loops
    }

    fn read(&mut self, file: LoopFile) {
        match file.read() {
            Ok(None) => {}
            Ok(Some(loaded)) => {
                self.troubles.extend(loaded.warning.map(|warning| {
                    let cure = "the loop's next event restores it and keeps the broken file";
                    let restored = Fix::RestoreState(file.path().to_owned());
                    fail(NAME, warning, cure).with_fix(restored)
                }));
                self.states.push(loaded.state);
                self.files.push(file);
            }
            Err(error) => {
                let cure = format!("if it is lost, move `{}` away", file.folder().display());
                self.troubles.push(fail(NAME, format!("{error:#}"), cure));
            }
        }
    }
}

fn leads_somewhere(home: &Home, session: &str) -> bool {
    let file = lifecycle::of_session(home, session).ok().flatten();
    file.is_some_and(|file| user_files::access(file.path()).is_some())
}

/// One line if all is fine, else one for each problem.
pub(super) fn check(loops: &Loops) -> Vec<Check> {
    if !loops.troubles.is_empty() {
        return loops.troubles.clone();
    }
    let n_live = loops.states.iter().filter(|state| state.is_live()).count();
    vec![well(NAME, format!("{} stored, {n_live} live, all readable", loops.states.len()))]
}

/// The live loop that a session is bound to, if it can be read.
pub(crate) fn live_loop_of(home: &Home, session: &str) -> Option<String> {
    let state = manifest::read(home, &ManifestKey::session(session)?).ok()??;
    let state = LoopFile::at(state).read().ok()??.state;
    state.is_live().then_some(state.loop_id)
}
