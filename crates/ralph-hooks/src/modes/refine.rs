//! The loop of a refinement in a conversation: begun with the first round, and brought in line with the
//! project's document after each step of a round, since only the document knows the measurements.

use crate::begin::{facts, foreign_agent, own, run, unusable};
use anyhow::{Result, bail};
use ralph_core::modes::arguments::Options;
use ralph_core::modes::refine::state::Refinement;
use ralph_core::modes::refine::{MOST_IN_FOREGROUND, in_session};
use ralph_core::state::{EndingKind, LoopState, Mode, RefineState, StartedBy};
use ralph_core::{modes::start, views::messages};
use ralph_io::store::home::Home;
use ralph_io::store::lifecycle::{self, ManifestFate};
use ralph_io::store::loop_file::LoopFile;
use ralph_io::{process::clock, project::settings};
use std::path::Path;

/// A refinement for a conversation to carry out.
#[derive(Debug, Clone, Copy)]
pub struct RefineRequest<'a> {
    pub home: &'a Home,
    pub root: &'a Path,
    /// The conversation's session.
    pub session_id: &'a str,
    /// The refinement's name in the project's document.
    pub name: &'a str,
    /// The name as a shell word.
    pub word: &'a str,
    pub session: &'a Refinement,
}

/// The conversation's loop.
#[derive(Debug)]
pub struct RefineLoop {
    pub file: LoopFile,
    pub state: LoopState,
    /// False if it existed before.
    pub is_new: bool,
}

/// Finds or creates the loop of this conversation.
///
/// # Errors
/// Why no loop is possible; no loop was created then.
pub fn begin(asked: &RefineRequest<'_>) -> Result<RefineLoop> {
    lifecycle::check_session_id(asked.session_id)?;
    let unusable = unusable(asked.home, asked.session_id);
    if let Some(why) = unusable.or_else(|| foreign_agent(asked.root)) {
        bail!(why);
    }
    // The lock allows one start at a time, since a session has one live mode.
    let _starting = lifecycle::lock_starts(asked.home)?;
    match own(asked.home, asked.session_id)? {
        Some((file, state)) => match not_its(&state, asked.name) {
            None => Ok(RefineLoop { file, state, is_new: false }),
            Some(why) => bail!(why),
        },
        None => create(asked),
    }
}

/// Why the session's live loop is not the one of this refinement, or cannot run a round now.
fn not_its(state: &LoopState, name: &str) -> Option<String> {
    const BACKGROUND: &str = "`ralph refine loop` in another terminal refines in parallel";
    match state.refining() {
        Some(refining) if refining.name == name => {
            (!state.is_running()).then(|| messages::paused(state))
        }
        Some(refining) => Some(format!(
            "the refinement `{}` is live in this session: it comes first, or the user ends it with /ralph-cancel",
            refining.name
        )),
        None => Some(format!(
            "a loop is live in this session at {}: the user ends it with /ralph-cancel first; {BACKGROUND}",
            state.position()
        )),
    }
}

/// How many rounds this conversation has made in loops that are over.
pub fn made_before(home: &Home, session_id: &str) -> u32 {
    let states = lifecycle::ended(home).into_iter().filter_map(|(_, state)| state.ok());
    let own = states.filter(|state| state.mode == Mode::Refine && state.session_id == session_id);
    // Each loop's count includes the loops before it.
    own.map(|state| in_session::made(&state)).max().unwrap_or_default()
}

fn create(asked: &RefineRequest<'_>) -> Result<RefineLoop> {
    let (settings, _) = settings::read(asked.home, asked.root);
    let facts = facts(asked.root, Vec::new(), StartedBy::Model, clock::now())?;
    let (now, session) = (facts.now, asked.session);
    let goal = format!("refine {} until it no longer changes", session.subject());
    let mut state =
        start::new_loop(&goal, &Options::default(), |state| settings.apply(state), facts);
    state.iteration = session.iterations_completed;
    state.max_iterations = session.settings.max_iterations.min(MOST_IN_FOREGROUND);
    state.mode = RefineState {
        name: asked.name.to_owned(),
        word: asked.word.to_owned(),
        from: session.iterations_completed,
        earlier: made_before(asked.home, asked.session_id),
        ..RefineState::default()
    }
    .into();
    // The turn is not known yet; the first agent's call sets it.
    run(&mut state, asked.session_id, "", None, now);
    let file = lifecycle::create(asked.home, &mut state)?;
    Ok(RefineLoop { file, state, is_new: true })
}

/// Brings the loop in line with its refinement, and archives it if it has ended, also if the process
/// that ended it was killed before it could. Returns the state and its file; `None` if the loop is gone.
///
/// # Errors
/// When the state cannot be read or written.
pub fn follow(
    home: &Home,
    file: &LoopFile,
    session: &Refinement,
) -> Result<Option<(LoopState, LoopFile)>> {
    let followed = file.update(|state| {
        in_session::follow(state, session, clock::now());
        state.clone()
    })?;
    let Some(state) = followed else { return Ok(None) };
    let entry = match &state.ending {
        None => return Ok(Some((state, file.clone()))),
        // The session has yet to learn of a cancel.
        Some(ending) if ending.kind == EndingKind::Cancelled => ManifestFate::KeepAsTombstone,
        Some(_) => ManifestFate::Remove,
    };
    let away = lifecycle::put_away(home, file, &state, entry)?;
    Ok(Some((state, away.file)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::modes::refine::{RefineSettings, Status};
    use ralph_core::state::PauseCause;

    fn session(done: u32) -> Refinement {
        let new = Refinement::new("p.md", RefineSettings::default(), clock::now());
        Refinement { iterations_completed: done, ..new }
    }

    fn refining(folder: &Path, session_id: &str, name: &str) -> Result<RefineLoop> {
        let home = Home::at(folder.join("home"));
        begin(&RefineRequest {
            home: &home,
            root: folder,
            session_id,
            name,
            word: "'a'",
            session: &session(2),
        })
    }

    #[test]
    fn a_conversation_has_one_refinement_which_a_round_continues_while_it_runs() {
        let folder = tempfile::tempdir().unwrap();
        let made = refining(folder.path(), "s", "a").unwrap();
        let state = &made.state;
        assert_eq!((state.iteration, state.max_iterations, state.is_running()), (2, 5, true));
        assert!(made.is_new);
        assert_eq!(state.prompt, "refine p.md until it no longer changes");
        let kept = RefineState {
            name: "a".to_owned(),
            word: "'a'".to_owned(),
            from: 2,
            ..RefineState::default()
        };
        assert_eq!(state.refining(), Some(&kept));
        let own = refining(folder.path(), "s", "a").unwrap();
        assert_eq!((&own.file, &own.state.loop_id), (&made.file, &state.loop_id));
        assert!(!own.is_new);
        let refused = |name: &str| refining(folder.path(), "s", name).unwrap_err().to_string();
        let another = "the refinement `a` is live in this session: it comes first, or the user ends it \
                       with /ralph-cancel";
        assert_eq!(refused("b"), another);
        made.file.update(|state| state.pause(PauseCause::Person, "", clock::now())).unwrap();
        assert_eq!(refused("b"), another, "a paused one comes first, too");
        assert_eq!(refused("a"), messages::paused(&made.file.read().unwrap().unwrap().state));
        assert_eq!(
            not_its(&LoopState::default(), "a").unwrap(),
            "a loop is live in this session at 0/25: the user ends it with /ralph-cancel first; \
             `ralph refine loop` in another terminal refines in parallel"
        );
        assert!(refining(folder.path(), "t", "a").unwrap().is_new);
    }

    #[test]
    fn rounds_are_counted_while_the_loop_is_live_and_remembered_when_it_is_over() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("home"));
        let file = refining(folder.path(), "s", "a").unwrap().file;
        let mut session = session(3);
        session.begin("x", "s", clock::now()).unwrap();
        let (state, same) = follow(&home, &file, &session).unwrap().unwrap();
        assert_eq!((state.iteration, state.refining().unwrap().open), (3, 4));
        assert_eq!((same, made_before(&home, "s")), (file.clone(), 0));
        let over = Refinement { status: Status::Plateau, iterations_completed: 5, ..session };
        let (state, archived) = follow(&home, &file, &over).unwrap().unwrap();
        let ending = state.ending.unwrap();
        assert_eq!(
            (ending.kind, ending.detail.as_str()),
            (EndingKind::Plateau, "plateau at round 5: the plan no longer changes")
        );
        assert_eq!(state.iteration, 5);
        assert_eq!((made_before(&home, "s"), made_before(&home, "t")), (3, 0));
        assert!(archived.read().unwrap().is_some());
        assert!(follow(&home, &file, &over).unwrap().is_none(), "nothing is left in its place");
        let next = refining(folder.path(), "s", "a").unwrap().state;
        let refining = next.refining().unwrap();
        assert_eq!((refining.from, refining.earlier), (2, 3));
    }
}
