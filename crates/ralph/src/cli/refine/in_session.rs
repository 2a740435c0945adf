//! `ralph refine begin` and `ralph refine end`: a round that an agent of the session makes.
//!
//! The session calls the agent. The measuring, and the decision whether another round
//! follows, are done here as for any other round. A session has room for a few rounds only;
//! then no more are opened.

use super::run::{self, Subject};
use super::{RefinementArg, conversation, prompt, session};
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, bad_state, refused};
use crate::command::screen::{self, visible, visible_lines};
use crate::refine::artefact::{self, Artefact, ArtefactBefore};
use crate::refine::{asks_again, close_what_was_left, note_client, of_round, of_rounds, record};
use anyhow::{Context, Result};
use ralph_core::modes::refine::prompt::Tracker;
use ralph_core::modes::refine::state::Refinement;
use ralph_core::modes::refine::{MOST_IN_FOREGROUND, RefineEvent, RefineOutcome, chart, say};
use ralph_io::client::given;
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
    let place = RefineStore::of(&here.home, &here.root);
    let (name, artefact) = args.subject.find(here, &place, None)?;
    if args.explain {
        prompt::explain(here);
    }
    let template = of_rounds(&here.root, &artefact)?;
    place.prepare(&here.home)?;
    let document = session::document(&place)?;
    let taken = || session::taken(&document, &name, &artefact);
    let Some(_held) = place.hold(&artefact.mode(), artefact.plan_file())? else {
        return Err(taken());
    };
    conversation::none_beside(here, &document, &artefact)?;
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
    let known = document.session(&name).map_err(|why| session::told(why.into()))?;
    if let Some(known) = &known {
        // The loop's end may have been lost.
        conversation::follow(here, &name, known)?;
    }
    if known.is_some_and(|known| known.iterations_completed >= MOST_IN_FOREGROUND) {
        let message = format!(
            "a conversation has room for {MOST_IN_FOREGROUND} rounds, and `{}` has had them; {}",
            visible(&name),
            conversation::how_to_go_on(&name)
        );
        return Err(refused(Exit::No, message));
    }
    conversation::has_room(here, &artefact)?;
    let stands = session::open(&place, &name, &artefact, None, new).map_err(session::told)?;
    run::may_begin(&name, &stands)?;
    let of_loop = conversation::enter(here, &name, &stands)?;
    close_what_was_left(&place, &name, &artefact, &stands)?;
    let before = artefact.look()?;
    if let ArtefactBefore::Pieces(pieces) = &before {
        place
            .remember(&name, &serde_json::to_string(pieces).context("could not keep the tasks")?)?;
    }
    let event = RefineEvent::Begun { artefact: &artefact::digest(&before) };
    let (begun, stands) = record(&place, &name, event).map_err(session::told)?;
    let RefineOutcome::Begin { iteration, .. } = begun else {
        unreachable!("a round that is begun begins")
    };
    if let (Some(_), Some(conversation)) = (&of_loop, &here.session) {
        note_client(&place, &name, conversation)?;
    }
    artefact.lay_out(&before, iteration)?;
    conversation::follow(here, &name, &stands)?;
    let most = stands.settings.max_iterations;
    let prompt = of_round(&template, &name, &artefact, Tracker::how, iteration, most)?;
    let (session, word) = (visible(&name), session::word(&name));
    screen::print(&visible_lines(&format!(
        "Round {iteration} of {most} of `{session}` is open. Call the Agent tool once: subagent_type \
         general-purpose, model opus, run_in_background false, and as its prompt exactly what stands below \
         the line. Then hand its whole answer to `ralph refine end --id {word}` on standard \
         input.\n----\n{prompt}"
    )))?;
    Ok(Exit::Done)
}

pub(super) fn end(here: &Here, args: &EndArgs) -> Result<Exit> {
    let place = RefineStore::of(&here.home, &here.root);
    let (name, stands) =
        session::one(&place, args.which.name.as_deref(), |session| session.round.is_some())?;
    let Some(open) = &stands.round else {
        conversation::follow(here, &name, &stands)?;
        let message = format!(
            "no round of `{}` is under way; `ralph refine begin` opens one",
            visible(&name)
        );
        return Err(refused(Exit::No, message));
    };
    let artefact = session::artefact(here, &place, &name, &stands)?;
    let Some(_held) = place.hold(&stands.mode, &stands.plan_file)? else {
        return Err(session::taken(&session::document(&place)?, &name, &artefact));
    };
    if !open.client_session.is_empty() && conversation::live(here, &name).is_none() {
        close_what_was_left(&place, &name, &artefact, &stands)?;
        let message = format!(
            "the refinement of this conversation ended while round {} ran, so what it wrote is not part of \
             the plan; `ralph refine loop --id {}` repeats the round",
            open.iteration,
            session::word(&name)
        );
        return Err(refused(Exit::No, message));
    }
    let message = given::stdin()?;
    if let Some(question) = asks_again(&place, &name, &message).map_err(session::told)? {
        screen::print(&visible_lines(&format!(
            "Send this to the same agent with the SendMessage tool, and hand its answer to the same \
             command. If it cannot be asked any more, hand over an empty text: that counts as unknown.\n\
             ----\n{question}"
        )))?;
        return Ok(Exit::Done);
    }
    let round = open.iteration;
    let (measured, plan, digest) = match before(&place, &name, &artefact, &stands)? {
        Some(before) => {
            let after = artefact.take(&before, round, |_, _| Ok(true))?;
            (after.measured, after.plan, after.digest)
        }
        // Without the content before the round nothing can be measured, and unknown is not zero.
        None => (None, Default::default(), artefact::digest(&artefact.look()?)),
    };
    let event = RefineEvent::Ended { message: &message, measured, plan, artefact: &digest };
    let (outcome, stands) = record(&place, &name, event).map_err(session::told)?;
    let is_full = conversation::follow(here, &name, &stands)?;
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
            format!("`ralph refine begin --id {}` opens round {iteration}", session::word(name))
        }
        (RefineOutcome::Cap { .. }, _) => {
            format!("{NO_OTHER}; {}", conversation::how_to_go_on(name))
        }
        _ => NO_OTHER.to_owned(),
    });
    for line in lines {
        screen::print(&visible(&line))?;
    }
    Ok(Exit::Done)
}
