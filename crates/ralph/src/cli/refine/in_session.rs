//! `ralph refine begin` and `ralph refine end`: a round that an agent of the session makes.
//!
//! The session calls the agent. The measuring, and the decision whether another round
//! follows, are done here as for any other round. A session has room for a few rounds only;
//! then no more are opened.

use super::RefinementArg;
use super::run::{self, Subject};
use crate::command::context_dir::{Here, note};
use crate::command::exit::{Exit, bad_state, refused};
use crate::command::screen::{self, visible, visible_lines};
use crate::command::select_loop::{self, FoundLoop};
use crate::refine::artefact::{self, Artefact, ArtefactBefore};
use crate::refine::{asks_again, close_what_was_left, note_client, of_round, of_rounds, record};
use anyhow::{Context, Result};
use ralph_core::modes::refine::prompt::Tracker;
use ralph_core::modes::refine::state::{RefineDocument, Refinement};
use ralph_core::modes::refine::{
    MOST_IN_FOREGROUND, Mode, RefineEvent, RefineOutcome, Status, chart, in_session, say,
};
use ralph_core::state::{EndingKind, LoopState, Mode as LoopMode};
use ralph_core::text::plural::counted;
use ralph_core::views::report::Activity;
use ralph_hooks::cancel;
use ralph_hooks::modes::refine;
use ralph_io::client::{self, given};
use ralph_io::store::lifecycle::{self, ManifestFate};
use ralph_io::store::loop_file::LoopFile;
use ralph_io::store::refine::RefineStore;
use std::path::Path;

/// What is refined.
#[derive(Debug, clap::Args)]
pub(crate) struct Begin {
    #[command(flatten)]
    subject: Subject,
    /// Print where the text of each prompt comes from
    #[arg(long)]
    explain: bool,
}

impl Begin {
    pub(super) fn plan(&self) -> Option<&Path> {
        self.subject.named_plan()
    }
}

/// The open round.
#[derive(Debug, clap::Args)]
pub(crate) struct EndArgs {
    #[command(flatten)]
    which: RefinementArg,
}

pub(super) fn begin(here: &Here, args: &Begin) -> Result<Exit> {
    let place = RefineStore::open(&here.home, &here.root);
    let (name, artefact) = args.subject.find(here, &place, None)?;
    if args.explain {
        super::explain(here);
    }
    let template = of_rounds(&here.root, &artefact)?;
    place.prepare(&here.home)?;
    let document = super::document(&place)?;
    let taken = || super::taken(&document, &name, &artefact);
    let Some(_held) = place.hold(&artefact.mode(), artefact.plan_file())? else {
        return Err(taken());
    };
    none_beside(here, &document, &artefact)?;
    // A round opened in a terminal has no loop; that it is open shows that someone is at work.
    let rivals = document.rivals(&name, &artefact.mode(), artefact.plan_file());
    let is_open = |rival: &&str| {
        let found = document.session(rival).ok().flatten();
        found.and_then(|it| it.round).is_some_and(|open| open.client_session.is_empty())
    };
    if rivals.iter().any(is_open) {
        return Err(taken());
    }
    let new = || {
        let bounds = run::bounds(here).in_foreground();
        Refinement::new(artefact.mode(), artefact.plan_file(), bounds, here.now)
    };
    let known = document.session(&name).map_err(|why| super::with_exit_code(why.into()))?;
    if let Some(known) = &known {
        // The loop's end may have been lost.
        follow(here, &name, known)?;
    }
    if known.is_some_and(|known| known.iterations_completed >= MOST_IN_FOREGROUND) {
        let message = format!(
            "a conversation has room for {MOST_IN_FOREGROUND} rounds, and `{}` has had them; {}",
            visible(&name),
            how_to_go_on(&name)
        );
        return Err(refused(Exit::No, message));
    }
    has_room(here, &artefact)?;
    let stands = super::open(&place, &name, &artefact, None, new).map_err(super::with_exit_code)?;
    run::may_begin(&name, &stands)?;
    let of_loop = enter(here, &name, &stands)?;
    close_what_was_left(&place, &name, &artefact, &stands)?;
    let before = artefact.snapshot()?;
    if let ArtefactBefore::Pieces(pieces) = &before {
        place
            .remember(&name, &serde_json::to_string(pieces).context("could not keep the tasks")?)?;
    }
    let event = RefineEvent::Begun { artefact: &artefact::digest(&before) };
    let (begun, stands) = record(&place, &name, event).map_err(super::with_exit_code)?;
    let RefineOutcome::Begin { iteration, .. } = begun else {
        unreachable!("a round that is begun begins")
    };
    if let (Some(_), Some(conversation)) = (&of_loop, &here.session) {
        note_client(&place, &name, conversation)?;
    }
    artefact.lay_out(&before, iteration)?;
    follow(here, &name, &stands)?;
    let most = stands.settings.max_iterations;
    let prompt = of_round(&template, &name, &artefact, Tracker::how, iteration, most)?;
    let (session, word) = (visible(&name), super::word(&name));
    screen::print(&visible_lines(&format!(
        "Round {iteration} of {most} of `{session}` is open. Call the Agent tool once: subagent_type \
         general-purpose, model opus, run_in_background false, and as its prompt exactly what stands below \
         the line. Then hand its whole answer to `ralph refine end --id {word}` on standard \
         input.\n----\n{prompt}"
    )))
}

pub(super) fn end(here: &Here, args: &EndArgs) -> Result<Exit> {
    let place = RefineStore::open(&here.home, &here.root);
    let (name, stands) =
        super::one(&place, args.which.name.as_deref(), |session| session.round.is_some())?;
    let Some(open) = &stands.round else {
        follow(here, &name, &stands)?;
        let message = format!(
            "no round of `{}` is under way; `ralph refine begin` opens one",
            visible(&name)
        );
        return Err(refused(Exit::No, message));
    };
    let artefact = super::artefact(here, &place, &name, &stands)?;
    let Some(_held) = place.hold(&stands.mode, &stands.plan_file)? else {
        return Err(super::taken(&super::document(&place)?, &name, &artefact));
    };
    if !open.client_session.is_empty() && live(here, &name).is_none() {
        close_what_was_left(&place, &name, &artefact, &stands)?;
        let message = format!(
            "the refinement of this conversation ended while round {} ran, so what it wrote is not part of \
             the plan; `ralph refine loop --id {}` repeats the round",
            open.iteration,
            super::word(&name)
        );
        return Err(refused(Exit::No, message));
    }
    let message = given::stdin()?;
    if let Some(question) = asks_again(&place, &name, &message).map_err(super::with_exit_code)? {
        return screen::print(&visible_lines(&format!(
            "Send this to the same agent with the SendMessage tool, and hand its answer to the same \
             command. If it cannot be asked any more, hand over an empty text: that counts as unknown.\n\
             ----\n{question}"
        )));
    }
    let round = open.iteration;
    let (measured, plan, digest) = match before(&place, &name, &artefact, &stands)? {
        Some(before) => {
            let after = artefact.take(&before, round, |_, _| Ok(true))?;
            (after.measured, after.plan, after.digest)
        }
        // Without the content before the round nothing can be measured, and unknown is not zero.
        None => (None, Default::default(), artefact::digest(&artefact.snapshot()?)),
    };
    let event = RefineEvent::Ended { message: &message, measured, plan, artefact: &digest };
    let (outcome, stands) = record(&place, &name, event).map_err(super::with_exit_code)?;
    let is_full = follow(here, &name, &stands)?;
    show(&name, &stands, &outcome, is_full)
}

fn before(
    place: &RefineStore,
    name: &str,
    artefact: &Artefact,
    stands: &Refinement,
) -> Result<Option<ArtefactBefore>> {
    if let Artefact::Plan(_) = artefact {
        return artefact.found(stands).map_err(bad_state);
    }
    let pieces = place.remembered(name).and_then(|text| serde_json::from_str(&text).ok());
    Ok(pieces.map(ArtefactBefore::Pieces))
}

fn show(
    name: &str,
    stands: &Refinement,
    outcome: &RefineOutcome,
    is_full: Option<String>,
) -> Result<Exit> {
    let round = stands.history.last().map(|entry| say::round(stands, entry));
    let mut lines: Vec<String> = round.into_iter().flatten().collect();
    lines.extend(chart::lines(stands));
    lines.extend(say::ending(stands, outcome));
    const NO_OTHER: &str = "Begin no other round: tell the person how it ended";
    lines.push(match (outcome, is_full) {
        (RefineOutcome::Next { .. }, Some(why)) => format!("{why}. {NO_OTHER}"),
        (RefineOutcome::Next { iteration }, None) => {
            format!("`ralph refine begin --id {}` opens round {iteration}", super::word(name))
        }
        (RefineOutcome::Cap { .. }, _) => {
            format!("{NO_OTHER}; {}", how_to_go_on(name))
        }
        _ => NO_OTHER.to_owned(),
    });
    for line in lines {
        screen::print(&visible(&line))?;
    }
    Ok(Exit::Done)
}

// The loop of a Claude Code session that refines: begun with its first round, ended with its last.
//
// The project's document records what was refined and how far. The loop is what the hooks see: it
// limits the number of agents, keeps the turn going, and is what the user cancels.

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
        word: &super::word(name),
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
                end_loop(here, &file, &EndingKind::MaxIterations, FULL, stands)?;
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
        Mode::Plan => format!(" --plan {}", super::word(artefact.plan_file())),
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
        end_loop(here, &found.file, &kind, &ending(stands), stands)?;
        return Ok(None);
    }
    let open = stands.round.as_ref().map_or(0, |open| open.iteration);
    let done = stands.iterations_completed;
    let Some(state) = refine::note_round(&found.file, done, open)? else { return Ok(None) };
    let is_full = state.refining().is_some_and(in_session::is_full);
    let made = in_session::made(&state).max(done);
    if open == 0 && (is_full || made >= MOST_IN_FOREGROUND) {
        end_loop(here, &found.file, &EndingKind::MaxIterations, FULL, stands)?;
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
        super::word(name)
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

fn end_loop(
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
