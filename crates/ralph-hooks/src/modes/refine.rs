//! The loop of a refinement in a conversation: `ralph refine begin` creates it and `ralph refine end`
//! ends it, since only they know the measurements.

use crate::begin::{facts, foreign_agent, own, run, unusable};
use anyhow::Result;
use ralph_core::modes::arguments::Options;
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
    /// What is refined, as text for the user.
    pub what: &'a str,
    /// How many rounds are done.
    pub done: u32,
    /// The highest number of rounds.
    pub most: u32,
}

/// The conversation's loop.
#[derive(Debug)]
pub enum RefineStart {
    /// A new loop.
    Made(LoopFile, Box<LoopState>),
    /// The loop that existed before.
    Own(LoopFile, Box<LoopState>),
    /// No loop is possible, for this reason.
    Refused(String),
}

/// Finds or creates the loop of this conversation.
///
/// # Errors
/// When the state cannot be read or written. No loop was created then.
pub fn begin(asked: &RefineRequest<'_>) -> Result<RefineStart> {
    lifecycle::check_session_id(asked.session_id)?;
    let unusable = unusable(asked.home, asked.session_id);
    if let Some(why) = unusable.or_else(|| foreign_agent(asked.root)) {
        return Ok(RefineStart::Refused(why));
    }
    // The lock allows one start at a time, since a session has one live mode.
    let _starting = lifecycle::lock_starts(asked.home)?;
    match own(asked.home, asked.session_id)? {
        Some((file, state)) => Ok(match not_its(&state, asked.name) {
            None => RefineStart::Own(file, Box::new(state)),
            Some(why) => RefineStart::Refused(why),
        }),
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
            "the refinement `{}` is live in this session: it comes first, or a person ends it with /ralph-cancel",
            refining.name
        )),
        None => Some(format!(
            "a loop is live in this session at {}: a person ends it with /ralph-cancel first; {BACKGROUND}",
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

fn create(asked: &RefineRequest<'_>) -> Result<RefineStart> {
    let (settings, _) = settings::read(asked.home, asked.root);
    let facts = facts(asked.root, Vec::new(), StartedBy::Model, clock::now())?;
    let now = facts.now;
    let goal = format!("refine {} until it no longer changes", asked.what);
    let mut state =
        start::new_loop(&goal, &Options::default(), |state| settings.apply(state), facts);
    state.iteration = asked.done;
    state.max_iterations = asked.most.min(MOST_IN_FOREGROUND);
    state.mode = RefineState {
        name: asked.name.to_owned(),
        word: asked.word.to_owned(),
        from: asked.done,
        earlier: made_before(asked.home, asked.session_id),
        ..RefineState::default()
    }
    .into();
    // The turn is not known yet; the first agent's call sets it.
    run(&mut state, asked.session_id, "", None, now);
    let file = lifecycle::create(asked.home, &mut state)?;
    Ok(RefineStart::Made(file, Box::new(state)))
}

/// Updates the loop's count of done and open rounds. Returns `None` if the loop is no longer live.
///
/// # Errors
/// When the state cannot be read or written.
pub fn note_round(file: &LoopFile, done: u32, open: u32) -> Result<Option<LoopState>> {
    let noted = file.update(|state| {
        if !state.is_live() {
            return None;
        }
        state.refining_mut()?.open = open;
        state.iteration = done;
        Some(state.clone())
    })?;
    Ok(noted.flatten())
}

/// Ends the loop with its refinement and archives it. Returns the state and its new file, or `None`
/// if the loop had ended before.
///
/// # Errors
/// When the state cannot be written.
pub fn end(
    home: &Home,
    file: &LoopFile,
    kind: &EndingKind,
    detail: &str,
    done: u32,
) -> Result<Option<(LoopState, LoopFile)>> {
    let now = clock::now();
    let ended = file.update(|state| {
        if !state.is_live() {
            return None;
        }
        state.iteration = done;
        state.end(kind.clone(), detail, now);
        Some(state.clone())
    })?;
    let Some(state) = ended.flatten() else { return Ok(None) };
    let away = lifecycle::put_away(home, file, &state, ManifestFate::Remove)?;
    Ok(Some((state, away.file)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::state::PauseCause;

    fn refining(folder: &Path, session_id: &str, name: &str) -> RefineStart {
        let home = Home::at(folder.join("home"));
        let asked = RefineRequest {
            home: &home,
            root: folder,
            session_id,
            name,
            word: "'a'",
            what: "the plan",
            done: 2,
            most: 5,
        };
        begin(&asked).unwrap()
    }

    #[test]
    fn a_conversation_has_one_refinement_which_a_round_continues_while_it_runs() {
        let folder = tempfile::tempdir().unwrap();
        let RefineStart::Made(file, made) = refining(folder.path(), "s", "a") else { panic!() };
        assert_eq!((made.iteration, made.max_iterations, made.is_running()), (2, 5, true));
        assert_eq!(made.prompt, "refine the plan until it no longer changes");
        let kept = RefineState {
            name: "a".to_owned(),
            word: "'a'".to_owned(),
            from: 2,
            ..RefineState::default()
        };
        assert_eq!(made.refining(), Some(&kept));
        let RefineStart::Own(found, own) = refining(folder.path(), "s", "a") else { panic!() };
        assert_eq!((found, own.loop_id), (file.clone(), made.loop_id));
        let refused = |name: &str| match refining(folder.path(), "s", name) {
            RefineStart::Refused(why) => why,
            other => panic!("{other:?}"),
        };
        let another = "the refinement `a` is live in this session: it comes first, or a person ends it \
                       with /ralph-cancel";
        assert_eq!(refused("b"), another);
        file.update(|state| state.pause(PauseCause::Person, "", clock::now())).unwrap();
        assert_eq!(refused("b"), another, "a paused one comes first, too");
        assert_eq!(refused("a"), messages::paused(&file.read().unwrap().unwrap().state));
        assert_eq!(
            not_its(&LoopState::default(), "a").unwrap(),
            "a loop is live in this session at 0/25: a person ends it with /ralph-cancel first; \
             `ralph refine loop` in another terminal refines in parallel"
        );
        assert!(matches!(refining(folder.path(), "t", "a"), RefineStart::Made(..)));
    }

    #[test]
    fn rounds_are_counted_while_the_loop_is_live_and_remembered_when_it_is_over() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("home"));
        let RefineStart::Made(file, _) = refining(folder.path(), "s", "a") else { panic!() };
        let noted = note_round(&file, 4, 1).unwrap().unwrap();
        assert_eq!((noted.iteration, noted.refining().unwrap().open), (4, 1));
        assert_eq!(made_before(&home, "s"), 0);
        let (state, archived) =
            end(&home, &file, &EndingKind::Complete, "it no longer changes", 5).unwrap().unwrap();
        let ending = state.ending.unwrap();
        assert_eq!(
            (ending.kind, ending.detail.as_str()),
            (EndingKind::Complete, "it no longer changes")
        );
        assert_eq!(state.iteration, 5);
        assert_eq!((made_before(&home, "s"), made_before(&home, "t")), (3, 0));
        assert_eq!(end(&home, &archived, &EndingKind::Cancelled, "", 9).unwrap(), None);
        assert_eq!(note_round(&archived, 9, 9).unwrap(), None);
        let RefineStart::Made(_, next) = refining(folder.path(), "s", "a") else { panic!() };
        let refining = next.refining().unwrap();
        assert_eq!((refining.from, refining.earlier), (2, 3));
    }
}
