//! `ralph refine begin` and `ralph refine end`: a round that an agent of the session makes.
//!
//! The session calls the agent. The measuring, and the decision whether another round follows, are
//! those of any other round. A session has room for a few rounds only; then no more are opened.

use super::run::{self, Subject};
use crate::command::context_dir::{Here, note};
use crate::command::exit::Exit;
use crate::command::screen::{self, visible, visible_lines};
use crate::command::select_loop::{self, FoundLoop};
use crate::refine::{Refining, Template};
use anyhow::{Result, bail};
use ralph_core::modes::refine::prompt::Tracker;
use ralph_core::modes::refine::state::Refinement;
use ralph_core::modes::refine::{MOST_IN_FOREGROUND, Status, chart, in_session, say};
use ralph_core::state::LoopState;
use ralph_core::text::plural::counted;
use ralph_core::views::report::Activity;
use ralph_hooks::cancel;
use ralph_hooks::modes::refine::{self, RefineRequest};
use ralph_io::client::{self, given};

/// What is refined.
#[derive(Debug, clap::Args)]
pub(crate) struct Begin {
    #[command(flatten)]
    pub(super) subject: Subject,
    /// Print where the text of each prompt comes from
    #[arg(long)]
    explain: bool,
}

pub(super) fn begin(here: &Here, args: &Begin) -> Result<Exit> {
    let work = args.subject.find(here, None)?;
    let name = work.name.as_str();
    if args.explain {
        super::explain(here);
    }
    let template = Template::load(&here.root, work.artefact.prompt())?;
    work.place.prepare(&here.home)?;
    let _held = super::claim(here, &work)?;
    let document = super::document(&work.place)?;
    // A round opened in a terminal has no loop; that it is open shows that someone is at work.
    let is_at_work = |(_, rival): &(&str, Refinement)| {
        rival.round.as_ref().is_some_and(|open| open.client_session.is_empty())
    };
    if document.rivals(name, work.artefact.plan_file()).iter().any(is_at_work) {
        return Err(super::taken(&work));
    }
    let known = document.session(name)?;
    if let Some(known) = &known {
        // The loop's end may have been lost.
        follow(here, name, known)?;
    }
    has_room(here, &work, known.as_ref())?;
    let new = || {
        let bounds = run::bounds(here).in_foreground();
        Refinement::new(work.artefact.plan_file(), bounds, here.now)
    };
    let stands = work.open(None, new)?;
    enter(here, name, &stands)?;
    let (_, stands) = work.begin(here.session.as_deref().unwrap_or_default())?;
    follow(here, name, &stands)?;
    let (round, most) = (stands.iterations_completed + 1, stands.settings.max_iterations);
    let prompt = work.prompt(&template, &stands, round, Tracker::how)?;
    screen::print(&visible_lines(&format!(
        "Round {round} of {most} of `{}` is open. Call the Agent tool once: subagent_type \
         general-purpose, model opus, run_in_background false, and as its prompt exactly what stands below \
         the line. Then hand its whole answer to `ralph refine end --id {}` on standard \
         input.\n----\n{prompt}",
        visible(name),
        super::word(name)
    )))
}

pub(super) fn end(here: &Here, name: Option<&str>) -> Result<Exit> {
    let place = super::store(here);
    let (name, stands) = super::one(&place, name, |session| session.round.is_some())?;
    let Some(open) = &stands.round else {
        follow(here, &name, &stands)?;
        bail!("no round of `{}` is under way; `ralph refine begin` opens one", visible(&name));
    };
    let work = Refining::of(here, place, &name, &stands)?;
    let Some(_held) = work.hold()? else { return Err(super::taken(&work)) };
    if !open.client_session.is_empty() && live(here, &name).is_none() {
        work.cut_what_was_left()?;
        bail!(
            "the refinement of this conversation ended while round {} ran, so what it wrote is not part of \
             the plan; `ralph refine loop --id {}` repeats the round",
            open.iteration,
            super::word(&name)
        );
    }
    let message = given::stdin()?;
    if let Some(question) = work.ask_again(&message)? {
        return screen::print(&visible_lines(&format!(
            "Send this to the same agent with the SendMessage tool, and hand its answer to the same \
             command. If it cannot be asked any more, hand over an empty text: that counts as unknown.\n\
             ----\n{question}"
        )));
    }
    let after = work.take(|_, _| Ok(true))?;
    let stands = work.end(&message, after)?;
    let is_full = follow(here, &name, &stands)?;
    show(&name, &stands, is_full)
}

fn show(name: &str, stands: &Refinement, is_full: bool) -> Result<Exit> {
    let round = stands.history.last().map(|entry| say::round(stands, entry));
    let mut lines: Vec<String> = round.into_iter().flatten().collect();
    lines.extend(chart::lines(stands));
    lines.extend(say::ending(stands));
    if is_full {
        lines.push(in_session::FULL.to_owned());
    }
    let word = super::word(name);
    let next = "Begin no other round: tell the person how it ended";
    lines.push(match stands.status {
        Status::Running if !is_full => {
            let round = stands.iterations_completed + 1;
            format!("`ralph refine begin --id {word}` opens round {round}")
        }
        Status::Running | Status::MaxIterations => format!(
            "{next}; the user can go on in a terminal: `ralph refine loop --id {word} --max-iterations 10`"
        ),
        _ => next.to_owned(),
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
fn live(here: &Here, name: &str) -> Option<FoundLoop> {
    all(here).into_iter().find(|found| name_of(&found.state) == Some(name))
}

fn all(here: &Here) -> Vec<FoundLoop> {
    select_loop::of_project(here, |state| state.refining().is_some() && state.is_live())
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
pub(super) fn none_beside(here: &Here, work: &Refining) -> Result<()> {
    let (document, plan_file) = (super::document(&work.place)?, work.artefact.plan_file());
    let shares = |state: &LoopState| {
        let session = name_of(state).and_then(|name| document.session(name).ok().flatten());
        session.is_some_and(|session| session.refines(plan_file))
    };
    for FoundLoop { state, .. } in all(here) {
        let is_own = here.session.as_ref() == Some(&state.session_id);
        // A client that is gone refines nothing.
        if !is_own && state.client.as_ref().is_none_or(client::is_alive) && shares(&state) {
            bail!(
                "the refinement `{}` is at work on {} in a conversation ({}); nothing was changed: wait for \
                 it, or end it with /ralph-cancel there or `ralph cancel --loop {}`",
                visible(name_of(&state).unwrap_or_default()),
                super::on(plan_file),
                state.session_id,
                state.loop_id
            );
        }
    }
    Ok(())
}

/// Makes sure that this session has its loop, and that the loop has room for a round. In a terminal
/// there is none, since no hook watches it.
fn enter(here: &Here, name: &str, stands: &Refinement) -> Result<()> {
    let Some(session_id) = &here.session else { return Ok(()) };
    let begun = refine::begin(&RefineRequest {
        home: &here.home,
        root: &here.root,
        session_id,
        name,
        word: &super::word(name),
        session: stands,
    })?;
    let state = &begun.state;
    if begun.is_new {
        note(here, &begun.file, state, "refine begin", "started", "a conversation refines");
        let left = MOST_IN_FOREGROUND.saturating_sub(in_session::made(state)) as usize;
        screen::tell(&visible(&format!(
            "loop {} refines {} in this conversation: at most {}; Esc pauses it, /ralph-cancel ends it",
            state.loop_id,
            stands.subject(),
            counted(left, "agent", "agents")
        )));
    }
    match state.refining() {
        Some(refining) if in_session::is_full(refining) => bail!(in_session::full(refining)),
        _ => Ok(()),
    }
}

/// Refuses if the rounds that a session has room for are made: by this session, under any names, or of
/// this refinement.
fn has_room(here: &Here, work: &Refining, known: Option<&Refinement>) -> Result<()> {
    let is_used_up = known.is_some_and(|known| known.iterations_completed >= MOST_IN_FOREGROUND);
    let has_made_all = |session_id: &String| {
        let is_live = all(here).iter().any(|found| found.state.session_id == *session_id);
        !is_live && refine::made_before(&here.home, session_id) >= MOST_IN_FOREGROUND
    };
    if !is_used_up && !here.session.as_ref().is_some_and(has_made_all) {
        return Ok(());
    }
    let what = match (known, work.artefact.plan_file()) {
        (Some(_), _) => format!(" --id {}", super::word(&work.name)),
        (None, "") => String::new(),
        (None, plan) => format!(" --plan {}", super::word(plan)),
    };
    bail!(
        "a conversation has room for {MOST_IN_FOREGROUND} rounds, and they are made; to continue in a \
         terminal, type `ralph refine loop{what} --max-iterations 10`"
    )
}

/// Brings the loop in line with the refinement. Returns true if it ended only because this session can
/// make no more rounds.
fn follow(here: &Here, name: &str, stands: &Refinement) -> Result<bool> {
    let mut is_full = false;
    for found in select_loop::of_project(here, |state| name_of(state) == Some(name)) {
        let followed = refine::follow(&here.home, &found.file, stands)?;
        let Some((state, file)) = followed.filter(|_| found.state.is_live()) else { continue };
        if let Some(ending) = &state.ending {
            let why = format!("{}: {}", ending.kind, ending.detail);
            note(here, &file, &state, "refine", "ended", &why);
            is_full |= !stands.status.is_over();
        }
    }
    Ok(is_full)
}

/// Ends the loop as `ralph cancel` does, so that its session learns of it.
pub(super) fn cancel(here: &Here, name: &str) -> Result<()> {
    let Some(found) = live(here, name) else { return Ok(()) };
    let ended = cancel::end_loop(&here.home, &found.file, "by `ralph refine kill`", false)?;
    if let Some((state, away)) = ended {
        note(here, &away, &state, "refine kill", "ended", "the user ended the refinement");
    }
    Ok(())
}
