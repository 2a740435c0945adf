//! The loop of a Claude Code session that refines: begun with its first round, ended with its last.
//!
//! The project's document records what was refined and how far. The loop is what the hooks see: it
//! limits the number of agents, keeps the turn going, and is what the user cancels.

use super::session;
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, refused};
use crate::command::journal::note;
use crate::command::screen::{self, visible};
use crate::command::select_loop::{self, FoundLoop};
use crate::refine::artefact::Artefact;
use anyhow::Result;
use ralph_core::modes::refine::state::{RefineDocument, Refinement};
use ralph_core::modes::refine::{MOST_IN_FOREGROUND, Mode, Status, in_session, say};
use ralph_core::state::{EndingKind, LoopState, Mode as LoopMode};
use ralph_core::text::plural::counted;
use ralph_core::views::report::Activity;
use ralph_hooks::cancel;
use ralph_hooks::modes::refine;
use ralph_io::client;
use ralph_io::store::lifecycle::{self, ManifestFate};
use ralph_io::store::loop_file::LoopFile;

/// The live loop that works on this refinement.
pub(super) fn live(here: &Here, name: &str) -> Option<FoundLoop> {
    all(here).into_iter().find(|found| name_of(&found.state) == Some(name))
}

fn all(here: &Here) -> Vec<FoundLoop> {
    select_loop::of_project(here, |state| state.mode == LoopMode::Refine && state.is_live())
}

fn name_of(state: &LoopState) -> Option<&str> {
    state.refining().map(|refining| refining.name.as_str())
}

/// Whether a session works on this refinement.
pub(super) fn activity(here: &Here, name: &str) -> Activity {
    match live(here, name).map(|found| found.state.is_running()) {
        Some(true) => Activity::Runs("running in a conversation".to_owned()),
        Some(false) => Activity::Pauses,
        None => Activity::Nobody,
    }
}

/// Refuses if another session refines the same plan or tasks, under any name.
pub(super) fn none_beside(
    here: &Here,
    document: &RefineDocument,
    artefact: &Artefact,
) -> Result<()> {
    let (mode, plan_file) = (artefact.mode(), artefact.plan_file());
    let shares = |found: &FoundLoop| {
        let session = name_of(&found.state).and_then(|name| document.session(name).ok().flatten());
        session.is_some_and(|session| session.shares_artefact(&mode, plan_file))
    };
    let is_other = |found: &FoundLoop| {
        let is_own = here.session.as_ref() == Some(&found.state.session_id);
        // A client that is gone refines nothing.
        !is_own && found.state.client.as_ref().is_none_or(client::is_alive)
    };
    let Some(found) = all(here).into_iter().find(|found| is_other(found) && shares(found)) else {
        return Ok(());
    };
    let what = if mode == Mode::Plan { format!("`{plan_file}`") } else { "the tasks".to_owned() };
    Err(refused(
        Exit::No,
        visible(&format!(
            "the refinement `{}` is at work on {what} in a conversation ({}); nothing was changed: wait for it, or \
             end it with /ralph-cancel there or `ralph cancel --loop {}`",
            name_of(&found.state).unwrap_or_default(),
            found.state.session_id,
            found.state.loop_id
        )),
    ))
}

/// The session's loop for a round of this refinement; none in a terminal, which no hook watches.
pub(super) fn enter(here: &Here, name: &str, stands: &Refinement) -> Result<Option<LoopFile>> {
    let Some(session_id) = &here.session else { return Ok(None) };
    let what = match stands.mode {
        Mode::Plan => stands.plan_file.as_str(),
        _ => "the tasks",
    };
    let begun = refine::begin(&refine::RefineRequest {
        home: &here.home,
        root: &here.root,
        session_id,
        name,
        word: &session::word(name),
        what,
        done: stands.iterations_completed,
        most: stands.settings.max_iterations,
    })?;
    let (file, state) = match begun {
        refine::RefineStart::Refused(why) => return Err(refused(Exit::No, visible(&why))),
        refine::RefineStart::Own(file, state) => (file, state),
        refine::RefineStart::Made(file, state) => {
            note(here, &file, &state, "refine begin", "started", "a conversation refines");
            let left = MOST_IN_FOREGROUND.saturating_sub(in_session::made(&state));
            screen::tell(&visible(&format!(
                "loop {} refines {what} in this conversation: at most {}; Esc pauses it, /ralph-cancel ends it",
                state.loop_id,
                counted(left as usize, "agent", "agents")
            )));
            (file, state)
        }
    };
    match state.refining() {
        Some(refining) if in_session::is_full(refining) => {
            let why = in_session::full(refining);
            if refining.open == 0 {
                end(here, &file, &EndingKind::MaxIterations, FULL, stands)?;
            }
            Err(refused(Exit::No, visible(&why)))
        }
        _ => Ok(Some(file)),
    }
}

/// Refuses if this session has made all of its rounds, under any names.
pub(super) fn has_room(here: &Here, artefact: &Artefact) -> Result<()> {
    let Some(session_id) = &here.session else { return Ok(()) };
    let is_live = all(here).iter().any(|found| found.state.session_id == *session_id);
    if is_live || refine::made_before(&here.home, session_id) < MOST_IN_FOREGROUND {
        return Ok(());
    }
    let what = match artefact.mode() {
        Mode::Plan => format!(" --plan {}", session::word(artefact.plan_file())),
        _ => String::new(),
    };
    Err(refused(
        Exit::No,
        format!(
            "this conversation has room for {MOST_IN_FOREGROUND} rounds and has made them; to continue in a \
             terminal, type `ralph refine loop{what} --max-iterations 10`"
        ),
    ))
}

const FULL: &str = "a conversation has room for no more agents";

/// Brings the loop in line with the refinement. Returns the reason if only this session can
/// make no more rounds.
pub(super) fn follow(here: &Here, name: &str, stands: &Refinement) -> Result<Option<String>> {
    put_away(here, name)?;
    let Some(found) = live(here, name) else { return Ok(None) };
    if let Some(kind) = kind(&stands.status) {
        end(here, &found.file, &kind, &ending(stands), stands)?;
        return Ok(None);
    }
    let open = stands.round.as_ref().map_or(0, |open| open.iteration);
    let done = stands.iterations_completed;
    let Some(state) = refine::note_round(&found.file, done, open)? else { return Ok(None) };
    let is_full = state.refining().is_some_and(in_session::is_full);
    let made = in_session::made(&state).max(done);
    if open == 0 && (is_full || made >= MOST_IN_FOREGROUND) {
        end(here, &found.file, &EndingKind::MaxIterations, FULL, stands)?;
        return Ok(Some(format!("{FULL}: {}", how_to_go_on(name))));
    }
    Ok(None)
}

/// Archives loops that have ended but whose process died before it could archive them.
fn put_away(here: &Here, name: &str) -> Result<()> {
    let has_ended = |state: &LoopState| {
        state.mode == LoopMode::Refine && state.ending.is_some() && name_of(state) == Some(name)
    };
    for found in select_loop::of_project(here, has_ended) {
        // The session has yet to learn of a cancel.
        let is_cancelled =
            found.state.ending.as_ref().is_some_and(|it| it.kind == EndingKind::Cancelled);
        let entry = if is_cancelled { ManifestFate::KeepAsTombstone } else { ManifestFate::Remove };
        lifecycle::put_away(&here.home, &found.file, &found.state, entry)?;
    }
    Ok(())
}

/// How a person continues where a session cannot.
pub(super) fn how_to_go_on(name: &str) -> String {
    format!(
        "a person can go on in a terminal: `ralph refine loop --id {} --max-iterations 10`",
        session::word(name)
    )
}

fn kind(status: &Status) -> Option<EndingKind> {
    match status {
        Status::Plateau => Some(EndingKind::Plateau),
        Status::MaxIterations => Some(EndingKind::MaxIterations),
        Status::Cancelled => Some(EndingKind::Cancelled),
        Status::Running | Status::Interrupted | Status::Other(_) => None,
    }
}

fn ending(stands: &Refinement) -> String {
    let said = say::of_status(stands);
    said.first().cloned().unwrap_or_default()
}

fn end(
    here: &Here,
    file: &LoopFile,
    kind: &EndingKind,
    detail: &str,
    stands: &Refinement,
) -> Result<()> {
    let ended = refine::end(&here.home, file, kind, detail, stands.iterations_completed)?;
    if let Some((state, away)) = ended {
        note(here, &away, &state, "refine", "ended", &format!("{kind}: {detail}"));
    }
    Ok(())
}

/// Ends the loop as `ralph cancel` does, so that its session learns of it.
pub(super) fn cancel(here: &Here, name: &str) -> Result<()> {
    let Some(found) = live(here, name) else { return Ok(()) };
    let ended = cancel::end_loop(&here.home, &found.file, "by `ralph refine kill`", false)?;
    if let Some((state, away)) = ended {
        note(here, &away, &state, "refine kill", "ended", "a person ended the refinement");
    }
    Ok(())
}
